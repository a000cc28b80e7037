// Writes the snapshot of the public surface: npm run surface [-- --allow-removal]
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { planUpdate, readSurface, recordVariable, type Surface, surfaceFile } from "./surface.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const { values } = parseArgs({ options: { "allow-removal": { type: "boolean", default: false } } });
const removal = values["allow-removal"] ? "allowed" : "refused";

const { lines, outcome } = planUpdate(readSurface(), observeSurface(), removal);
process.stdout.write(`${lines.join("\n")}\n`);
if (outcome === "refused") process.exitCode = 1;
else {
  writeFileSync(surfaceFile, `${JSON.stringify(outcome, null, 2)}\n`);
  runTool("oxfmt", ["--write", surfaceFile]);
}

/** Runs the tests of this folder, which record their sections. */
function observeSurface(): Surface {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-surface-"));
  try {
    runTool("vitest", ["run", "test/compat"], { [recordVariable]: folder });
    const sections = readdirSync(folder).map((file) => {
      const facts = JSON.parse(readFileSync(join(folder, file), "utf8")) as string[];
      return [basename(file, ".json"), facts] as const;
    });
    return Object.fromEntries(sections);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function runTool(name: string, args: readonly string[], env: Record<string, string> = {}): void {
  const { status } = spawnSync(join(root, "node_modules", ".bin", name), args, {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: "inherit",
  });
  if (status !== 0) throw new Error(`${name} failed; the snapshot stays as it was.`);
}
