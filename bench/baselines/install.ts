import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { scratchRoot } from "../harness/scratch.ts";

const manifest = fileURLToPath(new URL("./package.json", import.meta.url));
const timeoutMs = 180_000;

export type Installed =
  | { readonly status: "installed"; readonly folder: string }
  | { readonly status: "left out"; readonly reason: string };

/** Installs the baselines' packages outside of the workspace, once for each version of their list. */
export async function installBaselines(): Promise<Installed> {
  const hash = createHash("sha256").update(readFileSync(manifest)).digest("hex").slice(0, 12);
  const folder = join(scratchRoot(), `holdfast-bench-baselines-${hash}`);
  const marker = join(folder, "installed");
  if (existsSync(marker)) return { status: "installed", folder };
  console.log("Installing the baselines (once)…");
  mkdirSync(folder, { recursive: true });
  copyFileSync(manifest, join(folder, "package.json"));
  const problem = await npmInstall(folder);
  if (problem !== undefined) {
    rmSync(folder, { recursive: true, force: true });
    return { status: "left out", reason: problem };
  }
  writeFileSync(marker, "");
  return { status: "installed", folder };
}

async function npmInstall(folder: string): Promise<string | undefined> {
  const npm = spawn("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund"], {
    cwd: folder,
    stdio: ["ignore", "ignore", "pipe"],
    timeout: timeoutMs,
  });
  let output = "";
  npm.stderr.setEncoding("utf8").on("data", (text: string) => (output += text));
  try {
    await once(npm, "close");
  } catch (error) {
    return `npm did not start: ${String(error)}`;
  }
  if (npm.exitCode === 0) return undefined;
  const code = /npm error code (\S+)/.exec(output)?.[1];
  return code === undefined
    ? `npm install took longer than ${timeoutMs / 1000} s`
    : `npm install: ${code}`;
}
