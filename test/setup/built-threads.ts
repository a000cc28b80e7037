import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import type { Plugin } from "vitest/config";

import { hostEntries, testEntries } from "../../scripts/host-entries.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const entries = Object.entries({ ...hostEntries, ...testEntries });
const relativeUrl = /new URL\(\s*"([^"]+\.ts)",\s*import\.meta\.url,?\s*\)/g;

/**
 * A thread that loads hundreds of sources takes a third of a second, and tests start many: if the host was built,
 * they start the built ones. Checked at runtime, because transformed modules are cached for later runs.
 */
export function useBuiltThreads(): Plugin {
  return {
    name: "threads-as-built",
    transform(code, id) {
      if (!id.startsWith(root) || !code.includes("import.meta.url")) return null;
      return code.replace(relativeUrl, (written: string, path: string) => {
        const file = join(dirname(id), path);
        const name = entries.find(([, source]) => join(root, source) === file)?.[0];
        if (name === undefined) return written;
        const built = "process.env.HOLDFAST_TEST_HOST";
        return `(${built} ? new URL("${name}.js", ${built}) : ${written})`;
      });
    },
  };
}
