import type { Tool } from "../ports/tool.ts";
import {
  type ToolSpec,
  laneKey,
  decodeEvent,
  type NewEvent,
  type OwnerId,
  type RunId,
  type SessionId,
  type StoredEvent,
} from "@holdfast/protocol";
import { type ModelFailure, type NamedModel } from "../ports/model.ts";
import { StoreFailure } from "../ports/store.ts";
import { type Framed } from "../context/prefix.ts";
import { shortHash } from "../hash.ts";
import { type RunContext, emptyCachedContext, type CachedContext } from "./run-context.ts";
import type { RunHandle } from "./run-handle.ts";
import type { AgentCache } from "../agents/cache.ts";
import type { Agent } from "../ports/agent.ts";
import type { Reads } from "../ports/reads.ts";

export interface StepDeps {
  /** The agent that answers, or why it could not be built. */
  readonly agent: Agent | Error;
  /** Identifies everything the agent was built from: a session keeps its frame while this is the same. */
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
  { agent, signature, tools }: StepDeps,
  context: RunContext,
  fallback: string | null,
): Promise<PreparedStep | ModelFailure> {
  try {
    if (agent instanceof Error) throw agent;
    const chosen = chooseModel(agent, fallback);
    const specs = [...tools.values()].map(toolSpecOf);
    const own = signatureOf(signature, specs);
    const framed = await context.frame({
      signature: chosen.isFallback ? signatureForFallback(own, chosen.name) : own,
      tools: specs,
      system: agent.system,
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

/** P9: another model has cached nothing of the previous requests; the frame records that the model changed. */
function signatureForFallback(signature: string, name: string): string {
  const parts = signature.split(" ").filter((part) => !part.startsWith("model="));
  return [`model=${shortHash(name)}`, ...parts].join(" ");
}

function toolSpecOf({ name, description, input }: Tool): ToolSpec {
  return { name, description, input };
}

/** Where runs get their agents from. */
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
    const { agent, signature, cached = emptyCachedContext() } = borrowed;
    return {
      stepDeps: { agent, signature, tools: agent.tools },
      cachedContext: cached,
      release() {
        borrowed.release(run.lost === "ended" ? { version: run.version, cached } : undefined);
      },
    };
  } catch (error) {
    const reason = error instanceof Error ? error : new Error(String(error));
    return {
      stepDeps: { agent: reason, signature: "", tools: new Map() },
      cachedContext: emptyCachedContext(),
      release() {},
    };
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
