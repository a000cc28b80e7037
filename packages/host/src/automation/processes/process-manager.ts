import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdir, rm } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import type { Clock, Liveness, Reads, Register, ToolCall } from "@holdfast/engine";
import {
  type LaneKey,
  laneKey,
  type OwnerId,
  type ProcessId,
  type SessionId,
} from "@holdfast/protocol";
import { currentHolder } from "@holdfast/store/identity";

import { hasChildTag } from "../delegate/child-session.ts";
import { systemCode } from "../../util/outcome.ts";
import { deterministicIds } from "../../util/deterministic-ids.ts";
import { isDeliveredLane } from "../../gateway/lane-session.ts";
import { serialQueue } from "../../util/serial-queue.ts";
import { readTextOrEmpty, writeFileAtomically, withFileLock } from "../../util/atomic-file.ts";
import {
  fileNames,
  type ProcessEnd,
  type ProcessSpec,
  readStartRecord,
  readEnd,
  requestStop,
  readProcessState,
  type ProcessState,
  readOutput,
} from "./process-folder.ts";
import { type StoredProcess, ProcessStore, type ProcessRecord } from "./process-store.ts";
import { describeEnd } from "./end-report.ts";

export interface ProcessLimits {
  /** How many of a session may run at once; 0: there are none at all. */
  readonly perSession: number;
  /** How long any may run. */
  readonly hours: number;
}

export interface ProcessManagerDeps {
  readonly home: string;
  readonly store: { readonly reads: Reads; readonly register: Register; now(): Promise<number> };
  readonly clock: Clock;
  readonly liveness: Liveness;
  readonly limits: ProcessLimits;
}

export interface BackgroundCommand extends ProcessSpec {
  /** As people and the model see it. */
  readonly shown: string;
}

export type StartResult =
  | { readonly status: "started"; readonly id: ProcessId }
  | { readonly status: "refused"; readonly words: string };

const maxPerHost = 20;
const maxShownLength = 400;
const startTimeoutMs = 10_000;
const wakeMs = 500;
const stopTimeoutMs = 6_000;
const pollMs = 100;
/** More than the grace that a process has to end in. */
const overtimeGraceMs = 5_000;
const maxTries = 20;

/** Starts background processes, and knows those of every host on the store. Their files are in the home that started them. */
export class ProcessManager {
  readonly limits: ProcessLimits;
  readonly store: ProcessStore;
  readonly #parts: ProcessManagerDeps;
  #place: Promise<string> | undefined;
  readonly #enterOneByOne = serialQueue();

  constructor(parts: ProcessManagerDeps) {
    this.#parts = parts;
    this.limits = parts.limits;
    this.store = new ProcessStore(parts.store.register);
  }

  /** The name of this home: it tells its own processes from those of others. */
  homeId(): Promise<string> {
    this.#place ??= this.#findPlace().catch((error: unknown) => {
      // A disk that takes nothing now may do so later.
      this.#place = undefined;
      throw error;
    });
    return this.#place;
  }

  /** Several hosts may begin on one home: whoever comes first names it. */
  async #findPlace(): Promise<string> {
    const file = join(this.parentFolder, "place");
    for (;;) {
      const known = await readTextOrEmpty(file);
      if (known !== "") return known;
      const made = await withFileLock(file, async () => {
        const meanwhile = await readTextOrEmpty(file);
        if (meanwhile !== "") return meanwhile;
        const name = randomUUID();
        await writeFileAtomically(file, name);
        return name;
      });
      if (made !== "busy") return made;
      await this.#parts.clock.sleep(pollMs);
    }
  }

  get parentFolder(): string {
    return join(this.#parts.home, "processes");
  }

  folderOf(id: ProcessId): string {
    return join(this.parentFolder, id);
  }

  /** P7: it is written down before it starts, so that whatever dies, somebody finds it and says what became of it. */
  async start(call: ToolCall, command: BackgroundCommand): Promise<StartResult> {
    const id = deterministicIds(`process ${call.callId}`).make("process");
    // Those of one step come at once, and each counts the ones before it.
    const refused = await this.#enterOneByOne(() => this.#enter(id, call, command));
    if (refused !== null) return { status: "refused", words: refused };
    const { shown: _, ...spec } = command;
    const end = await this.#begin(id, spec);
    if (end?.kind !== "not_started") return { status: "started", id };
    await this.#noteNotStarted(call.owner, id, end);
    return { status: "refused", words: `It ${describeEnd(end)}.` };
  }

  /** How it ended, if that is known already. */
  async #begin(id: ProcessId, spec: ProcessSpec): Promise<ProcessEnd | null> {
    const folder = this.folderOf(id);
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await writeFileAtomically(join(folder, fileNames.spec), JSON.stringify(spec));
    } catch (error) {
      return { kind: "not_started", code: systemCode(error) };
    }
    const heard = await startMinder(folder, spec.environment, this.#parts.clock);
    const end = await readEnd(folder);
    if (end !== null || heard !== "gone") return end;
    // P7: who minded it is gone and it had begun: what became of it is not for the call to say.
    return (await readStartRecord(folder)) === null
      ? { kind: "not_started", code: "minder" }
      : null;
  }

  /** The call itself says so: nothing is left to be told. What is not noted is told as an end. */
  async #noteNotStarted(owner: OwnerId, id: ProcessId, end: ProcessEnd): Promise<void> {
    // Where there is no room for it either, the register alone has it.
    const file = join(this.folderOf(id), fileNames.end);
    await writeFileAtomically(file, JSON.stringify(end)).catch(() => undefined);
    const found = await this.store.find(owner, null, id);
    if (found === null) return;
    const endedAt = await this.#parts.store.now();
    await this.store.change({
      ...found,
      process: { ...found.process, end, endedAt, told: "silent" },
    });
  }

  /** `null`: it has its place. Otherwise why not, in words. */
  async #enter(id: ProcessId, call: ToolCall, command: BackgroundCommand): Promise<string | null> {
    const { owner, session, runId } = call;
    const { reads } = this.#parts.store;
    const { perSession } = this.limits;
    const row = await reads.session(owner, session);
    if (row === null || hasChildTag(row))
      return "A child hands its answer back and is over: run it in the foreground.";
    const [place, all] = [await this.homeId(), await this.store.list(owner)];
    const running = all.filter(({ process }) => process.end === null);
    if (running.filter(({ process }) => process.session === session).length >= perSession)
      return `A session has ${perSession} background processes at most: stop one first.`;
    if (running.filter(({ process }) => process.place === place).length >= maxPerHost)
      return `This host has ${maxPerHost} background processes at most.`;
    const added = await this.store.add(owner, {
      id,
      session,
      runId,
      lane: await this.#laneOf(call),
      place,
      host: hostname(),
      by: currentHolder("processes"),
      shown: command.shown.slice(0, maxShownLength),
      startedAt: await this.#parts.store.now(),
      timeLimitMs: command.timeLimitMs,
      stop: null,
      end: null,
      endedAt: null,
      told: null,
    });
    if (added.status === "full") return "There is no place for another background process now.";
    // Nobody can ask for its output any more. What is not removed now is later, with what else is left over.
    if (added.before?.place === place)
      await rm(this.folderOf(added.before.id), { recursive: true, force: true }).catch(() => {});
    return null;
  }

  /** Where people hear the answers of the run that starts it, if they are delivered. */
  async #laneOf({ owner, session, runId }: ToolCall): Promise<LaneKey | null> {
    const page = await this.#parts.store.reads.entries(owner, session, { limit: 200 });
    const asked = page?.entries.findLast(
      (entry) => entry.type === "message.user" && entry.runId === runId,
    );
    const lane = laneKey.safeParse(asked?.data["lane"]).data;
    return lane !== undefined && isDeliveredLane(lane) ? lane : null;
  }

  /** How one stands. `elsewhere`: only its own host can tell. */
  async stateOf(process: ProcessRecord): Promise<ProcessState | { readonly kind: "elsewhere" }> {
    if (process.end !== null) return { kind: "ended", end: process.end };
    if (process.place !== (await this.homeId())) return { kind: "elsewhere" };
    return readProcessState(this.folderOf(process.id), process, this.#parts.liveness);
  }

  /** Who minds it ends it in time; one that has not done so for long is told to. */
  enforceTimeLimit(
    { startedAt, timeLimitMs }: ProcessRecord,
    seen: ProcessState,
    now: number,
  ): void {
    if (seen.kind === "running" && now > startedAt + timeLimitMs + overtimeGraceMs)
      requestStop(seen.begun, this.#parts.liveness);
  }

  async output(
    process: ProcessRecord,
    most: number,
  ): Promise<{ text: string; isWhole: boolean } | null> {
    if (process.place !== (await this.homeId())) return null;
    return readOutput(this.folderOf(process.id), most);
  }

  /** A durable wish: its own host follows it, here and now if that is this one. */
  async stop(
    owner: OwnerId,
    session: SessionId | null,
    id: ProcessId,
    why: "asked" | "session" = "asked",
  ): Promise<StoredProcess | null> {
    for (let tries = 0; ; tries += 1) {
      const found = await this.store.find(owner, session, id);
      if (found === null || found.process.end !== null || tries === maxTries) return found;
      if (found.process.stop !== null) return this.#carryOut(found);
      await this.store.change({ ...found, process: { ...found.process, stop: why } });
    }
  }

  async #carryOut(found: StoredProcess): Promise<StoredProcess> {
    const deadline = this.#parts.clock.now() + stopTimeoutMs;
    let asked = false;
    while (this.#parts.clock.now() < deadline) {
      const seen = await this.stateOf(found.process);
      if (seen.kind === "elsewhere") return found;
      if (seen.kind === "ended") return { ...found, process: { ...found.process, end: seen.end } };
      if (seen.kind === "running" && !asked) {
        requestStop(seen.begun, this.#parts.liveness);
        asked = true;
      }
      await this.#parts.clock.sleep(pollMs);
    }
    return found;
  }
}

/** Resolves when it has begun, or could not; what became of it stands in its files. `gone`: nobody minds it. */
async function startMinder(
  folder: string,
  environment: Readonly<Record<string, string>>,
  clock: Clock,
): Promise<"heard" | "gone" | "slow"> {
  const script = fileURLToPath(new URL("minder.ts", import.meta.url));
  const minder = spawn(process.execPath, [script, folder], {
    // Of the host's environment it gets no more than what it minds.
    env: environment,
    cwd: folder,
    stdio: ["ignore", "ignore", "ignore", "ipc"],
    detached: true,
  });
  const heard = new AbortController();
  let how: "heard" | "gone" | "slow" = "slow";
  const hear = (what: "heard" | "gone") => (): void => {
    if (how === "slow") how = what;
    heard.abort();
  };
  minder.once("message", hear("heard"));
  minder.once("exit", hear("gone"));
  minder.once("error", hear("gone"));
  for (let waited = 0; !heard.signal.aborted && waited < startTimeoutMs; waited += wakeMs) {
    await clock.sleep(wakeMs, heard.signal);
    // What it has started may have put it to sleep before it could say so.
    minder.kill("SIGCONT");
  }
  if (minder.connected) minder.disconnect();
  minder.unref();
  return how;
}
