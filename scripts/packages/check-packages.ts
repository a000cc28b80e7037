import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import type { CheckResult } from "../check.ts";

type RunCommand = (command: string, ...args: string[]) => Promise<CheckResult>;

/** Packs every package and checks the tarballs, which are what is published, with publint and attw. */
export async function checkPackages(root: string, run: RunCommand): Promise<CheckResult> {
  const packed = await run(process.execPath, "scripts/setup.mjs", "packages");
  if (!packed.ok) return packed;
  // Every build of new tarballs removes this file first.
  const passed = join(root, "dist", "passed");
  const tarballs = readdirSync(join(root, "dist", "tarballs")).map(
    (file) => `dist/tarballs/${file}`,
  );
  if (existsSync(passed)) return { ok: true, output: "", seen: `${tarballs.length} unchanged` };

  const waiting = tarballs.flatMap((tarball) => [
    () => run("node_modules/.bin/attw", "--profile", "esm-only", "--no-color", tarball),
    () => run("node_modules/.bin/publint", "--strict", tarball),
  ]);
  const failures: CheckResult[] = [];
  const work = async (): Promise<void> => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const result = await next();
      if (!result.ok) failures.push(result);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  if (failures.length === 0 && tarballs.length > 0) writeFileSync(passed, "");
  return {
    ok: failures.length === 0 && tarballs.length > 0,
    output: failures.map(({ output }) => output).join("\n"),
    seen: `${tarballs.length} tarballs`,
  };
}
