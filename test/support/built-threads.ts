import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import type { Plugin } from "vitest/config";

import { hostEntries, testEntries } from "../../scripts/host-entries.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const entries = Object.entries({ ...hostEntries, ...testEntries });
const besideTheModule = /new URL\(\s*"([^"]+\.ts)",\s*import\.meta\.url,?\s*\)/g;

/**
 * A thread that loads hundreds of sources takes a third of a second to do so, and tests start many of them: where the host
 * was built, they start what is shipped.
 */
export function builtThreads(): Plugin {
  return {
    name: "built-threads",
    transform(code, id) {
      const built = process.env["HOLDFAST_TEST_HOST"];
      if (built === undefined || !id.startsWith(root)) return null;
      if (!code.includes("import.meta.url")) return null;
      return code.replace(besideTheModule, (written: string, path: string) => {
        const file = join(dirname(id), path);
        const entry = entries.find(([, source]) => join(root, source) === file);
        if (entry === undefined) return written;
        return `new URL(${JSON.stringify(pathToFileURL(join(built, `${entry[0]}.js`)).href)})`;
      });
    },
  };
}
