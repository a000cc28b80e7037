import { runFsck, type Store } from "@holdfast/engine";
import type { OwnerId, Seq, SessionId, StoredEvent } from "@holdfast/protocol";

import { checkEffects } from "./check-effects.ts";
import { checkFences, checkHistories, checkOrder } from "./check-order.ts";
import { checkCancels, checkInputs, checkRuns } from "./check-runs.ts";
import { checkShown } from "./check-shown.ts";
import { acknowledged, type Evidence } from "./evidence.ts";
import type { History } from "./history.ts";
import type { Effect } from "./protocol.ts";
import type { FinalReads } from "./settle.ts";

export interface CheckOptions {
  readonly history: History;
  readonly store: Store;
  readonly owner: OwnerId;
  readonly settled: FinalReads;
  readonly effects: readonly Effect[];
}

export interface Checked {
  readonly problems: readonly string[];
  readonly evidence: Evidence;
  /** How many events fsck accounted for. */
  readonly events: number;
}

/** Every promise, checked against what was acknowledged and what is stored. */
export const promises = [
  checkInputs,
  checkOrder,
  checkFences,
  checkRuns,
  checkShown,
  checkCancels,
  checkEffects,
  checkHistories,
] as const;

export async function checkAll(options: CheckOptions): Promise<Checked> {
  const { history, store, owner, settled, effects } = options;
  const { happened } = history;
  const told = acknowledged({ happened, logs: new Map(), effects }).flatMap(
    ({ told: { session } }) => session ?? [],
  );
  const logs = await readLogs(store, owner, new Set([...told, ...settled.keys()]));
  const evidence: Evidence = { happened, logs, effects };
  const { found, events, unproven, failure } = await runFsck(store.audit, {
    now: await store.now(),
  });
  return {
    evidence,
    events,
    problems: [
      ...history.of("wrong").map(({ what }) => what),
      ...promises.flatMap((check) => check(evidence)),
      ...found.map(({ code, key, message }) => `[P14] fsck: ${code} ${key}: ${message}`),
      ...unproven.map((entry) => `[P14] fsck: not proven: ${entry}`),
      ...(failure === undefined ? [] : [`[P14] fsck: ${failure}`]),
      ...checkReads(settled),
      ...checkErrors(evidence),
    ],
  };
}

/** What is stored of these sessions; one that is gone has no log. */
export async function readLogs(
  store: Store,
  owner: OwnerId,
  sessions: Iterable<SessionId>,
): Promise<ReadonlyMap<SessionId, readonly StoredEvent[]>> {
  const logs = new Map<SessionId, readonly StoredEvent[]>();
  for (const session of sessions) {
    const events = await readLog(store, owner, session);
    if (events !== null) logs.set(session, events);
  }
  return logs;
}

async function readLog(
  store: Store,
  owner: OwnerId,
  session: SessionId,
): Promise<StoredEvent[] | null> {
  const events: StoredEvent[] = [];
  let after = 0 as Seq;
  for (;;) {
    const page = await store.reads.events(owner, session, { after, limit: 1_000 });
    if (page === null) return null;
    events.push(...page.events);
    const last = page.events.at(-1);
    if (!page.more || last === undefined) return events;
    after = last.seq;
  }
}

/** In the end all processes read the same. */
function checkReads(settled: FinalReads): string[] {
  const problems: string[] = [];
  for (const [session, answers] of settled) {
    const different = new Set([...answers.values()].map((answer) => JSON.stringify(answer)));
    const isRead = [...answers.values()].every(({ kind }) => kind === "done");
    if (different.size > 1 || !isRead)
      problems.push(`[P5] ${session} is read differently: ${JSON.stringify([...answers])}`);
  }
  return problems;
}

/** The store may be unreachable; everything else that a process or a host reports is a bug. */
function checkErrors({ happened }: Evidence): string[] {
  return happened.flatMap((entry) => {
    if (entry.kind === "said" && entry.message.word === "error" && entry.message.code === null)
      return [`${entry.by}: ${entry.message.text}`];
    if (entry.kind !== "answered" || !("code" in entry.answer)) return [];
    const { code } = entry.answer;
    return code === "internal" || code.startsWith("http 5")
      ? [`request ${entry.number}: ${code}`]
      : [];
  });
}
