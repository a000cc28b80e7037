import {
  decodeEvent,
  type NewEvent,
  type OwnerId,
  type RunId,
  type SessionId,
  type StoredEvent,
} from "@holdfast/protocol";

import type { ModelFailure, NamedModel } from "../ports/model.ts";
import type { Reads } from "../ports/reads.ts";
import type { RunHandle } from "./run-handle.ts";

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
export function chooseModel(chain: ModelChain, standIn: string | null): ChosenModel {
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
