import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { onTestFinished } from "vitest";

import {
  type Confinement,
  openConfinement,
  type SandboxMode,
} from "../../src/sandbox/confinement.ts";
import { allowedEnvironment, type CommandEnd, runCommand } from "../../src/sandbox/run-command.ts";
import type { Profile } from "../../src/sandbox/sandbox.ts";

interface Options {
  readonly home: string;
  readonly mode: SandboxMode;
  readonly folders?: readonly string[];
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly egressAllow?: readonly string[];
  readonly processes?: number;
  readonly memoryMegabytes?: number;
}

export function openTestConfinement(options: Options): Confinement {
  return openConfinement({
    folders: [],
    environment: process.env,
    egressAllow: [],
    processes: 1_000,
    memoryMegabytes: 0,
    fileMegabytes: 256,
    ...options,
  });
}

export interface ConfinedFolders {
  readonly personHome: string;
  readonly home: string;
  readonly workspace: string;
}

/** A person's home with that of Holdfast in it, and a workspace. */
export function createHomes(name = "own"): ConfinedFolders {
  const personHome = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-sandbox-")));
  onTestFinished(() => rmSync(personHome, { recursive: true, force: true }));
  const home = join(personHome, ".holdfast");
  const workspace = join(home, "workspaces", name);
  mkdirSync(workspace, { recursive: true });
  return { personHome, home, workspace };
}

interface ConfinedRun extends Partial<Profile> {
  readonly signal?: AbortSignal;
  readonly onOutput?: (text: string) => void;
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/** Runs a line for a shell, or a list, in a sandbox that is required. */
export async function runConfined(
  { personHome, home, workspace }: ConfinedFolders,
  command: string | readonly [string, ...string[]],
  run: ConfinedRun & Partial<Options> = {},
): Promise<CommandEnd> {
  const { signal = new AbortController().signal, onOutput, ...more } = run;
  const environment = { ...process.env, HOME: personHome, ...run.environment };
  const confinement = openTestConfinement({ home, mode: "required", ...more, environment });
  const argv = typeof command === "string" ? (["/bin/sh", "-c", command] as const) : command;
  const plain = { argv, folder: workspace, environment: allowedEnvironment(environment) };
  const profile = { writable: [workspace], network: "none" as const, ...more };
  const confined = await confinement.confine(plain, profile);
  if (!confined.ok) throw new Error(confined.message);
  const { network } = confined;
  const how = { network, timeLimitMs: 60_000, signal, ...(onOutput && { onOutput }) };
  return runCommand({ ...confined.command, ...how });
}

/** For tests about other things: processes run as they are. */
export const unconfined: Confinement = openTestConfinement({ home: "/nonexistent", mode: "off" });
