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
  await import("../src/main.ts");
}

/** What one start has compiled the next takes over, and so do the store's threads: they inherit the environment. */
async function compileOnce() {
  const { enableCompileCache } = await import("node:module");
  const { fileURLToPath } = await import("node:url");
  const kept = new URL("../../../node_modules/.cache/holdfast/compiled/", import.meta.url);
  process.env.NODE_COMPILE_CACHE = process.env.NODE_COMPILE_CACHE || fileURLToPath(kept);
  enableCompileCache(process.env.NODE_COMPILE_CACHE);
}
