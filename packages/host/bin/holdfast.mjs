#!/usr/bin/env node
// Plain JavaScript, so that a Node that is too old for the rest still gets as far as this sentence.
const needed = 24;
const major = Number(process.versions.node.split(".")[0]);

if (major < needed) {
  process.stderr.write(
    `Holdfast needs Node ${needed} or newer and this is ${process.version}: install a current Node from https://nodejs.org, or in a clone run "npm start", which brings its own.\n`,
  );
  process.exitCode = 1;
} else {
  await compileOnce();
  if (await builtIsNewest()) await import("../dist/main.js");
  else await import("../src/main.ts");
}

/** What one start has compiled the next takes over, and so do the store's threads: they inherit the environment. */
async function compileOnce() {
  const { enableCompileCache } = await import("node:module");
  const { fileURLToPath } = await import("node:url");
  const kept = new URL("../../../node_modules/.cache/holdfast/compiled/", import.meta.url);
  process.env.NODE_COMPILE_CACHE = process.env.NODE_COMPILE_CACHE || fileURLToPath(kept);
  enableCompileCache(process.env.NODE_COMPILE_CACHE);
}

/** Whether the host that was built, which starts sooner and weighs less, is what the sources say. */
async function builtIsNewest() {
  const { readdirSync, statSync } = await import("node:fs");
  const built = statSync(new URL("../dist/main.js", import.meta.url), { throwIfNoEntry: false });
  if (built === undefined) return false;
  const isOlder = (folder) =>
    readdirSync(folder, { withFileTypes: true }).every((entry) => {
      if (entry.isDirectory()) return isOlder(new URL(`${entry.name}/`, folder));
      const { mtimeMs } = statSync(new URL(entry.name, folder));
      return mtimeMs < built.mtimeMs || entry.name.endsWith(".test.ts");
    });
  const sources = ["protocol", "client", "engine", "store", "host"].map(
    (name) => `../../${name}/src/`,
  );
  return sources.every((folder) => isOlder(new URL(folder, import.meta.url)));
}
