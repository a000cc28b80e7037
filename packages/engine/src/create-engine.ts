import {
  type ApprovalAnswer,
  type ApprovalId,
  type IdSource,
  ids as randomIds,
  memoryOwner,
  newEvent,
  type NoticeId,
  type OwnerId,
  ownerId,
  type RunId,
  type Seq,
  type SessionId,
  withTimeout,
} from "@holdfast/protocol";
import { AgentCache, type CacheFigures, type CacheLimits } from "./agents/cache.ts";
import { type Compactor, type CompactorDeps, createCompactor } from "./context/compactor.ts";
import { IdleCompactor } from "./context/idle-compactor.ts";
import { deterministicId, shortHash } from "./hash.ts";
import { createLog, type Log } from "./log/log.ts";
import type { TailItem } from "./log/tail.ts";
import { MemoryCommitter } from "./memory/committer.ts";
import { createRecall, withPlacedAttachments } from "./memory/recall.ts";
import type { IsFromPerson } from "./memory/segment.ts";
import type { Agent, AgentFactory } from "./ports/agent.ts";
import { systemClock } from "./ports/clock.ts";
import type { MemoryHandle, MemoryOwner, MemoryProviders } from "./ports/memory.ts";
import type { Model, NamedModel } from "./ports/model.ts";
import { identityOf, type Store, StoreFailure } from "./ports/store.ts";
import type { Tool } from "./ports/tool.ts";
import type { Refused } from "./ports/commit.ts";
import { stopLooking } from "./recovery/stop-looking.ts";
import type { ResumePolicy } from "./recovery/take-over.ts";
import { type Admission, admitMessage, type NewInput } from "./run/admit.ts";
import { cachedContextBytes } from "./context/session-context.ts";
import { type AnswerDetails, answerApproval, type AnswerResult } from "./run/answer-approval.ts";
import type { RunLimits } from "./run/drive.ts";
import { findReachedLimit } from "./limits/spend-limits.ts";
import { answerText, followRun } from "./run/follow-run.ts";
import { Runner, type RunnerDeps } from "./run/runner.ts";

/** Where conversations are stored: a store, or a log on one that the caller also uses. */
export type EngineStorage = { readonly store: Store } | { readonly log: Log };

/** One model with its tools, or a factory that builds an agent for each session. */
export type EngineAgents =
  | {
      readonly model: Model | NamedModel;
      readonly tools?: readonly Tool[];
      readonly system?: string;
    }
  | { readonly agents: AgentFactory };

/** Background work after a run ends, such as titling the conversation. */
export interface AfterRun {
  notify(owner: OwnerId, session: SessionId): void;
  start?(): void;
  stop(): Promise<void>;
}

type PassedOn = Pick<
  RunnerDeps,
  | "toolPolicy"
  | "runsSharingBudget"
  | "budgets"
  | "spendLimitsOf"
  | "placeAttachments"
  | "placement"
  | "rightsOf"
  | "modeLimit"
  | "spills"
  | "onSpillState"
>;

/** Everything here has a default. */
export interface EngineSettings extends PassedOn {
  readonly clock?: RunnerDeps["clock"];
  readonly ids?: IdSource;
  readonly random?: RunnerDeps["random"];
  readonly limits?: RunnerDeps["limits"];
  /** How long a process may be silent before others take over its runs. */
  readonly leaseMs?: number;
  /** How often to scan the store for work that other processes accepted. */
  readonly sweepMs?: number;
  /** How many runs may be live in this process. */
  readonly maxRuns?: number;
  /** What happens to a run whose process died. */
  readonly resume?: ResumePolicy;
  /** How a long conversation stays within its model's window. */
  readonly compaction?: CompactorDeps;
  readonly memory?: MemoryHandle | (MemoryProviders & { readonly handle?: MemoryHandle | null });
  /** Memory commits only messages from people. By default every message counts as one. */
  readonly isFromPerson?: IsFromPerson;
  readonly afterRun?: readonly AfterRun[];
  readonly agentLimits?: CacheLimits;
  /** When memory is scarce, idle agents are closed. */
  readonly memoryPressure?: () => "enough" | "scarce";
  /** `elsewhere`: messages are admitted here, and a process that shares the store runs them. */
  readonly runs?: "here" | "elsewhere";
  /** `when asked`: nothing is written before `start` is called. */
  readonly starts?: "now" | "when asked";
  /** Called with unexpected errors. By default they are thrown and end the process. */
  readonly onError?: (error: unknown) => void;
}

export type EngineOptions = EngineStorage & EngineAgents & EngineSettings;

export interface NewMessage extends Omit<NewInput, "owner" | "clientId"> {
  readonly owner?: OwnerId;
  /** The sender's id for the message: sending it again changes nothing. By default a new id. */
  readonly clientId?: string;
  /** For a command that may be repeated: the same ids create the same message. */
  readonly ids?: IdSource;
}

export type AcceptedMessage = Extract<Admission, { status: "accepted" }> & {
  readonly session: SessionId;
};
export type SendResult = AcceptedMessage | Exclude<Admission, { status: "accepted" }>;

export interface FollowOptions {
  readonly owner?: OwnerId;
  readonly session: SessionId;
  /** The last event that the reader has seen. */
  readonly after?: Seq;
  /** Ends with the last event of this run. */
  readonly until?: RunId;
  readonly signal?: AbortSignal;
}

/** Durable conversations: an accepted message survives the process, and its run continues in the next one. */
export interface Engine {
  readonly log: Log;
  readonly runner: Runner;
  readonly memory: MemoryCommitter;
  readonly compactor: Compactor;
  readonly agents: { figures(): CacheFigures };
  /** The session with that name, created on the first call. */
  open(name: string, owner?: OwnerId): Promise<SessionId>;
  /** P1: resolves once the message is durable. Its run starts by itself. */
  send(message: NewMessage): Promise<SendResult>;
  /** P5: every event after the cursor, once and in order, including future ones. */
  follow(from: FollowOptions): AsyncIterable<TailItem>;
  /**
   * The text of a run's answer as it streams; a late reader gets the beginning at once. It ends with the run, however
   * the run ended: `follow` shows that.
   */
  answer(
    run: Pick<AcceptedMessage, "session" | "runId" | "seq">,
    owner?: OwnerId,
  ): AsyncIterable<string>;
  /** Records a person's answer to a waiting tool call. The run continues by itself. */
  answerApproval(
    approval: ApprovalId,
    decision: ApprovalAnswer,
    details?: AnswerDetails & { readonly owner?: OwnerId },
  ): Promise<AnswerResult>;
  /** Tells the engine that a session may have work, or that its run was asked to end. */
  notify(owner: OwnerId, session: SessionId): void;
  recoverLateJournals: Runner["recoverLateJournals"];
  /**
   * A person does not want to wait for what may never come: the journal of a host that is gone, or a memory provider
   * that is. One notice, or all of the session. Resolves to how much it settled.
   */
  stopWaiting(
    owner: OwnerId,
    session: SessionId,
    noticeId?: NoticeId,
  ): Promise<{ readonly status: "settled"; readonly count: number } | Refused>;
  start(): void;
  /** Releases all runs so that another process can continue them, and commits pending turns to memory. */
  stop(): Promise<void>;
  /** Stops, and closes the store. */
  close(): Promise<void>;
}

const defaults = {
  owner: ownerId.parse("owner"),
  leaseMs: 30_000,
  maxRuns: 1_000,
  limits: { steps: 100, timeMs: 60 * 60_000, modelTries: 5 },
  agentLimits: { bytes: 256 * 1024 * 1024, count: 200, idleMs: 30 * 60_000, baselines: 32 },
};
const agentCloseMs = 10_000;
const memoryTimeouts = { providerTimeoutMs: 60_000, idleMs: 5 * 60_000, sweepMs: 60_000 };
/** The next process takes over a run that has not stopped by then. */
const stopTimeoutMs = 3_000;
/** What is not committed by then waits in the store for the next process. */
const memoryDrainMs = 10_000;

export function createEngine(options: EngineOptions): Engine {
  const { clock = systemClock, ids = randomIds, random = Math.random, isFromPerson } = options;
  const { leaseMs = defaults.leaseMs, runs = "here", onError = throwLater } = options;
  const limits: RunLimits = options.limits ?? defaults.limits;
  const log = "log" in options ? options.log : createLog(options.store, { clock, ids, random });
  const { store } = log;
  const identity = identityOf(store);
  const providers = memoryProvidersOf(options.memory);

  const memory = new MemoryCommitter({
    log,
    ids,
    clock,
    holder: () => identity.holder("memory"),
    liveness: identity,
    leaseMs,
    ...memoryTimeouts,
    providers,
    ...(isFromPerson && { isFromPerson }),
    onError,
  });
  const mayCallModel = async (owner: OwnerId, session: SessionId) =>
    (await findReachedLimit({ ...options, log, limits }, { owner, session })) === null;
  const compactor = createCompactor(log, ids, options.compaction ?? {}, {
    onCompacted: (owner, session) => void memory.boundary(owner, session, "compaction"),
    mayCallModel,
  });
  const whenIdle = options.compaction?.whenIdle;
  const idleCompactor =
    whenIdle &&
    new IdleCompactor({
      log,
      clock,
      compactor,
      settings: whenIdle,
      owner: defaults.owner,
      mayCallModel,
      onError,
    });
  const afterRun = [...(options.afterRun ?? []), ...(idleCompactor ? [idleCompactor] : [])];
  const agents = new AgentCache({
    factory: "agents" in options ? options.agents : singleAgent(options),
    clock,
    limits: options.agentLimits ?? defaults.agentLimits,
    beforeClose: async (_agent, sessions) => {
      await Promise.all(sessions.map((session) => memory.evict(session)));
    },
    memory: options.memoryPressure ?? (() => "enough"),
    sizeOf: cachedContextBytes,
    closeBudgetMs: agentCloseMs,
    onError,
  });
  const { toolPolicy, placeAttachments, spills, onSpillState, rightsOf, modeLimit } = options;
  const { budgets, runsSharingBudget, spendLimitsOf } = options;
  const runner = new Runner({
    ...(toolPolicy && { toolPolicy }),
    runsSharingBudget,
    spendLimitsOf,
    budgets,
    ...(placeAttachments && { placeAttachments }),
    ...(options.placement && { placement: options.placement }),
    ...(rightsOf && { rightsOf }),
    ...(modeLimit && { modeLimit }),
    fit: compactor,
    ...(onSpillState && { onSpillState }),
    spills,
    log,
    ids,
    clock,
    random,
    work: store.work,
    liveness: identity,
    holder: () => identity.holder("runner"),
    leaseMs,
    // This process is notified of its own work; a scan finds the rest well within a lease.
    sweepMs: options.sweepMs ?? leaseMs / 6,
    maxRuns: options.maxRuns ?? defaults.maxRuns,
    policy: options.resume ?? "resume",
    limits,
    agents,
    memoryOwnerOf: ({ lane }) =>
      isFromPerson?.({ lane, clientId: null }) === false ? null : providers.current(),
    recall: withPlacedAttachments(createRecall({ providers, clock }), placeAttachments),
    onEnded(owner, session) {
      if (providers.handle) memory.register(owner, session, providers.handle);
      for (const task of afterRun) task.notify(owner, session);
    },
    onError,
  });

  let hasStarted = false;
  let stopped: Promise<void> | undefined;
  let closed: Promise<void> | undefined;

  async function stopOnce(): Promise<void> {
    const tasks = afterRun.map((task) => task.stop());
    await withTimeout({ clock, ms: stopTimeoutMs }, () => Promise.all([runner.stop(), ...tasks]));
    await memory.drain(memoryDrainMs);
    await withTimeout({ clock, ms: stopTimeoutMs }, () => memory.stop());
  }

  const engine: Engine = {
    log,
    runner,
    memory,
    compactor,
    agents,
    async open(name, owner = defaults.owner) {
      const session = await deterministicId("session", owner, name);
      const id = await deterministicId("event", owner, name, "created");
      const events = [newEvent(id, "session.created", {})];
      const result = await log.commit({ owner, session, events });
      if (result.status === "failed") throw new StoreFailure(result.code, result.message);
      if (result.status === "refused") throw new Error(result.message);
      return session;
    },
    async send({ owner = defaults.owner, ids: own = ids, ...message }) {
      const { clientId = own.make("message") } = message;
      const admission = await admitMessage(log, own, { ...message, owner, clientId });
      if (admission.status !== "accepted") return admission;
      engine.notify(owner, message.session);
      return { ...admission, session: message.session };
    },
    follow({ owner = defaults.owner, session, after = 0 as Seq, until, signal }) {
      const items = log.tail(owner, session, after, signal === undefined ? {} : { signal });
      if (until === undefined) return items;
      return followRun(store.reads, { owner, session, runId: until, after }, items);
    },
    answer({ session, runId, seq: after }, owner = defaults.owner) {
      return answerText(store.reads, { owner, session, runId, after }, (cursor) =>
        engine.follow({ owner, session, after: cursor, until: runId }),
      );
    },
    async answerApproval(approval, decision, { owner = defaults.owner, ...details } = {}) {
      const result = await answerApproval(log, ids, owner, approval, decision, details);
      if (result.status === "answered") engine.notify(owner, result.approval.session);
      return result;
    },
    notify(owner, session) {
      idleCompactor?.interrupt(session);
      if (runs === "here") runner.notify(owner, session);
      else store.signalWork?.({ owner, session });
    },
    recoverLateJournals: (...read) => runner.recoverLateJournals(...read),
    async stopWaiting(owner, session, noticeId) {
      const journals = await stopLooking({ log, ids }, owner, session, noticeId);
      if (typeof journals !== "number") return journals;
      const segments = await memory.stopWaiting(owner, session, noticeId);
      return { status: "settled", count: journals + segments };
    },
    start() {
      if (runs === "elsewhere" || hasStarted) return;
      hasStarted = true;
      runner.start();
      memory.start();
      for (const task of afterRun) task.start?.();
    },
    stop: () => (stopped ??= stopOnce()),
    close: () => (closed ??= engine.stop().then(() => store.close())),
  };
  if (options.starts !== "when asked") engine.start();
  return engine;
}

/** One agent for every session: the same model, tools and system prompt. */
function singleAgent({
  model,
  tools = [],
  system = "",
}: Exclude<EngineAgents, { readonly agents: AgentFactory }>): AgentFactory {
  const named = "stream" in model ? { name: "model", model } : model;
  const agent: Agent = {
    modelName: named.name,
    model: named.model,
    system: async () => system,
    tools: new Map(tools.map((tool) => [tool.name, tool])),
    bytes: 0,
    close: async () => {},
  };
  const signature = `model=${shortHash(named.name)} system=${shortHash(system)}`;
  return { signature: async () => signature, build: async () => agent };
}

function memoryProvidersOf(
  memory: EngineSettings["memory"],
): MemoryProviders & { readonly handle?: MemoryHandle | null } {
  if (memory === undefined) return { current: () => null, open: async () => null };
  if (!("commit" in memory)) return memory;
  const checked = memoryOwner.safeParse(memory.owner);
  if (!checked.success) {
    const [issue] = checked.error.issues;
    const where = ["memory", "owner", ...(issue?.path ?? [])].join(".");
    throw new TypeError(`${where}: ${issue?.message}.`);
  }
  const isOwn = ({ provider, configuration }: MemoryOwner) =>
    provider === memory.owner.provider && configuration === memory.owner.configuration;
  return {
    handle: memory,
    current: () => memory.owner,
    open: async (owner) => (isOwn(owner) ? memory : null),
  };
}

/** An unhandled error must not go unnoticed. */
function throwLater(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
