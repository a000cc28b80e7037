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
import type { AgentCache, BorrowedAgent } from "../agents/cache.ts";
import type { Reads } from "../ports/reads.ts";

export interface StepDeps {
  /** The model that a session's next call goes to. */
  readonly modelFor: (run: RunHandle) => Promise<ModelChain>;
  /** The system prompt as it would be today. A session that has one keeps it while the signature is the same. */
  readonly system: (run: RunHandle) => Promise<string>;
  /** Of what the system prompt is made from; without it, of the prompt itself. */
  readonly signature?: (run: RunHandle) => Promise<string>;
  readonly tools: ReadonlyMap<string, Tool>;
}

export interface PreparedStep extends ChosenModel {
  readonly framed: Extract<Framed, { status: "framed" }>;
}

/**
 * What a step needs before its model can be asked. A model that cannot be opened and a prompt that cannot be made are
 * told to the person like every other failure of a model; trying again would tell them the same thing later.
 */
export async function prepareStep(
  deps: StepDeps,
  run: RunHandle,
  context: RunContext,
  standIn: string | null,
): Promise<PreparedStep | ModelFailure> {
  try {
    const chosen = chooseModel(await deps.modelFor(run), standIn);
    const framed = await context.frame(await frameSource(deps, run, chosen));
    if (framed.status === "failed") throw new StoreFailure(framed.code, framed.message);
    return { ...chosen, framed };
  } catch (error) {
    // A store that cannot be read now is no reason to end the run.
    if (error instanceof StoreFailure) throw error;
    const message = error instanceof Error ? error.message : String(error);
    return { class: "fatal", code: "not_set_up", message };
  }
}

async function frameSource(deps: StepDeps, run: RunHandle, chosen: ChosenModel) {
  const tools = [...deps.tools.values()].map(toolSpecOf);
  const system = () => deps.system(run);
  const named = deps.signature === undefined ? await system() : await deps.signature(run);
  const signature = signatureOf(named, tools);
  return {
    signature: chosen.isFallback ? signatureForFallback(signature, chosen.name) : signature,
    tools,
    system,
  };
}

/** A signature that names its parts keeps their names, so that a change can be told by them. */
function signatureOf(named: string, tools: readonly ToolSpec[]): string {
  const agent = /^(?:[a-z]+=[0-9a-f]+ ?)+$/u.test(named) ? named : `agent=${shortHash(named)}`;
  return `${agent} tools=${shortHash(JSON.stringify(tools))}`;
}

/** P9: another model keeps nothing of what was sent to the one before; the frame says that it is another. */
function signatureForFallback(signature: string, name: string): string {
  const parts = signature.split(" ").filter((part) => !part.startsWith("model="));
  return [`model=${shortHash(name)}`, ...parts].join(" ");
}

function toolSpecOf({ name, description, input }: Tool): ToolSpec {
  return { name, description, input };
}

export type RunAgentCache = AgentCache<CachedContext>;

/** What a run works with: an agent of its lane, and what that agent knows of the run's session. */
export interface BorrowedRunAgent {
  readonly stepDeps: StepDeps;
  readonly cachedContext: CachedContext;
  /** Gives the agent back. What it knows of the session holds only if the run has come to its own end. */
  release(): void;
}

export async function borrowAgent(
  agents: RunAgentCache,
  run: RunHandle,
): Promise<BorrowedRunAgent> {
  const { owner, session, versionBefore: version } = run;
  const lane = run.lane ?? laneKey.parse(`session:${session}`);
  try {
    return borrowedRunAgent(await agents.borrow({ owner, session, lane, version }), run);
  } catch (error) {
    return failedRunAgent(error);
  }
}

function borrowedRunAgent(
  borrowed: BorrowedAgent<CachedContext>,
  run: RunHandle,
): BorrowedRunAgent {
  const { agent, signature } = borrowed;
  const known = borrowed.kept ?? emptyCachedContext();
  return {
    stepDeps: {
      modelFor: async () => ({
        name: agent.modelName,
        model: agent.model,
        ...(agent.fallbacks && { fallbacks: agent.fallbacks }),
      }),
      system: agent.system,
      signature: async () => signature,
      tools: agent.tools,
    },
    cachedContext: known,
    release() {
      const { version } = run;
      borrowed.release(run.lost === "ended" ? { version, kept: known } : undefined);
    },
  };
}

/** The run fails with what kept its agent from being built, as with any model that cannot be opened. */
function failedRunAgent(error: unknown): BorrowedRunAgent {
  const reject = async (): Promise<never> => {
    throw error instanceof Error ? error : new Error(String(error));
  };
  return {
    stepDeps: { modelFor: reject, system: reject, tools: new Map() },
    cachedContext: emptyCachedContext(),
    release() {},
  };
}

/** Who answers a session's next call, and who does when that one cannot. */
export interface ModelChain extends NamedModel {
  readonly fallbacks?: readonly NamedModel[];
}

export interface ChosenModel extends NamedModel {
  /** Who is asked when this one cannot answer. */
  readonly next: string | null;
  /** Whether it stands in for the session's own. */
  readonly isFallback: boolean;
}

const fallbackNoticeKind = "model_fallback";

/** Who stands in for the session's model in this run. It is read from the log: whoever takes the run over asks the same one. */
export function currentFallback(entries: readonly StoredEvent[], runId: RunId): string | null {
  const names = entries.flatMap((entry) =>
    entry.runId === runId ? (fallbackNamedIn(entry) ?? []) : [],
  );
  return names.at(-1) ?? null;
}

function fallbackNamedIn(entry: StoredEvent): string | null {
  const decoded = entry.type === "notice.added" ? decodeEvent(entry) : null;
  if (decoded?.kind !== "known" || decoded.event.type !== "notice.added") return null;
  const { kind: told, details } = decoded.event.data;
  return told === fallbackNoticeKind && typeof details?.["to"] === "string" ? details["to"] : null;
}

const pageSize = 200;

/**
 * Whether the run was passed on to one who stands in, and nobody has asked that one yet: what the model before it has used of
 * the tries is not for it to pay.
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

/** A name that the chain does not hold any more is nobody's: then the session's own model answers. */
function chooseModel(chain: ModelChain, standIn: string | null): ChosenModel {
  const all = [chain, ...(chain.fallbacks ?? [])];
  const at = Math.max(
    0,
    all.findIndex(({ name }) => name === standIn),
  );
  const { name, model } = all[at] ?? chain;
  return { name, model, next: all[at + 1]?.name ?? null, isFallback: at > 0 };
}

/** A longer wait is not waited for where somebody else can answer. */
const maxRetryWaitMs = 30_000;

/**
 * Whether another model may answer in place of one that has failed: it is out of reach, overloaded, or does not take the
 * key. One that refuses, or was asked something malformed or too long, has answered.
 */
export function mayFallBack({ class: why }: ModelFailure): boolean {
  return why === "retryable" || why === "overloaded" || why === "auth";
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
