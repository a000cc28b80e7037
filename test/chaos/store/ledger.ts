import { type Commit, runFsck, type Store } from "@holdfast/engine";
import { toSeq } from "@holdfast/testing/fixtures/factories";
import { textsOf } from "@holdfast/testing/fixtures/open-session";
import type { Seq, StoredEvent } from "@holdfast/protocol";

import type { WriterMessage } from "./protocol.ts";

type Acknowledgement = Extract<WriterMessage, { word: "acknowledged" }>;

/** Everything that the writers were told, whether they are still alive or not. */
export class Ledger {
  readonly acknowledged: Acknowledgement[] = [];
  /** The messages that each branch read from its origin. */
  readonly branches = new Map<Commit["session"], readonly string[]>();
  readonly purged = new Set<Commit["session"]>();
  readonly counts: Record<string, number> = {};

  note(message: WriterMessage): void {
    const name = "code" in message ? `${message.word} ${message.code}` : message.word;
    this.counts[name] = (this.counts[name] ?? 0) + 1;
    if (message.word === "acknowledged") this.acknowledged.push(message);
    if (message.word === "branched") this.branches.set(message.session, message.texts);
    if (message.word === "purged") this.purged.add(message.session);
  }

  /** Reads the whole store and reports what differs from what was acknowledged. */
  async check(store: Store, owner: Commit["owner"], sessions: readonly Commit["session"][]) {
    const problems: string[] = [];
    const { found, events, unproven, failure } = await runFsck(store.audit, {
      now: await store.now(),
    });
    for (const { code, key, message } of found) problems.push(`fsck: ${code} ${key}: ${message}`);
    problems.push(...unproven, ...(failure === undefined ? [] : [`fsck: ${failure}`]));
    problems.push(...(await this.#checkBranches(store, owner)));
    for (const session of this.purged)
      if ((await store.reads.session(owner, session)) !== null)
        problems.push(`${session}: was purged, but still exists`);
    for (const session of sessions) {
      const stored = await readAll(store, owner, session);
      const acknowledgements = this.acknowledged.filter(
        (acknowledgement) => acknowledgement.session === session,
      );
      problems.push(
        ...compare(stored, acknowledgements).map((problem) => `${session}: ${problem}`),
      );
    }
    return { problems, events };
  }

  /** P13: purging the origin takes nothing from a branch. */
  async #checkBranches(store: Store, owner: Commit["owner"]): Promise<readonly string[]> {
    const problems: string[] = [];
    for (const [session, texts] of this.branches) {
      const page = await store.reads.entries(owner, session, { limit: 100 });
      const read = page === null ? "no session" : textsOf(page.entries).join(", ");
      if (read !== texts.join(", "))
        problems.push(`${session}: the branch reads “${read}” instead of “${texts.join(", ")}”`);
    }
    return problems;
  }
}

async function readAll(
  store: Store,
  owner: Commit["owner"],
  session: Commit["session"],
): Promise<StoredEvent[]> {
  const events: StoredEvent[] = [];
  let after: Seq = toSeq(0);
  for (;;) {
    const page = await store.reads.events(owner, session, { after, limit: 1_000 });
    if (page === null) return events;
    events.push(...page.events);
    const last = page.events.at(-1);
    if (!page.more || last === undefined) return events;
    after = last.seq;
  }
}

/** Settled deltas may have been pruned: the entry that covers them names their seqs. */
function settledNumbers(events: readonly StoredEvent[]): Set<number> {
  const settled = new Set<number>();
  for (const { data } of events) {
    const ranges: unknown = data["deltas"];
    if (!Array.isArray(ranges)) continue;
    for (const [from, to] of ranges as [number, number][])
      for (let seq = from; seq <= to; seq += 1) settled.add(seq);
  }
  return settled;
}

function compare(
  events: readonly StoredEvent[],
  acknowledgements: readonly Acknowledgement[],
): string[] {
  const problems: string[] = [];
  const bySeq = new Map<number, StoredEvent>();
  const seen = new Set<string>();
  for (const event of events) {
    if (seen.has(event.id)) problems.push(`${event.id} is there twice`);
    seen.add(event.id);
    bySeq.set(event.seq, event);
  }
  const settled = settledNumbers(events);
  for (let seq = 1; seq <= (events.at(-1)?.seq ?? 0); seq += 1)
    if (!bySeq.has(seq) && !settled.has(seq)) problems.push(`number ${seq} is missing`);
  for (const { ids, first } of acknowledgements) {
    for (const [index, id] of ids.entries()) {
      const stored = bySeq.get(first + index);
      const isPruned = stored === undefined && settled.has(first + index);
      if (stored?.id !== id && !isPruned)
        problems.push(
          `${id} was acknowledged as ${first + index}, where ${stored?.id ?? "nothing"} is`,
        );
    }
  }
  return [...problems, ...fencesOutOfOrder(acknowledgements)];
}

/** P3: no commit under an older fence follows one under a newer fence. */
function fencesOutOfOrder(acknowledgements: readonly Acknowledgement[]): string[] {
  const problems: string[] = [];
  let newest = 0;
  for (const { first, fence } of acknowledgements.toSorted((a, b) => a.first - b.first)) {
    if (fence === undefined) continue;
    if (fence < newest)
      problems.push(`number ${first} was written under fence ${fence} behind ${newest}`);
    newest = Math.max(newest, fence);
  }
  return problems;
}
