import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, gzip } from "node:zlib";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";
import { bundledLicences, licenceFile } from "../../scripts/bundled-licences.ts";

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

/** Drops Mermaid's ELK layout (EPL or GPL), which is larger than everything else together. The frame forbids diagrams to choose it. */
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

const compressible = /\.(?:js|css|html|svg|json|md)$/;

/** Compressed here once, as small as it gets, so that the host only picks a file. Browsers take Brotli on HTTPS and loopback alone. */
const precompressed: Plugin = {
  name: "precompressed",
  apply: "build",
  async writeBundle({ dir = "dist" }, bundle) {
    const names = Object.keys(bundle).filter((name) => compressible.test(name));
    for (const name of names) {
      const path = join(dir, name);
      const bytes = await readFile(path);
      await writeFile(`${path}.br`, await promisify(brotliCompress)(bytes));
      await writeFile(`${path}.gz`, await promisify(gzip)(bytes, { level: 9 }));
    }
  },
};

export default defineConfig({
  // Relative, so that one build works under any base path.
  base: "./",
  plugins: [react(), woff2Only, withoutElk, bundledLicences(licenceFile), precompressed],
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
      input: {
        index: resolvePath("index.html"),
        frame: resolvePath("frame.html"),
        "service-worker": resolvePath("src/attention/service-worker.ts"),
      },
      output: {
        // A browser looks for a new one under the same name.
        entryFileNames: ({ name }) =>
          name === "service-worker" ? "service-worker.js" : "assets/[name]-[hash].js",
        codeSplitting: {
          // zod and its configuration in one chunk: whichever chunk creates schemas, it is configured before that.
          groups: [{ name: "zod", test: /\/node_modules\/zod\/|\/disable-zod-jit\.ts$/ }],
        },
      },
    },
  },
});
