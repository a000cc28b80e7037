import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  // Relative links: one build serves under any base path.
  base: "./",
  plugins: [react()],
  build: {
    target: "es2024",
    // Inlined files would need a looser content security policy than the host's.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
  },
});
