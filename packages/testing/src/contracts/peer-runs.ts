import { appendFileSync, readFileSync, existsSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import {
  type Log,
  type MemorySegment,
  type MemoryHandle,
  MemoryCommitter,
  type RunnerDeps,
  systemClock,
  type Admission,
  admitMessage,
  type CancelResult,
  type CommitResult,
  createLog,
  type ModelRequest,
  type NewInput,
  requestCancel,
  type ResumePolicy,
  type Runner,
  type Store,
  type Tool,
  trash,
} from "@holdfast/engine";
import {
  ids,
  type OwnerId,
  type RunId,
  type Seq,
  type SessionId,
  type StoredEvent,
} from "@holdfast/protocol";
import { createTool, okResult, createRunner } from "../rigs/run-rig.ts";
import {
  gate,
  type ScriptedReply,
  scriptedModel,
  type ScriptedModel,
} from "../fakes/scripted-model.ts";
import type { ProcessIdentity } from "./test-database.ts";
import { withMembers } from "./wrapped-stores.ts";

export const peerMemoryOwner = { provider: "noted", configuration: "one" } as const;

/** A provider that records what it is given in a file and never answers. */
function unansweringMemory(file: string): MemoryHandle {
  return {
    owner: peerMemoryOwner,
    async commit(batch) {
      appendFileSync(file, `${JSON.stringify(batch)}\n`);
      return new Promise(() => {});
    },
    recall: async () => [],
    close: async () => {},
  };
}

export function batchesIn(file: string): readonly MemorySegment[] {
  const lines = readFileSync(file, "utf8").split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as MemorySegment);
}

/** The deps that make a runner mark its turns and a keeper commit them as soon as they end. */
function memoryDepsFor(
  file: string,
  log: Log,
  { currentHolder, createLiveness }: ProcessIdentity,
): Pick<RunnerDeps, "memoryOwnerOf" | "onEnded"> {
  const keeper = new MemoryCommitter({
    log,
    ids,
    clock: systemClock,
    holder: () => currentHolder("memory"),
    liveness: createLiveness(),
    leaseMs: 30_000,
    providerTimeoutMs: 60_000,
    idleMs: 300_000,
    sweepMs: 60_000,
    providers: { current: () => peerMemoryOwner, open: async () => unansweringMemory(file) },
    onError: (error) => void process.stderr.write(`${String(error)}\n`),
  });
  return {
    memoryOwnerOf: () => peerMemoryOwner,
    onEnded: (owner, session) => void keeper.boundary(owner, session, "clear"),
  };
}

/** The model's replies to each prompt, call by call. Plain data, so that it can be sent to another process. */
export type Replies = Readonly<Record<string, readonly ScriptedReply[]>>;

/** The sessions of a process run concurrently, so the prompt selects the reply. */
export function repliesByPrompt(replies: Replies, fallback?: ScriptedReply): ScriptedModel {
  const asked = new Map<string, number>();
  return scriptedModel(({ messages }) => {
    const last = messages.findLast(({ role }) => role === "user");
    const prompt = last?.role === "user" ? last.text : "";
    const before = asked.get(prompt) ?? 0;
    asked.set(prompt, before + 1);
    const reply = replies[prompt]?.[before] ?? fallback;
    if (reply === undefined) throw new Error(`No reply is left for "${prompt}".`);
    return reply;
  });
}

/** Tools whose effect is a line in a file, which outlives every process. */
export function effectTools(file: string, afterEffect: "end" | "hang"): readonly Tool[] {
  const run: Tool["run"] = async ({ input, callId }, { write }) => {
    appendFileSync(file, `${JSON.stringify(input)} ${callId}\n`);
    write("begun");
    if (afterEffect === "hang") await new Promise(() => {});
    return okResult("done");
  };
  return [
    createTool("pay", run),
    createTool("read", run, { replay: "safe" }),
    createTool("note", async () => okResult("noted")),
  ];
}

export function effectsIn(file: string): { of(what: string): readonly string[] } {
  const lines = readFileSync(file, "utf8").split("\n");
  return { of: (what) => lines.filter((line) => line.startsWith(JSON.stringify(what))) };
}

export interface PeerWorkOptions {
  readonly replies: Replies;
  readonly otherwise?: ScriptedReply;
  /** A hanging model continues once this file exists. */
  readonly hangUntil?: string;
  /** Where tools record their effects. In this process they hang afterwards. */
  readonly effects?: string;
  readonly policy?: ResumePolicy;
  /** A memory that records its input in this file and never acknowledges it. Each end of a turn is a boundary. */
  readonly memory?: string;
}

/** What can be done with runs in another process, over the store that is open there. */
export interface PeerRuns {
  /** Starts a runner that polls for work. */
  work(options: PeerWorkOptions): Promise<void>;
  /** The requests that its model got. */
  requests(): Promise<readonly ModelRequest[]>;
  /** Why commits were refused there. */
  refusals(): Promise<readonly string[]>;
  admit(input: NewInput): Promise<Admission>;
  cancel(owner: OwnerId, runId: RunId): Promise<CancelResult>;
  trash(owner: OwnerId, session: SessionId): Promise<CommitResult>;
  /** Follows a session like a person's page. */
  follow(owner: OwnerId, session: SessionId, after: Seq): Promise<void>;
  /** What was shown so far, in short. */
  shown(): Promise<readonly string[]>;
  stop(): Promise<void>;
}

/** An event as one line. */
export function summarizeEvent({ seq, type, data }: StoredEvent): string {
  return `${seq} ${type} ${JSON.stringify(data)}`;
}

export function createPeerRuns(given: Store, identity: ProcessIdentity): PeerRuns {
  const { currentHolder, createLiveness } = identity;
  const refused: string[] = [];
  const store = recordingRefusals(given, refused);
  const log = createLog(store);
  const shown: string[] = [];
  let runner: Runner | undefined;
  let model: ScriptedModel | undefined;
  return {
    async work({ replies, otherwise: fallback, hangUntil, effects, policy = "resume", memory }) {
      model = repliesByPrompt(
        hangUntil === undefined
          ? replies
          : mapValues(replies, (steps) => steps.map((reply) => replaceHang(reply, hangUntil))),
        fallback,
      );
      runner = createRunner(store, log, {
        model,
        tools: effects === undefined ? [] : effectTools(effects, "hang"),
        clock: systemClock,
        deps: {
          policy,
          ...(memory !== undefined && memoryDepsFor(memory, log, identity)),
          sweepMs: 20,
          holder: () => currentHolder("runner"),
          liveness: createLiveness(),
          onError: (error) => void process.stderr.write(`${String(error)}\n`),
        },
      });
      runner.start();
    },
    requests: async () => model?.requests ?? [],
    refusals: async () => refused,
    admit: (input) => admitMessage(log, ids, input),
    cancel: (owner, runId) => requestCancel(log, ids, owner, runId),
    trash: (owner, session) =>
      trash({ log, ids, holder: () => currentHolder("api") }, { owner, session }),
    async follow(owner, session, after) {
      void (async () => {
        for await (const item of log.tail(owner, session, after)) {
          if (item.kind !== "events") continue;
          shown.push(...item.events.map(summarizeEvent));
        }
      })();
    },
    shown: async () => shown,
    async stop() {
      await runner?.stop();
    },
  };
}

function mapValues<T>(
  record: Readonly<Record<string, T>>,
  change: (value: T) => T,
): Readonly<Record<string, T>> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));
}

function replaceHang(reply: ScriptedReply, file: string): ScriptedReply {
  if (!("kind" in reply)) return reply.map((steps) => replaceHang(steps, file));
  return reply.kind === "hang" ? gate(untilFileExists(file)) : reply;
}

async function untilFileExists(file: string): Promise<void> {
  while (!existsSync(file)) await wait(2);
}

function recordingRefusals(store: Store, codes: string[]): Store {
  return withMembers(store, {
    async commit(commit) {
      const result = await store.commit(commit);
      if (result.status === "refused") codes.push(result.code);
      return result;
    },
  });
}
