import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { openConfinement } from "../../src/sandbox/confinement.ts";
import { allowedEnvironment, runCommand } from "../../src/sandbox/run-command.ts";
import type { Network, SandboxKind } from "../../src/sandbox/sandbox.ts";

export interface TrueCommands {
  readonly kind: SandboxKind;
  readonly plain: () => Promise<void>;
  readonly confined: (network?: Network) => Promise<void>;
}

/** `true`, as the terminal runs it: as it is, and confined. For benchmarks, which are no tests. */
export async function openTrueCommands(home: string): Promise<TrueCommands> {
  const workspace = join(home, "workspaces", "own");
  mkdirSync(workspace, { recursive: true });
  const confinement = openConfinement({
    mode: "required",
    home,
    folders: [],
    processes: 4_096,
    memoryMegabytes: 0,
    fileMegabytes: 8_192,
    environment: process.env,
    egressAllow: [],
  });
  const command = {
    argv: ["true"] as const,
    folder: workspace,
    environment: allowedEnvironment(process.env),
  };
  const { signal } = new AbortController();
  async function run(end: ReturnType<typeof runCommand>): Promise<void> {
    const { kind, output } = await end;
    if (kind !== "exited" || output !== "") throw new Error(`${kind}: ${output}`);
  }
  return {
    kind: (await confinement.state()).kind,
    plain: () => run(runCommand({ ...command, timeLimitMs: 10_000, signal })),
    async confined(network = "none") {
      const found = await confinement.confine(command, { writable: [workspace], network });
      if (!found.ok) throw new Error(found.message);
      const how = { network: found.network, timeLimitMs: 10_000, signal };
      await run(runCommand({ ...found.command, ...how }));
    },
  };
}
