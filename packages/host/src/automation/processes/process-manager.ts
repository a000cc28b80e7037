import { mkdir, rm } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import type { Clock, Liveness, Reads, Register, ToolCall } from "@holdfast/engine";
import {
  type LaneKey,
  isUnlimited,
  laneKey,
  type OwnerId,
  type ProcessId,
  type SessionId,
} from "@holdfast/protocol";
import { currentHolder } from "@holdfast/store/identity";

import { openHomeId } from "../../hosts/home-id.ts";
import { hasChildTag } from "../delegate/child-session.ts";
import { systemCode } from "../../util/outcome.ts";
import { deterministicIds } from "../../util/deterministic-ids.ts";
import { isDeliveredLane } from "../../gateway/lanes.ts";
import { serialQueue } from "../../util/serial-queue.ts";
import { writeFileAtomically } from "../../util/atomic-file.ts";
import {
  fileNames,
  type ProcessEnd,
  type ProcessSpec,
  readStartRecord,
  readEnd,
  readSpec,
  requestStop,
  readProcessState,
  type ProcessState,
  readOutput,
  readReached,
} from "./process-folder.ts";
import { type StoredProcess, ProcessStore, type ProcessRecord } from "./process-store.ts";
import { describeEnd } from "./end-report.ts";
import { launchSupervisor } from "../../sandbox/launch.ts";
import type { NetworkGrant } from "../../sandbox/network/open-network.ts";
import type { ReachedHost } from "../../sandbox/network/proxy.ts";
import type { PlainCommand } from "../../sandbox/sandbox.ts";

export interface ProcessLimits {
  /** How many processes a session may run at once; 0 disables them. */
  readonly perSession: number;
  /** Maximum run time. */
  readonly hours: number;
}

export interface ProcessManagerDeps {
  readonly home: string;
  readonly store: { readonly reads: Reads; readonly register: Register; now(): Promise<number> };
  readonly clock: Clock;
  readonly liveness: Liveness;
  readonly limits: ProcessLimits;
}

export interface BackgroundCommand extends PlainCommand {
  readonly timeLimitMs: number;
  readonly network?: NetworkGrant;
  /** The command line for people and the model. */
  readonly shown: string;
}

export type StartResult =
  | { readonly status: "started"; readonly id: ProcessId }
  | { readonly status: "refused"; readonly words: string };

export interface ProcessOutput {
  readonly text: string;
  readonly isWhole: boolean;
  /** The hosts that it was granted, so that text in its output may come from there. */
  readonly granted: readonly string[];
  readonly reached: readonly ReachedHost[];
}

const maxPerHost = 20;
const maxShownLength = 400;
const startTimeoutMs = 10_000;
const wakeMs = 500;
const stopTimeoutMs = 6_000;
const pollMs = 100;
/** Longer than the grace period in which a process may end. */
const overtimeGraceMs = 5_000;
const maxAttempts = 20;

/**
 * Starts background processes, and knows those of every host on the store. A process's files are in the home that
 * started it.
 */
export class ProcessManager {
  readonly limits: ProcessLimits;
  readonly store: ProcessStore;
  readonly #deps: ProcessManagerDeps;
  /** Tells the processes of this home from those of other homes. */
  readonly homeId: () => Promise<string>;
  readonly #registrationQueue = serialQueue();

  constructor(deps: ProcessManagerDeps) {
    this.#deps = deps;
    this.limits = deps.limits;
    this.homeId = openHomeId(deps.home, deps.clock);
    this.store = new ProcessStore(deps.store.register);
  }

  get parentFolder(): string {
    return join(this.#deps.home, "processes");
  }

  folderOf(id: ProcessId): string {
    return join(this.parentFolder, id);
  }

  /** P7: recorded before it starts, so that whatever dies, some host finds it and reports its end. */
  async start(call: ToolCall, command: BackgroundCommand): Promise<StartResult> {
    const id = deterministicIds(`process ${call.callId}`).make("process");
    // Calls of one step arrive together, and each has to count those before it.
    const refused = await this.#registrationQueue(() => this.#register(id, call, command));
    if (refused !== null) return { status: "refused", words: refused };
    const { shown: _, ...spec } = command;
    const end = await this.#launch(id, {
      ...spec,
      argv: [...spec.argv],
      environment: { ...spec.environment },
    });
    if (end?.kind !== "not_started") return { status: "started", id };
    await this.#recordNotStarted(call.owner, id, end);
    return { status: "refused", words: `It ${describeEnd(end)}.` };
  }

  /** Resolves to how it ended, if that is known already. */
  async #launch(id: ProcessId, spec: ProcessSpec): Promise<ProcessEnd | null> {
    const folder = this.folderOf(id);
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await writeFileAtomically(join(folder, fileNames.spec), JSON.stringify(spec));
    } catch (error) {
      return { kind: "not_started", code: systemCode(error) };
    }
    const started = await startMinder(folder, spec.environment, this.#deps.clock);
    const end = await readEnd(folder);
    if (end !== null || started !== "gone") return end;
    // P7: the minder is gone, but the command had started: its fate is not for the call to report.
    return (await readStartRecord(folder)) === null
      ? { kind: "not_started", code: "minder" }
      : null;
  }

  /** The call itself reports this, so nothing more has to be. If it cannot be recorded, it is reported as an end. */
  async #recordNotStarted(owner: OwnerId, id: ProcessId, end: ProcessEnd): Promise<void> {
    // If the file cannot be written either, the register alone has it.
    const file = join(this.folderOf(id), fileNames.end);
    await writeFileAtomically(file, JSON.stringify(end)).catch(() => undefined);
    const found = await this.store.find(owner, null, id);
    if (found === null) return;
    const endedAt = await this.#deps.store.now();
    await this.store.change({
      ...found,
      process: { ...found.process, end, endedAt, told: "silent" },
    });
  }

  /** `null`: it has a slot. Otherwise the reason for refusing. */
  async #register(
    id: ProcessId,
    call: ToolCall,
    command: BackgroundCommand,
  ): Promise<string | null> {
    const { owner, session, runId } = call;
    const { reads } = this.#deps.store;
    const { perSession } = this.limits;
    const row = await reads.session(owner, session);
    if (row === null || hasChildTag(row))
      return "A child hands its answer back and is over: run it in the foreground.";
    const [homeId, all] = [await this.homeId(), await this.store.list(owner)];
    const running = all.filter(({ process }) => process.end === null);
    if (running.filter(({ process }) => process.session === session).length >= perSession)
      return `A session has ${perSession} background processes at most: stop one first.`;
    if (running.filter(({ process }) => process.place === homeId).length >= maxPerHost)
      return `This host has ${maxPerHost} background processes at most.`;
    const added = await this.store.add(owner, {
      id,
      session,
      runId,
      lane: await this.#laneOf(call),
      ...(call.rights && !isUnlimited(call.rights) && { rights: call.rights }),
      place: homeId,
      host: hostname(),
      by: currentHolder("processes"),
      shown: command.shown.slice(0, maxShownLength),
      startedAt: await this.#deps.store.now(),
      timeLimitMs: command.timeLimitMs,
      stop: null,
      end: null,
      endedAt: null,
      told: null,
    });
    if (added.status === "full") return "There is no place for another background process now.";
    // Nobody can ask for its output any more. If this fails, the periodic cleanup removes it.
    if (added.replaced?.place === homeId)
      await rm(this.folderOf(added.replaced.id), { recursive: true, force: true }).catch(() => {});
    return null;
  }

  /** The lane in which the answers of the starting run are delivered, if they are. */
  async #laneOf({ owner, session, runId }: ToolCall): Promise<LaneKey | null> {
    const page = await this.#deps.store.reads.entries(owner, session, { limit: 200 });
    const message = page?.entries.findLast(
      (entry) => entry.type === "message.user" && entry.runId === runId,
    );
    const lane = laneKey.safeParse(message?.data["lane"]).data;
    return lane !== undefined && isDeliveredLane(lane) ? lane : null;
  }

  /** `elsewhere`: only its own host knows. */
  async stateOf(process: ProcessRecord): Promise<ProcessState | { readonly kind: "elsewhere" }> {
    if (process.end !== null) return { kind: "ended", end: process.end };
    if (process.place !== (await this.homeId())) return { kind: "elsewhere" };
    return readProcessState(this.folderOf(process.id), process, this.#deps.liveness);
  }

  /** The minder enforces the time limit; one that is long overdue is told to. */
  enforceTimeLimit(
    { startedAt, timeLimitMs }: ProcessRecord,
    state: ProcessState,
    now: number,
  ): void {
    if (state.kind === "running" && now > startedAt + timeLimitMs + overtimeGraceMs)
      requestStop(state.started, this.#deps.liveness);
  }

  async output(process: ProcessRecord, maxLength: number): Promise<ProcessOutput | null> {
    if (process.place !== (await this.homeId())) return null;
    const folder = this.folderOf(process.id);
    const granted = (await readSpec(folder))?.network?.hosts ?? [];
    return {
      ...(await readOutput(folder, maxLength)),
      granted,
      reached: await readReached(folder),
    };
  }

  /** Records the request durably. The process's host carries it out: at once, if that is this one. */
  async stop(
    owner: OwnerId,
    session: SessionId | null,
    id: ProcessId,
    reason: "asked" | "session" = "asked",
  ): Promise<StoredProcess | null> {
    for (let attempt = 0; ; attempt += 1) {
      const found = await this.store.find(owner, session, id);
      if (found === null || found.process.end !== null || attempt === maxAttempts) return found;
      if (found.process.stop !== null) return this.#waitForStop(found);
      await this.store.change({ ...found, process: { ...found.process, stop: reason } });
    }
  }

  async #waitForStop(found: StoredProcess): Promise<StoredProcess> {
    const deadline = this.#deps.clock.now() + stopTimeoutMs;
    let hasRequestedStop = false;
    while (this.#deps.clock.now() < deadline) {
      const state = await this.stateOf(found.process);
      if (state.kind === "elsewhere") return found;
      if (state.kind === "ended")
        return { ...found, process: { ...found.process, end: state.end } };
      if (state.kind === "running" && !hasRequestedStop) {
        requestStop(state.started, this.#deps.liveness);
        hasRequestedStop = true;
      }
      await this.#deps.clock.sleep(pollMs);
    }
    return found;
  }
}

/** Resolves once the command has started, or could not; its files say what happened. `gone`: the minder has exited. */
async function startMinder(
  folder: string,
  environment: Readonly<Record<string, string>>,
  clock: Clock,
): Promise<"started" | "gone" | "slow"> {
  const script = fileURLToPath(new URL("minder.ts", import.meta.url));
  // The minder gets no more of the host's environment than its command.
  const minder = launchSupervisor({
    argv: [process.execPath, script, folder],
    folder,
    environment,
  });
  const settled = new AbortController();
  let outcome: "started" | "gone" | "slow" = "slow";
  const settle = (result: "started" | "gone") => (): void => {
    if (outcome === "slow") outcome = result;
    settled.abort();
  };
  minder.once("message", settle("started"));
  minder.once("exit", settle("gone"));
  minder.once("error", settle("gone"));
  for (let waited = 0; !settled.signal.aborted && waited < startTimeoutMs; waited += wakeMs) {
    await clock.sleep(wakeMs, settled.signal);
    // Its command may have suspended it before it could report.
    minder.kill("SIGCONT");
  }
  if (minder.connected) minder.disconnect();
  minder.unref();
  return outcome;
}
