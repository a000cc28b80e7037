import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { createLog, type Store, systemClock, type ToolResult } from "@holdfast/engine";
import { openTestSession } from "@holdfast/testing/fixtures/open-session";
import { ids, type Json, type OwnerId, type ProcessId, processId } from "@holdfast/protocol";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { createLiveness } from "@holdfast/store/identity";

import { createProcessesTool } from "../../src/automation/processes/processes-tool.ts";
import { createProcessWatcher } from "../../src/automation/processes/process-watcher.ts";
import { ProcessManager } from "../../src/automation/processes/process-manager.ts";
import { createBuiltInTools } from "../../src/agent/toolset.ts";
import type { Hosts } from "../../src/hosts/hosts.ts";
import type { Confinement } from "../../src/sandbox/confinement.ts";
import { unconfined } from "./open-confinement.ts";
import { openWorkspaces } from "../../src/agent/workspace/workspaces.ts";

interface HostOptions {
  readonly owner: OwnerId;
  readonly perSession?: number;
  readonly reports?: "turn" | "notice";
  readonly turnsInARow?: number;
  readonly confinement?: Confinement;
  readonly hosts?: Hosts;
  readonly silentMs?: number;
}

/** A host's handling of background processes; a second one on the same home and store is that host after a restart. */
export function openProcessHost(home: string, store: Store, options: HostOptions) {
  const { perSession = 4, reports = "turn", turnsInARow = 10, owner, hosts, silentMs } = options;
  const manager = new ProcessManager({
    home,
    store,
    clock: systemClock,
    liveness: createLiveness(),
    limits: { perSession, hours: 1 },
  });
  const notified: string[] = [];
  const watch = createProcessWatcher({
    log: createLog(store),
    ids,
    clock: systemClock,
    owner,
    manager,
    runner: { notify: (_, session) => void notified.push(session) },
    reports,
    turnsInARow,
    hosts,
    ...(silentMs !== undefined && { silentMs }),
    report: (bug) => {
      throw bug;
    },
  });
  return { desk: manager, watch, poked: notified, owner };
}

export async function openProcesses(options: Omit<HostOptions, "owner"> = {}) {
  const home = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-processes-")));
  const store = createReferenceStore();
  const chat = await openTestSession(store);
  const { owner, session } = chat;
  const host = openProcessHost(home, store, { ...options, owner });
  const background = { maxSeconds: 3_600, start: host.desk.start.bind(host.desk) };
  const workspaces = openWorkspaces({ home, roots: [] }, store);
  const environment = process.env;
  const { confinement = unconfined } = options;
  const deps = { home, store, workspaces, egressAllow: [], environment, confinement, background };
  const terminal = createBuiltInTools(deps).get("terminal")!;
  const processes = createProcessesTool(host.desk);
  const close = async (): Promise<void> => {
    for (const { process } of await host.desk.store.list(owner))
      await host.desk.stop(owner, null, process.id);
    rmSync(home, { recursive: true, force: true });
  };

  const call = (input: Json) => ({
    owner,
    session,
    runId: ids.make("run"),
    callId: ids.make("call"),
    input,
  });
  const context = { signal: new AbortController().signal, write: () => undefined };
  const ask = (input: Json): Promise<ToolResult> => processes.run(call(input), context);
  const run = (
    command: Json,
    more: { seconds?: number; hosts?: string[] } = {},
  ): Promise<ToolResult> => terminal.run(call({ command, background: true, ...more }), context);
  const start = async (command: string): Promise<ProcessId> => {
    const { output } = await run(command);
    return processId.parse(/prc_\w+/.exec(output)?.[0]);
  };
  const said = async (): Promise<readonly unknown[]> => {
    const events = await chat.events();
    return events.flatMap(({ type, data }) => (type === "input.accepted" ? [data] : []));
  };
  const folder = join(home, "workspaces", session);
  return { ...host, close, home, store, chat, owner, session, folder, start, run, ask, said };
}

/** Polls until the process manager has reported to the session. */
export async function untilReported(
  { desk, watch, owner }: ReturnType<typeof openProcessHost>,
  id: ProcessId,
) {
  for (;;) {
    await watch.checkAll();
    const found = await desk.store.find(owner, null, id);
    if (found?.process.told != null) return found.process;
    await systemClock.sleep(20);
  }
}
