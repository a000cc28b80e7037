import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Every browser that can run the page reads WOFF2; the older forms of each font would only lie about. */
const newestFontsOnly: Plugin = {
  name: "newest-fonts-only",
  enforce: "pre",
  transform: {
    filter: { id: /katex.*\.css$/ },
    handler: (css) => css.replaceAll(/,\s*url\([^)]+\)\s*format\("(?:woff|truetype)"\)/g, ""),
  },
};

/** The largest of Mermaid's layouts, larger than all else together. The frame lets no diagram ask for it. */
const withoutElk: Plugin = {
  name: "without-elk",
  enforce: "pre",
  resolveId: {
    filter: { id: /^\.\/elk-\w+\.mjs$/ },
    handler: () => "\0elk",
  },
  load: {
    filter: { id: /^\0elk$/ },
    handler: () => "export {};",
  },
};

export default defineConfig({
  // Relative links: one build serves under any base path.
  base: "./",
  plugins: [react(), newestFontsOnly, withoutElk],
  // Mermaid brings an older one along.
  resolve: { dedupe: ["katex"] },
  build: {
    target: "es2024",
    // Inlined files would need a looser content security policy than the host's.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
    // The frame that draws formulas and diagrams is a document of its own, with a policy of its own.
    rolldownOptions: { input: { index: here("index.html"), frame: here("frame.html") } },
  },
});
