import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type OnCleanup, startProcess } from "@holdfast/testing/process/start-process";
import { settingsFor } from "../served-host.ts";
import { startRegistry } from "./registry.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));

export interface InstalledPackages {
  readonly folder: string;
  /** Somebody else's environment: no clone, no settings and no caches of this one. */
  readonly environment: (settings?: Record<string, string>) => Record<string, string | undefined>;
}

/** Packs what is published and has npm install it into an empty folder, as a person would. */
export async function installPackages(onCleanup: OnCleanup): Promise<InstalledPackages> {
  await runToEnd([join(root, "scripts/setup.mjs"), "packages"], { onCleanup });
  const folder = mkdtempSync(join(tmpdir(), "holdfast-installed-"));
  onCleanup(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, "person"));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));

  const environment = (settings: Record<string, string> = {}) => ({
    ...withoutOurs(),
    ...settingsFor(settings),
    npm_config_update_notifier: "false",
    HOME: join(folder, "person"),
    PATH: [dirname(process.execPath), process.env["PATH"]].join(delimiter),
  });
  await using registry = await startRegistry(root);
  const names = ["host", "engine", "store", "testing"].map((name) => `@holdfast/${name}`);
  const args = ["install", `--registry=${registry.origin}`, "--no-audit", "--no-fund", ...names];
  await runToEnd(args, { command: "npm", cwd: folder, env: environment(), onCleanup });
  return { folder, environment };
}

/** npm and vitest pass on what they were told; a proxy does not lead to this machine. */
function withoutOurs(): Record<string, undefined> {
  const isOurs = (name: string): boolean => /^(?:npm_|node_|vitest|xdg_)|_proxy$/i.test(name);
  const names = Object.keys(process.env).filter(isOurs);
  return Object.fromEntries(names.map((name) => [name, undefined]));
}

async function runToEnd(...[args, options]: Parameters<typeof startProcess>): Promise<void> {
  const running = startProcess(args, options);
  const { code } = await running.exited;
  if (code !== 0) throw new Error(`${args.join(" ")}\n${running.stdout()}\n${running.stderr()}`);
}
