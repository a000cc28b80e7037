import type { ApprovalCursor, ListCursor, Reads, SessionRow } from "@holdfast/engine";
import {
  decodeEvent,
  type OwnerId,
  seq,
  type SessionId,
  type StoredEvent,
} from "@holdfast/protocol";

import { type Attention, type AttentionType, attentionId } from "./attention.ts";

const pageSize = 100;
const eventsPerPage = 500;
/** A longer stretch without an end of a run is not gone through. */
const maxPages = 40;
const maxKnownSessions = 2_000;
const memoryStuckMs = 3_600_000;
const memoryCheckMs = 60_000;

/**
 * Finds in the store what needs a person. Runs that end move their session up the list, so that only what has changed is
 * read; whoever has seen a log up to a number does not read it again.
 */
export class AttentionFinder {
  readonly #reads: Reads;
  readonly #owner: OwnerId;
  readonly #seen = new Map<SessionId, number>();
  #memoryAt = Number.NEGATIVE_INFINITY;

  constructor(reads: Reads, owner: OwnerId) {
    this.#reads = reads;
    this.#owner = owner;
  }

  /** What was found last was not kept: the next look finds it again. */
  reset(): void {
    this.#seen.clear();
    this.#memoryAt = Number.NEGATIVE_INFINITY;
  }

  async find(since: number, now: number): Promise<readonly Attention[]> {
    if (this.#seen.size > maxKnownSessions) this.#seen.clear();
    return [
      ...(await this.#waiting(since)),
      ...(await this.#onShelf("active", since)),
      ...(await this.#onShelf("archived", since)),
      ...(await this.#memory(now)),
    ];
  }

  /** What is asked at once is one word to say. */
  async #waiting(since: number): Promise<readonly Attention[]> {
    const found = new Map<string, Attention>();
    let after: ApprovalCursor | undefined;
    for (;;) {
      const query = { limit: pageSize, ...(after !== undefined && { after }) };
      const { approvals, next } = await this.#reads.approvals(this.#owner, query);
      for (const { id, session, runId, askedAt: at, details } of approvals) {
        const type = details.kind === "question" ? "question_waiting" : "approval_waiting";
        const key = attentionId(type, runId, at);
        if (at >= since && !found.has(key))
          found.set(key, { id: key, type, session, at, runId, approvalId: id });
      }
      if (next === null) return [...found.values()];
      after = next;
    }
  }

  async #onShelf(shelf: "active" | "archived", since: number): Promise<readonly Attention[]> {
    const found: Attention[] = [];
    let after: ListCursor | undefined;
    for (;;) {
      const query = { shelf, limit: pageSize, ...(after !== undefined && { after }) };
      const { sessions, next } = await this.#reads.sessions(this.#owner, query);
      for (const row of sessions) {
        // A pause leaves the list as it is: it is looked for among all that are at its top.
        if (row.liveState === "paused") found.push(...(await this.#pause(row, since)));
        if (row.sortAt >= since && row.lastState !== null)
          found.push(...(await this.#ends(row, since)));
      }
      if (next === null || next.sortAt < since) return found;
      after = next;
    }
  }

  async #pause({ id: session, liveRun }: SessionRow, since: number): Promise<readonly Attention[]> {
    const run = liveRun && (await this.#reads.run(this.#owner, liveRun));
    if (run === null || run.state !== "paused" || run.restsSince === null) return [];
    const { id: runId, restsSince: at } = run;
    if (at < since) return [];
    return [{ id: attentionId("run_paused", runId, at), type: "run_paused", session, at, runId }];
  }

  /** From the newest event back to what is older, or was seen before. */
  async #ends({ id, head, origin }: SessionRow, since: number): Promise<readonly Attention[]> {
    const found: Attention[] = [];
    const from = Math.max(this.#seen.get(id) ?? 0, origin?.seq ?? 0);
    let upTo: number = head;
    for (let stretch = 0; upTo > from && stretch < maxPages; stretch += 1) {
      const after = Math.max(from, upTo - eventsPerPage);
      const query = { after: seq.parse(after), upTo: seq.parse(upTo), limit: eventsPerPage };
      const page = await this.#reads.events(this.#owner, id, query);
      if (page === null) return [];
      for (const event of page.events)
        if (event.at >= since) found.push(...runEndAttention(id, event));
      const [first] = page.events;
      if (first !== undefined && first.at < since) break;
      upTo = after;
    }
    this.#seen.set(id, head);
    return found;
  }

  async #memory(now: number): Promise<readonly Attention[]> {
    if (now - this.#memoryAt < memoryCheckMs) return [];
    this.#memoryAt = now;
    const { failing, oldestAt } = await this.#reads.memory(this.#owner);
    if (failing === null || oldestAt === null || now - oldestAt < memoryStuckMs) return [];
    const cause = failing.code === null ? {} : { cause: failing.code.slice(0, 100) };
    const id = attentionId("memory_stuck", failing.session, oldestAt, now);
    return [{ id, type: "memory_stuck", session: failing.session, at: now, ...cause }];
  }
}

function runEndAttention(session: SessionId, stored: StoredEvent): readonly Attention[] {
  const decoded = decodeEvent(stored);
  if (decoded.kind !== "known" || decoded.event.type !== "run.state") return [];
  const { id, at, seq: number, runId, data } = decoded.event;
  const type = attentionTypeOf(data.state, data.cause);
  if (type === null) return [];
  return [
    {
      id: attentionId(type, id),
      type,
      session,
      at,
      seq: number,
      ...(runId !== undefined && { runId }),
      ...(data.cause !== undefined && { cause: data.cause.slice(0, 100) }),
    },
  ];
}

function attentionTypeOf(state: string, cause: string | undefined): AttentionType | null {
  switch (state) {
    case "failed":
      return "run_failed";
    case "interrupted":
      return "run_interrupted";
    case "limit":
      return cause === "spend" || cause === "spend_day" ? "spend_limit" : "run_limit";
    default:
      return null;
  }
}
