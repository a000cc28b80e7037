import { execFileSync } from "node:child_process";

/** Calls a module's function in its own process, which has used up its file handles, and returns the result. */
export function withoutFileHandles(module: URL, start: string): unknown {
  const script = `import { closeSync, openSync } from "node:fs";
    import * as given from ${JSON.stringify(module.href)};
    const files = [];
    try { for (;;) files.push(openSync("/dev/null")); } catch {}
    const start = async () => (${start})(given);
    const end = await start().catch((error) => error.message);
    await new Promise(setImmediate);
    for (const file of files) closeSync(file);
    console.log(JSON.stringify(end));`;
  const limited = `ulimit -n 64; exec "$0" --input-type=module -e "$1"`;
  const args = ["-c", limited, process.execPath, script];
  return JSON.parse(execFileSync("/bin/sh", args, { encoding: "utf8" }));
}
