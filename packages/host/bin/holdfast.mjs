#!/usr/bin/env node
// Plain JavaScript, so that even a Node that is too old can print this message.
const minNodeMajor = 24;
const major = Number(process.versions.node.split(".")[0]);

if (major < minNodeMajor) {
  const { existsSync } = await import("node:fs");
  const { fileURLToPath } = await import("node:url");
  // A clone brings a Node of its own, so that the command works in every folder.
  const clonesNode = fileURLToPath(new URL("../../../node_modules/node/bin/node", import.meta.url));
  if (existsSync(clonesNode)) await runWith(clonesNode);
  else {
    process.stderr.write(
      `Holdfast needs Node ${minNodeMajor} or newer and this is ${process.version}: install a current Node from https://nodejs.org, or in a clone run "npm start", which brings its own.\n`,
    );
    process.exitCode = 1;
  }
} else {
  if (process.argv[2] === "serve") {
    limitMemory();
    await saveMemoryDuringStart();
  }
  const { existsSync } = await import("node:fs");
  const isClone = existsSync(new URL("../src/main.ts", import.meta.url));
  const isBuilt = !isClone || (await isBuildCurrent());
  await useCompileCache(isClone, isBuilt);
  if (isBuilt) await import("../dist/main.js");
  else await import("../src/main.ts");
}

/** Runs this command with another Node, and ends as that ends. */
async function runWith(node) {
  const { spawn } = await import("node:child_process");
  const child = spawn(node, process.argv.slice(1), { stdio: "inherit" });
  // A terminal sends Ctrl-C to both, and the child decides what it means. What only this process gets is passed on.
  process.on("SIGINT", () => undefined);
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  const [code, signal] = await new Promise((resolve) => {
    child.on("exit", (...ended) => resolve(ended));
    child.on("error", (error) => {
      process.stderr.write(`The clone's Node cannot be started: ${error.message}\n`);
      resolve([1, null]);
    });
  });
  if (signal === null) process.exitCode = code;
  else {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  }
}

/**
 * Limits that only a beginning process takes, so this one re-executes itself, with the same process id. glibc keeps an
 * arena for each of the threads, 5 MB in all for a host at rest; commands that the host runs don't inherit that limit.
 * V8 lets the young generation grow to 134 MB under load and hardly shrinks it again. Within 8 MB for each half of it,
 * 5,000 pages and 200 live runs were still served in time (docs/benchmarks.md).
 */
function limitMemory() {
  const { env } = process;
  if (env.HOLDFAST_MEMORY_LIMITED !== undefined) {
    if (env.HOLDFAST_MEMORY_LIMITED === "arenas") delete env.MALLOC_ARENA_MAX;
    delete env.HOLDFAST_MEMORY_LIMITED;
  } else if (process.execve) {
    const limitsArenas = process.platform === "linux" && env.MALLOC_ARENA_MAX === undefined;
    const ofOperator = env.NODE_OPTIONS?.includes("semi-space-size");
    const flags = [...(ofOperator ? [] : ["--max-semi-space-size=8"]), ...process.execArgv];
    process.execve(process.execPath, [process.argv0, ...flags, ...process.argv.slice(1)], {
      ...env,
      ...(limitsArenas ? { MALLOC_ARENA_MAX: "2" } : {}),
      HOLDFAST_MEMORY_LIMITED: limitsArenas ? "arenas" : "heap",
    });
  }
}

/**
 * What a start creates lives on, so a larger young generation would only be memory that an idle host keeps; and code
 * that runs once is not worth optimizing. `allowGrowth` of `process-limits.ts` ends both.
 */
async function saveMemoryDuringStart() {
  const { setFlagsFromString } = await import("node:v8");
  setFlagsFromString("--semi-space-growth-factor=1");
  setFlagsFromString("--no-opt");
  setFlagsFromString("--no-sparkplug");
}

/**
 * Shares compiled code between starts. The store's threads inherit the cache only if they load hundreds of sources: they
 * would keep in memory what they read from it, and a built thread starts 5 ms later without it.
 */
async function useCompileCache(isClone, isBuilt) {
  const { enableCompileCache } = await import("node:module");
  const folder = process.env.NODE_COMPILE_CACHE || (await compileCacheFolder(isClone));
  if (!isBuilt) process.env.NODE_COMPILE_CACHE = folder;
  enableCompileCache(folder);
}

/** The user may not be able to write to the folder of an installed package. */
async function compileCacheFolder(isClone) {
  const { fileURLToPath } = await import("node:url");
  if (isClone)
    return fileURLToPath(
      new URL("../../../node_modules/.cache/holdfast/compiled/", import.meta.url),
    );
  const { homedir } = await import("node:os");
  const path = await import("node:path");
  const ofSystem = process.platform === "darwin" ? ["Library", "Caches"] : [".cache"];
  const caches = process.env.XDG_CACHE_HOME || path.join(homedir(), ...ofSystem);
  return path.join(caches, "holdfast", "compiled");
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
