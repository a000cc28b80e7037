import { createHash } from "node:crypto";
import { z } from "zod";
import {
  approvalId,
  runId as runIdSchema,
  seq,
  sessionId,
  decodeEvent,
  type OwnerId,
  type SessionId,
  type StoredEvent,
} from "@holdfast/protocol";
import type { ApprovalCursor, ListCursor, Reads, SessionRow } from "@holdfast/engine";

/** Why a person is needed. The names are stable: receivers sort by them. */
export const attentionType = z.enum([
  "approval_waiting",
  "question_waiting",
  "run_failed",
  "run_interrupted",
  "run_paused",
  "run_limit",
  "spend_limit",
  "memory_stuck",
  "sign_in_needed",
]);
export type AttentionType = z.infer<typeof attentionType>;

export const attention = z.object({
  /** Derived from what happened, so it is the same whoever finds it and however often. */
  id: z.string(),
  type: attentionType,
  session: sessionId,
  /** When it happened, by the store's clock. */
  at: z.int(),
  runId: runIdSchema.optional(),
  approvalId: approvalId.optional(),
  /** The event's position in the session's log. */
  seq: seq.optional(),
  /** A stable code. */
  cause: z.string().max(100).optional(),
});
export type Attention = z.infer<typeof attention>;

export function attentionId(...facts: readonly (string | number)[]): string {
  return `ntf_${createHash("sha256").update(JSON.stringify(facts)).digest("hex").slice(0, 16)}`;
}

const instructions: Record<AttentionType, string> = {
  approval_waiting: "A tool waits for your word. Open the session to allow or deny it.",
  question_waiting: "The agent has asked you something. Open the session to answer.",
  run_failed: "A run has failed. Open the session to see why, and to try again.",
  run_interrupted: "A run was interrupted. Open the session to go on with it.",
  run_paused: "A run was interrupted and waits. Open the session to let it go on.",
  run_limit: "A run has reached a limit. Open the session to go on with it.",
  spend_limit: "A spend limit was reached. Raise it, or wait.",
  sign_in_needed: "An MCP server needs a sign-in. Open the session, or Settings, MCP servers.",
  memory_stuck: "Completed turns could not be remembered for more than an hour. Look at memory.",
};

export function instructionFor(type: AttentionType): string {
  return instructions[type];
}

const pageSize = 100;
const eventsPerPage = 500;
/** Limits how many pages without the end of a run are read back. */
const maxPages = 40;
const maxKnownSessions = 2_000;
const memoryStuckMs = 3_600_000;
const memoryCheckMs = 60_000;

/**
 * Finds what needs a person in the store. A run that ends moves its session up the list, so only changed sessions
 * are read, and their logs only from where the last scan stopped.
 */
export class AttentionFinder {
  readonly #reads: Reads;
  readonly #owner: OwnerId;
  readonly #seenUpTo = new Map<SessionId, number>();
  #memoryCheckedAt = Number.NEGATIVE_INFINITY;

  constructor(reads: Reads, owner: OwnerId) {
    this.#reads = reads;
    this.#owner = owner;
  }

  /** Called when the last result could not be stored: the next scan finds it again. */
  reset(): void {
    this.#seenUpTo.clear();
    this.#memoryCheckedAt = Number.NEGATIVE_INFINITY;
  }

  async find(since: number, now: number): Promise<readonly Attention[]> {
    if (this.#seenUpTo.size > maxKnownSessions) this.#seenUpTo.clear();
    return [
      ...(await this.#findApprovals(since)),
      ...(await this.#findRuns("active", since)),
      ...(await this.#findRuns("archived", since)),
      ...(await this.#findStuckMemory(now)),
    ];
  }

  /** Approvals asked at the same moment by one run are one notice. */
  async #findApprovals(since: number): Promise<readonly Attention[]> {
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

  async #findRuns(shelf: "active" | "archived", since: number): Promise<readonly Attention[]> {
    const found: Attention[] = [];
    let after: ListCursor | undefined;
    for (;;) {
      const query = { shelf, limit: pageSize, ...(after !== undefined && { after }) };
      const { sessions, next } = await this.#reads.sessions(this.#owner, query);
      for (const row of sessions) {
        // A pause does not move its session up the list, so every session on the page is checked.
        if (row.liveState === "paused") found.push(...(await this.#findPause(row, since)));
        if (row.sortAt >= since && row.lastState !== null)
          found.push(...(await this.#findRunEnds(row, since)));
      }
      if (next === null || next.sortAt < since) return found;
      after = next;
    }
  }

  async #findPause(
    { id: session, liveRun }: SessionRow,
    since: number,
  ): Promise<readonly Attention[]> {
    const run = liveRun && (await this.#reads.run(this.#owner, liveRun));
    if (run === null || run.state !== "paused" || run.restsSince === null) return [];
    const { id: runId, restsSince: at } = run;
    if (at < since) return [];
    return [{ id: attentionId("run_paused", runId, at), type: "run_paused", session, at, runId }];
  }

  /** Reads back from the newest event to what is older than `since`, or was seen before. */
  async #findRunEnds(
    { id, head, origin }: SessionRow,
    since: number,
  ): Promise<readonly Attention[]> {
    const found: Attention[] = [];
    const from = Math.max(this.#seenUpTo.get(id) ?? 0, origin?.seq ?? 0);
    let upTo: number = head;
    for (let pageCount = 0; upTo > from && pageCount < maxPages; pageCount += 1) {
      const after = Math.max(from, upTo - eventsPerPage);
      const query = { after: seq.parse(after), upTo: seq.parse(upTo), limit: eventsPerPage };
      const page = await this.#reads.events(this.#owner, id, query);
      if (page === null) return [];
      for (const event of page.events) if (event.at >= since) found.push(...attentionIn(id, event));
      const [first] = page.events;
      if (first !== undefined && first.at < since) break;
      upTo = after;
    }
    this.#seenUpTo.set(id, head);
    return found;
  }

  async #findStuckMemory(now: number): Promise<readonly Attention[]> {
    if (now - this.#memoryCheckedAt < memoryCheckMs) return [];
    this.#memoryCheckedAt = now;
    const { failing, oldestAt } = await this.#reads.memory(this.#owner);
    if (failing === null || oldestAt === null || now - oldestAt < memoryStuckMs) return [];
    const cause = failing.code === null ? {} : { cause: failing.code.slice(0, 100) };
    const id = attentionId("memory_stuck", failing.session, oldestAt, now);
    return [{ id, type: "memory_stuck", session: failing.session, at: now, ...cause }];
  }
}

function attentionIn(session: SessionId, stored: StoredEvent): readonly Attention[] {
  const decoded = decodeEvent(stored);
  if (decoded.kind !== "known") return [];
  if (decoded.event.type === "notice.added" && decoded.event.data.kind === "mcp_sign_in") {
    const { id, at, seq: noticeSeq, runId } = decoded.event;
    const type = "sign_in_needed";
    const facts = { id: attentionId(type, id), type, session, at, seq: noticeSeq } as const;
    return [{ ...facts, ...(runId !== undefined && { runId }) }];
  }
  if (decoded.event.type !== "run.state") return [];
  const { id, at, seq: eventSeq, runId, data } = decoded.event;
  const type = attentionTypeOf(data.state, data.cause);
  if (type === null) return [];
  return [
    {
      id: attentionId(type, id),
      type,
      session,
      at,
      seq: eventSeq,
      ...(runId !== undefined && { runId }),
      ...(data.cause !== undefined && { cause: data.cause.slice(0, 100) }),
    },
  ];
}

const spendCauses: ReadonlySet<string> = new Set([
  "spend",
  "spend_session",
  "spend_schedule",
  "spend_day",
]);

function attentionTypeOf(state: string, cause: string | undefined): AttentionType | null {
  switch (state) {
    case "failed":
      return "run_failed";
    case "interrupted":
      return "run_interrupted";
    case "limit":
      return cause !== undefined && spendCauses.has(cause) ? "spend_limit" : "run_limit";
    default:
      return null;
  }
}
