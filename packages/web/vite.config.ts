import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

const resolvePath = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Drops WOFF and TrueType: every browser that can run the page reads WOFF2. */
const woff2Only: Plugin = {
  name: "woff2-only",
  enforce: "pre",
  transform: {
    filter: { id: /katex.*\.css$/ },
    handler: (css) => css.replaceAll(/,\s*url\([^)]+\)\s*format\("(?:woff|truetype)"\)/g, ""),
  },
};

/** Drops Mermaid's ELK layout, which is larger than everything else together. The frame forbids diagrams to choose it. */
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
  // Relative, so that one build works under any base path.
  base: "./",
  plugins: [react(), woff2Only, withoutElk],
  // Mermaid depends on an older version.
  resolve: { dedupe: ["katex"] },
  build: {
    target: "es2024",
    // The host's content security policy allows no inlined files.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // The built page contains third-party code, whose licences must be distributed with it.
    license: { fileName: "licenses.md" },
    reportCompressedSize: true,
    // The frame for formulas and diagrams is a separate document with its own policy.
    rolldownOptions: {
      input: { index: resolvePath("index.html"), frame: resolvePath("frame.html") },
    },
  },
});
