#!/usr/bin/env node
// Plain JavaScript, so that even a Node that is too old can print this message.
const minNodeMajor = 24;
const major = Number(process.versions.node.split(".")[0]);

if (major < minNodeMajor) {
  process.stderr.write(
    `Holdfast needs Node ${minNodeMajor} or newer and this is ${process.version}: install a current Node from https://nodejs.org, or in a clone run "npm start", which brings its own.\n`,
  );
  process.exitCode = 1;
} else {
  await enableSharedCompileCache();
  if (await isBuildCurrent()) await import("../dist/main.js");
  else await import("../src/main.ts");
}

/** Shares compiled code between starts, and with the store's threads, which inherit the environment. */
async function enableSharedCompileCache() {
  const { enableCompileCache } = await import("node:module");
  const { fileURLToPath } = await import("node:url");
  const cacheFolder = new URL("../../../node_modules/.cache/holdfast/compiled/", import.meta.url);
  process.env.NODE_COMPILE_CACHE = process.env.NODE_COMPILE_CACHE || fileURLToPath(cacheFolder);
  enableCompileCache(process.env.NODE_COMPILE_CACHE);
}

/** Whether the built host, which starts faster and uses less memory, is newer than all sources. */
async function isBuildCurrent() {
  const { readdirSync, statSync } = await import("node:fs");
  const built = statSync(new URL("../dist/main.js", import.meta.url), { throwIfNoEntry: false });
  if (built === undefined) return false;
  const isOlderThanBuild = (folder) =>
    readdirSync(folder, { withFileTypes: true }).every((entry) => {
      if (entry.isDirectory()) return isOlderThanBuild(new URL(`${entry.name}/`, folder));
      const { mtimeMs } = statSync(new URL(entry.name, folder));
      return mtimeMs < built.mtimeMs || entry.name.endsWith(".test.ts");
    });
  const sources = ["protocol", "client", "engine", "store", "host"].map(
    (name) => `../../${name}/src/`,
  );
  return sources.every((folder) => isOlderThanBuild(new URL(folder, import.meta.url)));
}
