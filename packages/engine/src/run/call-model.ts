import {
  json,
  type MessageId,
  type ToolSpec,
  laneKey,
  decodeEvent,
  type NewEvent,
  type OwnerId,
  type RunId,
  type SessionId,
  type StoredEvent,
} from "@holdfast/protocol";
import type { Clock } from "../ports/clock.ts";
import {
  type Model,
  type ModelCall,
  type ModelEvent,
  type ModelFailure,
  type ModelRequest,
  type ModelUsage,
  type NamedModel,
} from "../ports/model.ts";
import type { AnswerImages } from "./answer-images.ts";
import type { Journal } from "./journal.ts";
import { ModelStream } from "./model-stream.ts";
import type { RunHandle } from "./run-handle.ts";
import { sizeLimits, jsonSize } from "./settle.ts";
import type { Tool } from "../ports/tool.ts";
import type { SpillEnd } from "../ports/spill.ts";
import { StoreFailure } from "../ports/store.ts";
import { type Framed } from "../context/prefix.ts";
import { shortHash } from "../hash.ts";
import {
  type RunContext,
  emptyCachedContext,
  type CachedContext,
} from "../context/session-context.ts";
import type { AgentCache } from "../agents/cache.ts";
import type { Agent, AgentSession } from "../ports/agent.ts";
import type { Reads } from "../ports/reads.ts";

/** How a model call ended and which tools it called. Its output is in the journal. */
export interface CallEnd {
  /** `abandoned`: it ignored its signal and may still be running. */
  readonly end: "done" | "stopped" | "abandoned" | { readonly failure: ModelFailure };
  readonly calls: readonly ModelCall[];
  readonly usage: ModelUsage | null;
}

/** Streams one model call into the journal. Its pictures are collected in `images`. */
export async function callModel(
  run: RunHandle,
  model: Model,
  request: ModelRequest,
  deps: {
    readonly journal: Journal;
    readonly images: AnswerImages;
    readonly messageId: MessageId;
    readonly clock: Clock;
  },
): Promise<CallEnd> {
  const { journal, images, messageId, clock } = deps;
  const calls: ModelCall[] = [];
  let size = 0;
  let usage: ModelUsage | null = null;
  let part = 0;
  let open: "text" | "reasoning" | null | "none yet" = "none yet";
  let backpressure: Promise<void> | undefined;
  const { signal } = run;
  await using stream = new ModelStream(() => model.stream(request, signal), signal, clock);
  for (;;) {
    const event = await stream.next();
    if (signal.aborted) {
      return { end: stream.isAbandoned ? "abandoned" : "stopped", calls, usage };
    }
    if (event === null) return { end: "done", calls, usage };
    switch (event.kind) {
      case "text":
      case "reasoning":
        if (event.text === "" && event.opaque === undefined) break;
        size += jsonSize(event.text) + (event.opaque ? jsonSize(event.opaque) : 0);
        if (size > sizeLimits.message) return { end: { failure: tooLong }, calls, usage };
        if (open !== "none yet" && open !== event.kind) part += 1;
        open = event.opaque === undefined ? event.kind : null;
        backpressure = journal.addText({ messageId, part, as: event.kind, ...textFields(event) });
        if (backpressure !== undefined) await backpressure;
        if (journal.stopped !== null) return { end: { failure: journal.stopped }, calls, usage };
        break;
      case "call":
        // Checked before measuring: input too deeply nested to store is also too deep to serialise.
        if (!json.safeParse(event.input).success)
          return { end: { failure: malformedCall }, calls: [], usage };
        size += jsonSize(event);
        if (
          size > sizeLimits.message ||
          calls.length === sizeLimits.calls ||
          jsonSize(event.input) > sizeLimits.callInput
        )
          return { end: { failure: tooMuchAsked }, calls: [], usage };
        calls.push(withCallId(run, event));
        break;
      case "image":
        images.add(event);
        // Text that follows is another paragraph.
        if (open !== "none yet") open = null;
        break;
      case "usage":
        usage = event.usage;
        break;
      case "failed":
        return { end: { failure: event.failure }, calls, usage };
    }
  }
}

/** A spill holds no pictures: an answer that has some is not complete in it, so the model is asked again. */
export function spillEndOf(
  model: string,
  { end, calls, usage }: CallEnd,
  { isEmpty }: AnswerImages,
): SpillEnd {
  if (end === "abandoned" || (end === "done" && !isEmpty))
    return { how: "stopped", model, calls: [], usage };
  const outcome = typeof end === "string" ? end : "failed";
  return { how: outcome, model, calls, usage };
}

function textFields({ text, opaque }: Extract<ModelEvent, { kind: "text" | "reasoning" }>) {
  return { text, ...(opaque && { opaque }) };
}

function withCallId(run: RunHandle, event: Extract<ModelEvent, { kind: "call" }>): ModelCall {
  const { kind: _, ...call } = event;
  return { callId: run.ids.make("call"), ...call };
}

const tooLong: ModelFailure = {
  class: "fatal",
  code: "answer_too_long",
  message: "The answer was longer than can be kept. What came before is above.",
};
const tooMuchAsked: ModelFailure = {
  class: "fatal",
  code: "calls_too_large",
  message: "The model asked for more, or for larger, tool calls than can be kept. None was run.",
};
const malformedCall: ModelFailure = {
  class: "fatal",
  code: "call_malformed",
  message: "The model asked for a tool in a form that cannot be kept. None was run.",
};

export interface StepDeps {
  /** The agent that answers, or why it could not be built. */
  readonly agent: Agent | Error;
  /** The session's system prompt as of now. */
  readonly system: () => Promise<string>;
  /** Identifies everything the frame is made from: a session keeps its frame while this is the same. */
  readonly signature: string;
  readonly tools: ReadonlyMap<string, Tool>;
}

export interface ChosenModel extends NamedModel {
  /** The model to fall back to if this one cannot answer. */
  readonly next: string | null;
  /** Whether it replaces the session's own model. */
  readonly isFallback: boolean;
}

export interface PreparedStep extends ChosenModel {
  readonly framed: Extract<Framed, { status: "framed" }>;
}

/**
 * Gathers what a step needs before its model can be called. A model that cannot be opened or a prompt that cannot be
 * built is reported like any other model failure, and not retried: it would only fail again later.
 */
export async function prepareStep(
  { agent, system, signature, tools }: StepDeps,
  context: RunContext,
  fallback: string | null,
): Promise<PreparedStep | ModelFailure> {
  try {
    if (agent instanceof Error) throw agent;
    const chosen = chooseModel(agent, fallback);
    const specs = [...tools.values()].map(toolSpecOf);
    const own = signatureOf(signature, specs);
    const framed = await context.frame({
      signature: shortSignature(chosen.isFallback ? signatureForFallback(own, chosen.name) : own),
      tools: specs,
      system,
    });
    if (framed.status === "failed") throw new StoreFailure(framed.code, framed.message);
    return { ...chosen, framed };
  } catch (error) {
    // A store that cannot be read right now is no reason to end the run.
    if (error instanceof StoreFailure) throw error;
    const message = error instanceof Error ? error.message : String(error);
    return { class: "fatal", code: "not_set_up", message };
  }
}

/** A signature made of named parts keeps the names, so that a change can be attributed to a part. */
function signatureOf(source: string, tools: readonly ToolSpec[]): string {
  const agent = /^(?:[a-z]+=[0-9a-f]+ ?)+$/u.test(source) ? source : `agent=${shortHash(source)}`;
  return `${agent} tools=${shortHash(JSON.stringify(tools))}`;
}

const maxSignatureLength = 200;

/** With many parts the hashes are shortened: a frame stores no longer signature. */
function shortSignature(signature: string): string {
  if (signature.length <= maxSignatureLength) return signature;
  const short = signature.replaceAll(/=(?<start>[0-9a-f]{8})[0-9a-f]+/gu, "=$<start>");
  return short.length <= maxSignatureLength ? short : `all=${shortHash(signature)}`;
}

/** P9: another model has cached nothing of the previous requests; the frame records that the model changed. */
function signatureForFallback(signature: string, name: string): string {
  const parts = signature.split(" ").filter((part) => !part.startsWith("model="));
  return [`model=${shortHash(name)}`, ...parts].join(" ");
}

function toolSpecOf({ name, description, input }: Tool): ToolSpec {
  return { name, description, input };
}

/** Provides agents for runs. */
export type RunAgents = Pick<AgentCache<CachedContext>, "borrow" | "evictIfNeeded" | "close">;

/** What a run works with: an agent of its lane, and that agent's cached context of the session. */
export interface BorrowedRunAgent {
  readonly stepDeps: StepDeps;
  readonly cachedContext: CachedContext;
  /** Returns the agent. Its cached context is kept only if the run ended by itself. */
  release(): void;
}

/** If the agent cannot be built, the run fails with the reason, as with any model that cannot be opened. */
export async function borrowAgent(agents: RunAgents, run: RunHandle): Promise<BorrowedRunAgent> {
  const { owner, session, versionBefore: version } = run;
  const lane = run.lane ?? laneKey.parse(`session:${session}`);
  try {
    const borrowed = await agents.borrow({ owner, session, lane, version });
    const { agent, cached = emptyCachedContext() } = borrowed;
    const { signature, tools } = await partsFor(borrowed, { owner, session });
    const system = () => agent.system({ owner, session });
    return {
      stepDeps: { agent, system, signature, tools },
      cachedContext: cached,
      release() {
        borrowed.release(run.lost === "ended" ? { version: run.version, cached } : undefined);
      },
    };
  } catch (error) {
    const reason = error instanceof Error ? error : new Error(String(error));
    return {
      stepDeps: { agent: reason, system: async () => "", signature: "", tools: new Map() },
      cachedContext: emptyCachedContext(),
      release() {},
    };
  }
}

/** What the agent has for this session. */
async function partsFor(
  borrowed: Awaited<ReturnType<RunAgents["borrow"]>>,
  session: AgentSession,
): Promise<Pick<StepDeps, "signature" | "tools">> {
  const { agent } = borrowed;
  try {
    const signature = (await agent.frameSignature?.(session)) ?? borrowed.signature;
    return { signature, tools: (await agent.toolsFor?.(session)) ?? agent.tools };
  } catch (error) {
    borrowed.release();
    throw error;
  }
}

const fallbackNoticeKind = "model_fallback";

/** The fallback model this run currently uses. It is read from the log, so a take-over uses the same one. */
export function currentFallback(entries: readonly StoredEvent[], runId: RunId): string | null {
  const names = entries.flatMap((entry) =>
    entry.runId === runId ? (fallbackNamedIn(entry) ?? []) : [],
  );
  return names.at(-1) ?? null;
}

function fallbackNamedIn(entry: StoredEvent): string | null {
  const decoded = entry.type === "notice.added" ? decodeEvent(entry) : null;
  if (decoded?.kind !== "known" || decoded.event.type !== "notice.added") return null;
  const { kind: noticeKind, details } = decoded.event.data;
  return noticeKind === fallbackNoticeKind && typeof details?.["to"] === "string"
    ? details["to"]
    : null;
}

const pageSize = 200;

/**
 * Whether the run switched to a fallback that has not been called yet: it must not pay for the tries of the model
 * before.
 */
export async function awaitsFallback(
  reads: Pick<Reads, "events">,
  { owner, session, runId }: { owner: OwnerId; session: SessionId; runId: RunId },
  entries: readonly StoredEvent[],
): Promise<boolean> {
  const isSwitch = (entry: StoredEvent) => entry.runId === runId && fallbackNamedIn(entry) !== null;
  let after = entries.findLast(isSwitch)?.seq;
  while (after !== undefined) {
    const page = await reads.events(owner, session, { after, limit: pageSize });
    const events = page?.events ?? [];
    if (events.some((event) => event.type === "step.started" && event.runId === runId))
      return false;
    const last = page?.more === true ? events.at(-1)?.seq : undefined;
    if (last === undefined) return true;
    after = last;
  }
  return false;
}

/** Uses the session's own model if the chain no longer holds the fallback's name. */
function chooseModel(
  { modelName, model: own, fallbacks = [] }: Agent,
  fallback: string | null,
): ChosenModel {
  const chain = { name: modelName, model: own };
  const all = [chain, ...fallbacks];
  const at = Math.max(
    0,
    all.findIndex(({ name }) => name === fallback),
  );
  const { name, model } = all[at] ?? chain;
  return { name, model, next: all[at + 1]?.name ?? null, isFallback: at > 0 };
}

/** With a fallback available, longer waits are skipped. */
const maxRetryWaitMs = 30_000;

/**
 * Whether another model may answer instead of a failed one: it is unreachable, overloaded or rejects the key. A model
 * that refused, or that got a malformed or too long request, has answered.
 */
export function mayFallBack({ class: failureClass }: ModelFailure): boolean {
  return failureClass === "retryable" || failureClass === "overloaded" || failureClass === "auth";
}

export function isTooLongToWait({ retryAfterMs = 0 }: ModelFailure): boolean {
  return retryAfterMs > maxRetryWaitMs;
}

export function fallbackNotice(
  run: RunHandle,
  from: string,
  to: string,
  { code, message }: ModelFailure,
): NewEvent {
  return run.event("notice.added", {
    noticeId: run.ids.make("notice"),
    kind: fallbackNoticeKind,
    text: `${from} cannot answer (${code}): ${message} ${to} answers in its place until this turn is over.`,
    details: { from, to, code },
  });
}
