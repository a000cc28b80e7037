import {
  type OwnerId,
  type SessionId,
  decodeEvent,
  type KnownEvent,
  type RequestRecord,
  type RunId,
  type Seq,
} from "@holdfast/protocol";
import type { CountTokens } from "../ports/background-models.ts";
import type { Reads, UsageTotals } from "../ports/reads.ts";
import { buildContext, type FrameBytes } from "./build-context.ts";
import { readFrame } from "./prefix.ts";
import { type ContextEntries, readContext } from "./session-context.ts";
import { newestFirst } from "../log/read-views.ts";

export const contextKinds = ["system", "tools", "summary", "user", "assistant", "tool"] as const;
export type ContextKind = (typeof contextKinds)[number];

/** Which share of what was sent came from the provider's cache; `null` if nothing was sent, or nobody counted. */
export interface CountedUsage extends UsageTotals {
  readonly hitShare: number | null;
}

export interface DescribedTurn extends PastTurn {
  readonly usage: CountedUsage;
}

/** What a session's model gets, in figures, and what it has cost so far. */
export interface ContextReport {
  readonly model: string | null;
  /** Estimates, by what the tokens are spent on. */
  readonly tokens: Readonly<Record<ContextKind, number>>;
  /** The system prompt, as the session's frame has it. */
  readonly system: string;
  /** The epoch the context currently starts with; 0 is the conversation itself. */
  readonly epoch: number;
  /** Newest first. */
  readonly epochs: readonly PastEpoch[];
  readonly turns: readonly DescribedTurn[];
  readonly totals: CountedUsage;
  /** There is more than was scanned. */
  readonly more: boolean;
}

export interface DescribeOptions {
  readonly count: CountTokens;
  /** The maximum, newest first. */
  readonly turns: number;
}

const noFrame: FrameBytes = { system: "", tools: [] };

/** For a person who wants to know what fills the window and what was paid for twice. `null`: no such session. */
export async function describeContext(
  reads: Reads,
  owner: OwnerId,
  session: SessionId,
  { count, turns: maxTurns }: DescribeOptions,
): Promise<ContextReport | null> {
  const row = await reads.session(owner, session);
  const entries = row && (await readContext(reads, owner, session));
  if (row === null || entries === null) return null;
  const frame = entries.frame && (await readFrame({ reads }, owner, entries.frame));
  const past = await readRequests(reads, owner, session, { turns: maxTurns, epochs: row.epoch });
  const usage = await Promise.all(past.turns.map(({ runId }) => reads.usage(owner, { runId })));
  const turns = past.turns.map((turn, index) => ({
    ...turn,
    usage: withHitShare(usage[index] ?? noUsage),
  }));
  return {
    model: row.model ?? turns[0]?.model ?? null,
    tokens: tokensByKind(entries, frame ?? noFrame, count),
    system: frame?.system ?? "",
    epoch: entries.epoch?.number ?? 0,
    epochs: past.epochs,
    turns,
    totals: withHitShare(await reads.usage(owner, { session })),
    more: past.more,
  };
}

/** Roughly how many tokens are sent to the session's model. */
export function contextTokens(
  entries: ContextEntries,
  frame: FrameBytes | null,
  count: CountTokens,
): number {
  const tokens = tokensByKind(entries, frame ?? noFrame, count);
  return Object.values(tokens).reduce((sum, counted) => sum + counted, 0);
}

function tokensByKind(
  entries: ContextEntries,
  frame: FrameBytes,
  count: CountTokens,
): Record<ContextKind, number> {
  const tokens = { system: 0, tools: 0, summary: 0, user: 0, assistant: 0, tool: 0 };
  const { messages, blocks } = buildContext(entries, frame, new Map());
  tokens.tools = frame.tools.length === 0 ? 0 : count(JSON.stringify(frame.tools));
  for (const [index, message] of messages.entries()) {
    // The tools are a block of their own but not a message.
    const isSummary = index > 0 && blocks[index + 1]?.seq === entries.epoch?.seq;
    const kind = isSummary ? "summary" : message.role === "notice" ? "user" : message.role;
    tokens[kind] += count(message.role === "system" ? message.text : JSON.stringify(message));
  }
  return tokens;
}

const noUsage: UsageTotals = {
  input: 0,
  output: 0,
  cacheRead: 0,
  cacheWrite: 0,
  costMicros: 0,
  calls: 0,
};

/** Providers differ in whether `input` includes cached tokens: the larger figure is what was sent. */
function withHitShare(usage: UsageTotals): CountedUsage {
  const sent = Math.max(usage.input, usage.cacheRead + usage.cacheWrite);
  return { ...usage, hitShare: sent === 0 ? null : usage.cacheRead / sent };
}

/** P9: a request that did not extend the previous one: from which block on, and what explains it. */
export interface PrefixChange {
  /** The answer the request was made for. */
  readonly seq: Seq;
  readonly block: number;
  readonly part: "system" | "tools" | "conversation";
  readonly explainedBy: {
    readonly seq: Seq;
    readonly type: string;
    readonly cause: string | null;
  } | null;
}

/** A run, as far as its requests were scanned. */
export interface PastTurn {
  readonly runId: RunId;
  readonly seq: Seq;
  readonly at: number;
  readonly model: string | null;
  readonly requests: number;
  readonly changes: readonly PrefixChange[];
}

export interface PastEpoch {
  readonly epoch: number;
  readonly seq: Seq;
  readonly at: number;
  /** `null` for one that restores another. */
  readonly covers: { readonly from: Seq; readonly to: Seq } | null;
  readonly restores: number | null;
}

export interface PastRequests {
  readonly turns: readonly PastTurn[];
  readonly epochs: readonly PastEpoch[];
  readonly more: boolean;
}

/** How far back a long history is scanned: the panel shows what is recent. */
const maxEntriesScanned = 2_000;

type Answer = Extract<KnownEvent, { type: "message.assistant" }>;

/** What the scanned entries say about past requests, newest first. */
async function readRequests(
  reads: Reads,
  owner: OwnerId,
  session: SessionId,
  limits: { readonly turns: number; readonly epochs: number },
): Promise<PastRequests> {
  const answers = new Map<RunId, Answer[]>();
  const epochs: PastEpoch[] = [];
  let seen = 0;
  let more = false;
  for await (const entry of newestFirst(reads, owner, session)) {
    const isFull = answers.size === limits.turns;
    if (seen === maxEntriesScanned || (isFull && epochs.length >= limits.epochs)) {
      more = true;
      break;
    }
    seen += 1;
    if (!entry.type.startsWith("context.") && entry.type !== "message.assistant") continue;
    const decoded = decodeEvent(entry);
    if (decoded.kind !== "known") continue;
    const { event } = decoded;
    const epoch = epochOf(event);
    if (epoch !== null) epochs.push(epoch);
    if (event.type !== "message.assistant" || event.runId === undefined) continue;
    const known = answers.get(event.runId);
    if (known !== undefined) known.push(event);
    else if (isFull) more = true;
    else answers.set(event.runId, [event]);
  }
  const describe = (found: readonly [RunId, Answer[]]) => turnOf(reads, owner, session, found);
  return { turns: await Promise.all([...answers].map(describe)), epochs, more };
}

function epochOf(event: KnownEvent): PastEpoch | null {
  const { seq, at } = event;
  if (event.type === "context.compacted") {
    const { epoch, covers } = event.data;
    return { epoch, seq, at, covers, restores: null };
  }
  if (event.type !== "context.epoch") return null;
  const { epoch, restores = 0 } = event.data;
  return { epoch, seq, at, covers: null, restores };
}

async function turnOf(
  reads: Reads,
  owner: OwnerId,
  session: SessionId,
  [runId, answers]: readonly [RunId, readonly Answer[]],
): Promise<PastTurn> {
  const newest = answers[0];
  const changes: PrefixChange[] = [];
  for (const { seq, data } of answers.toReversed()) {
    const change = data.request?.differs;
    if (change === undefined) continue;
    const { block, explainedBy: by } = change;
    const explainedBy = by && {
      seq: by.seq,
      type: by.type,
      cause: await causeAt(reads, owner, session, by.seq),
    };
    changes.push({ seq, block, part: partOf(change), explainedBy: explainedBy ?? null });
  }
  return {
    runId,
    seq: newest?.seq ?? (0 as Seq),
    at: newest?.at ?? 0,
    model: newest?.data.model ?? null,
    requests: answers.filter(({ data }) => data.request !== undefined).length,
    changes,
  };
}

/** A request starts with these two, in this order. */
function partOf({ block }: NonNullable<RequestRecord["differs"]>): PrefixChange["part"] {
  return block === 0 ? "system" : block === 1 ? "tools" : "conversation";
}

/** The cause recorded in that event, if any. */
async function causeAt(
  reads: Reads,
  owner: OwnerId,
  session: SessionId,
  seq: Seq,
): Promise<string | null> {
  const page = await reads.events(owner, session, { after: (seq - 1) as Seq, limit: 1 });
  const [event] = page?.events ?? [];
  const decoded = event?.seq === seq ? decodeEvent(event) : undefined;
  if (decoded?.kind !== "known") return null;
  switch (decoded.event.type) {
    case "context.framed":
      return decoded.event.data.cause;
    case "history.cut":
      return decoded.event.data.reason;
    default:
      return null;
  }
}
