import type { OwnerId, SessionId } from "@holdfast/protocol";

import type { CountTokens } from "../ports/background-models.ts";
import type { Reads, UsageTotals } from "../ports/reads.ts";
import { buildContext, type FrameBytes } from "./build-context.ts";
import { type PastEpoch, type PastTurn, readRequests } from "./past-requests.ts";
import { readFrame } from "./frame.ts";
import { type ContextEntries, readContext } from "./read-context.ts";

export const contextKinds = ["system", "tools", "summary", "user", "assistant", "tool"] as const;
export type ContextKind = (typeof contextKinds)[number];

/** How much of what a provider was sent it had kept from before; `null` when nothing was sent, or nobody counted. */
export interface CountedUsage extends UsageTotals {
  readonly hitShare: number | null;
}

export interface DescribedTurn extends PastTurn {
  readonly usage: CountedUsage;
}

/** What a session's model gets, in figures, and what it cost so far. */
export interface ContextReport {
  readonly model: string | null;
  /** Estimates, by what they are spent on. */
  readonly tokens: Readonly<Record<ContextKind, number>>;
  /** What the context begins with now; 0 is the conversation itself. */
  readonly epoch: number;
  /** Newest first. */
  readonly epochs: readonly PastEpoch[];
  readonly turns: readonly DescribedTurn[];
  readonly totals: CountedUsage;
  /** There is more than was looked through. */
  readonly more: boolean;
}

export interface DescribeOptions {
  readonly count: CountTokens;
  /** At most so many, the newest. */
  readonly turns: number;
}

const noFrame: FrameBytes = { system: "", tools: [] };

/** For a person who wants to know what fills the window and what was paid twice. `null`: there is no such session. */
export async function describeContext(
  reads: Reads,
  owner: OwnerId,
  session: SessionId,
  { count, turns: most }: DescribeOptions,
): Promise<ContextReport | null> {
  const row = await reads.session(owner, session);
  const entries = row && (await readContext(reads, owner, session));
  if (row === null || entries === null) return null;
  const frame = entries.frame && (await readFrame({ reads }, owner, entries.frame));
  const past = await readRequests(reads, owner, session, { turns: most, epochs: row.epoch });
  const usage = await Promise.all(past.turns.map(({ runId }) => reads.usage(owner, { runId })));
  const turns = past.turns.map((turn, index) => ({
    ...turn,
    usage: withHitShare(usage[index] ?? noUsage),
  }));
  return {
    model: row.model ?? turns[0]?.model ?? null,
    tokens: tokensByKind(entries, frame ?? noFrame, count),
    epoch: entries.epoch?.number ?? 0,
    epochs: past.epochs,
    turns,
    totals: withHitShare(await reads.usage(owner, { session })),
    more: past.more,
  };
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
    // The tools are a block of their own, and no message.
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

/** Providers differ in whether `input` holds what they had kept: whichever is larger was sent. */
function withHitShare(usage: UsageTotals): CountedUsage {
  const sent = Math.max(usage.input, usage.cacheRead + usage.cacheWrite);
  return { ...usage, hitShare: sent === 0 ? null : usage.cacheRead / sent };
}
