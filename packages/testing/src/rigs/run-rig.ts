import {
  createIds,
  type RunId,
  type StoredEvent,
  decodeEvent,
  type Part,
} from "@holdfast/protocol";
import {
  createLog,
  type Log,
  type Clock,
  type Holder,
  type Model,
  type RunRow,
  type Store,
  type Tool,
  type Admission,
  admitMessage,
  type NewInput,
  Runner,
  type RunnerDeps,
  type ModelMessage,
  type ToolResult,
} from "@holdfast/engine";
import { type AgentSource, uncachedAgents } from "../fakes/uncached-agents.ts";
import { aHolder } from "../fixtures/factories.ts";
import { manualClock, nextTurn } from "../fakes/manual-clock.ts";
import { type TestSession, openTestSession, assertPresent } from "../fixtures/open-session.ts";

/** What a test overrides: dependencies of the runner, or parts of its agents. */
export type RigDeps = Partial<RunnerDeps & AgentSource>;

export interface RunRigOptions {
  readonly model: Model;
  readonly tools?: readonly Tool[];
  readonly holder?: Holder;
  readonly dead?: (holder: Holder) => boolean;
  readonly clock?: Clock;
  readonly deps?: RigDeps;
}

/** A runner over a store, with everything around it controlled by the test. */
export interface RunRig {
  readonly log: Log;
  readonly runner: Runner;
  readonly chat: TestSession;
  say(text: string, rest?: Partial<NewInput>): Promise<Extract<Admission, { status: "accepted" }>>;
  /** Notifies the runner of the session, and waits until it is idle. */
  work(): Promise<void>;
  run(id: RunId): Promise<RunRow>;
  entries(): Promise<readonly StoredEvent[]>;
}

const failOnError = (error: unknown): never => {
  throw error;
};

export function createRunner(store: Store, log: Log, options: RunRigOptions): Runner {
  const { model, tools = [], holder, dead = () => false, clock = manualClock() } = options;
  return new Runner({
    log,
    ids: createIds(),
    work: store.work,
    holder: () => holder ?? aHolder(),
    leaseMs: 30_000,
    clock,
    random: () => 0.5,
    limits: { steps: 20, timeMs: 3_600_000, modelTries: 3 },
    agents: uncachedAgents({
      tools: new Map(tools.map((tool) => [tool.name, tool])),
      modelFor: async () => ({ name: "scripted", model }),
      system: async () => "You are being tested.",
      ...options.deps,
    }),
    liveness: { isDead: (other) => (dead(other) ? "dead" : "unknown") },
    policy: "resume",
    sweepMs: 1_000,
    maxRuns: 100,
    onError: failOnError,
    ...options.deps,
  });
}

export async function openRunRig(store: Store, options: RunRigOptions): Promise<RunRig> {
  const log = createLog(store);
  const ids = createIds();
  const chat = await openTestSession(store);
  const runner = createRunner(store, log, options);
  let said = 0;
  return {
    log,
    runner,
    chat,
    async say(text, rest = {}) {
      said += 1;
      const { owner, session } = chat;
      const input = { owner, session, clientId: `message-${said}`, text, ...rest };
      const admission = await admitMessage(log, ids, input);
      if (admission.status !== "accepted") throw new Error(JSON.stringify(admission));
      return admission;
    },
    async work() {
      runner.notify(chat.owner, chat.session);
      await runner.idle();
      await nextTurn();
    },
    run: async (id) => assertPresent(await store.reads.run(chat.owner, id)),
    entries: () => chat.entries(),
  };
}

/** The conversation in short: role and text, tools with their outcome. Without the initial context. */
export function transcriptLines(entries: readonly StoredEvent[]): string[] {
  const shown = entries.filter(({ type }) => type !== "context.framed");
  return shown.map((entry) => {
    const decoded = decodeEvent(entry);
    if (decoded.kind !== "known") return entry.type;
    const { event } = decoded;
    switch (event.type) {
      case "notice.added":
        return `notice: ${event.data.kind}`;
      case "message.user":
      case "message.assistant":
      case "message.tool":
        return `${event.type.replace("message.", "")}: ${event.data.parts.map(partLine).join("|")}`;
      default:
        return event.type;
    }
  });
}

function partLine(part: Part): string {
  switch (part.type) {
    case "text":
      return part.text;
    case "tool_call":
      return `calls ${part.name}`;
    case "tool_result":
      return `${part.outcome} ${part.output}`;
    default:
      return part.type;
  }
}

/** A message of a request in short: its role and text. */
export function modelMessageLine(message: ModelMessage): string {
  return `${message.role}: ${modelMessageText(message)}`;
}

export function modelMessageText(message: ModelMessage): string {
  if (message.role === "tool") return message.output;
  if (message.role !== "assistant") return message.text;
  return message.parts.map((part) => (part.kind === "text" ? part.text : "")).join("");
}

/** A promise that the test resolves. */
export function createGate(): { readonly promise: Promise<void>; readonly open: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { promise, open: resolve };
}

/** Polls with growing intervals. Fails before the test's own timeout. */
export async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  const deadline = performance.now() + 40_000;
  for (let attempts = 0; !(await condition()); attempts += 1) {
    if (performance.now() > deadline) throw new Error("The condition was never met.");
    await (attempts < 100 ? nextTurn() : new Promise((resolve) => setTimeout(resolve, 5)));
  }
}

/** Resolves when this much text is durable. */
export async function untilStreamed({ chat }: Pick<RunRig, "chat">, text: string): Promise<void> {
  await until(async () => JSON.stringify(await chat.events()).includes(text));
}

/** Resolves when an event of that type is durable. */
export async function untilRecorded({ chat }: Pick<RunRig, "chat">, type: string): Promise<void> {
  await until(async () => (await chat.events()).some((event) => event.type === type));
}

export function createTool(name: string, run: Tool["run"], rest: Partial<Tool> = {}): Tool {
  return { name, description: name, input: {}, replay: "never", timeLimitMs: 60_000, run, ...rest };
}

export function okResult(output: string): ToolResult {
  return { outcome: "ok", output };
}
