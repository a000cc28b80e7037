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
  /** A clean environment, without this clone's settings and caches. */
  readonly environment: (settings?: Record<string, string>) => Record<string, string | undefined>;
}

/** Packs the published packages and has npm install them into an empty folder, as a user would. */
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

/** npm and vitest pass their settings on in variables, and a proxy cannot reach the registry on loopback. */
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
