import {
  type ApprovalId,
  type BlobId,
  decodeEvent,
  deltasSettledBy,
  type EventId,
  type KnownEvent,
  type LaneKey,
  type MessageId,
  roleOf,
  type RunId,
  type SessionId,
  type StoredEvent,
} from "@holdfast/protocol";
import {
  blobsIn,
  foldInput,
  foldRun,
  laneRowOf,
  usageRowOf,
  foldDelta,
  foldSessionRow,
} from "../log/fold-rows.ts";
import { emptySession } from "../log/decide.ts";
import {
  foldApprovals,
  memoryChangeOf,
  MemoryRows,
  outboxRowOf,
  mergeChunk,
} from "../log/fold-work.ts";
import { inputNamedBy } from "../log/commit-fold.ts";
import type {
  ApprovalRow,
  InputRow,
  LaneRow,
  OutboxRow,
  RunRow,
  SessionRow,
  UsageRow,
} from "../ports/rows.ts";
import type { RawEvent } from "../ports/audit.ts";
import type { Finding, FindingCode } from "./findings.ts";

export interface LaneBinding {
  readonly row: LaneRow;
  readonly by: EventId;
}

/** Reads one session's log once from its start: what follows from it, and what is wrong with it. */
export class SessionDerivation {
  readonly findings: Finding[] = [];
  readonly runs = new Map<RunId, RunRow>();
  readonly inputs = new Map<MessageId, InputRow>();
  /** The last binding of each lane in this log; another session may have bound it since. */
  readonly lanes = new Map<LaneKey, LaneBinding>();
  readonly usage: UsageRow[] = [];
  readonly blobs = new Map<BlobId, number>();
  readonly approvals = new Map<ApprovalId, ApprovalRow>();
  readonly memory = new MemoryRows();
  readonly outbox = new Map<string, OutboxRow>();
  /** The other logs it reads, and up to which seq, including ranges it has cut but may restore. */
  readonly origins = new Map<SessionId, number>();
  events = 0;
  session: SessionRow | null = null;
  /** If deleted output may have been the last activity before a quiet settlement: up to when. */
  activityUpTo = 0;
  /** Everything the rows follow from exists and was readable. */
  isWhole = true;
  readonly #stored: SessionRow;
  readonly #ledger: SeqLedger;

  constructor(stored: SessionRow) {
    this.#stored = stored;
    this.#ledger = new SeqLedger((stored.origin?.seq ?? 0) + 1);
  }

  add(raw: RawEvent): void {
    this.events += 1;
    if (!this.#ledger.see(raw)) {
      return this.#markIncomplete("number_repeated", raw.seq, "The number is given to two rows.");
    }
    this.#checkLink(raw);
    const { event } = raw;
    if (event === null) {
      const problem = raw.problem ?? "it cannot be decoded";
      return this.#markIncomplete(
        "event_unreadable",
        raw.seq,
        `The row cannot be read: ${problem}.`,
      );
    }
    const isDelta = roleOf(event) === "delta";
    if (isDelta === (raw.place === "log")) {
      this.#report("delta_misplaced", raw.seq, `A ${event.type} lies among the ${raw.place} rows.`);
    }
    if (this.session === null) return this.#startSession(event);
    if (isDelta) this.session = foldDelta(this.session, event);
    else this.#fold(this.session, event);
  }

  /** P14: rows that agree with each other may still not be those that were written. */
  #checkLink({ seq, link }: RawEvent): void {
    if (link?.state === "broken") {
      const message = "It was changed, or something before it was changed, removed or inserted.";
      this.#report("chain_broken", seq, message);
    }
    if (link?.state === "unlinked")
      this.#report("chain_broken", seq, "It has no link, although the event before it has one.");
  }

  /** Must be called after the last event. */
  close(): void {
    const { missing, prunedEarly } = this.#ledger.close(this.#stored.head);
    for (const span of missing) {
      const message = `No row has this number, and no entry stands for it: ${spanText(span)}.`;
      this.#markIncomplete("number_missing", span[0], message);
    }
    for (const span of prunedEarly) {
      const message = `Marked for deletion although no entry stands for it: ${spanText(span)}.`;
      this.#report("delta_misplaced", span[0], message);
    }
  }

  #startSession(event: StoredEvent): void {
    if (event.type !== "session.created") {
      this.#markIncomplete("session_unfounded", event.seq, `The log begins with ${event.type}.`);
    }
    const { id, owner } = this.#stored;
    const empty = emptySession({ owner, session: id }, event, event.at);
    if (empty.origin !== null) this.origins.set(empty.origin.sessionId, 0);
    for (const { log, to } of empty.ranges)
      if (log !== undefined) this.origins.set(log, Math.max(to ?? 0, this.origins.get(log) ?? 0));
    this.#fold(empty, event);
  }

  #fold(session: SessionRow, event: StoredEvent): void {
    const decoded = decodeEvent(event);
    if (decoded.kind === "invalid") {
      this.#markIncomplete("event_invalid", event.seq, `${event.type}: ${decoded.reason}`);
    }
    if (decoded.kind === "known") this.#foldRows(session, decoded.event);
    this.session = foldSessionRow(session, decoded);
  }

  /** In the same order as a commit, starting from the session as it was before the event. */
  #foldRows(session: SessionRow, event: KnownEvent): void {
    const runId = event.type === "input.accepted" ? event.data.runId : event.runId;
    if (runId !== undefined)
      setIfDefined(this.runs, runId, foldRun(this.runs.get(runId), event, session));
    const message = inputNamedBy(event);
    if (message !== undefined) {
      setIfDefined(this.inputs, message, foldInput(this.inputs.get(message), event, session));
    }
    const lane = laneRowOf(event, session);
    if (lane !== undefined) this.lanes.set(lane.lane, { row: lane, by: event.id });
    const used = usageRowOf(event, session);
    if (used !== undefined) this.usage.push(used);
    for (const row of foldApprovals(this.approvals.values(), event, session))
      this.approvals.set(row.id, row);
    const memory = memoryChangeOf(event, session);
    if (memory !== undefined) this.memory.apply(memory);
    const chunk = outboxRowOf(event, session);
    if (chunk !== undefined) mergeChunk(this.outbox, chunk);
    for (const blob of blobsIn(event)) this.blobs.set(blob, (this.blobs.get(blob) ?? 0) + 1);
    for (const span of deltasSettledBy(event) ?? []) this.#settle(event, span);
  }

  #settle(event: KnownEvent, span: readonly [number, number]): void {
    const { wrong, open, gone } = this.#ledger.settle(span);
    if (wrong !== 0 || span[1] >= event.seq) {
      const message = `The entry claims ${spanText(span)}, where ${wrong} are not open output.`;
      this.#report("number_explained_twice", event.seq, message);
    }
    if (open > 0) {
      const message = `${open} rows in ${spanText(span)} are kept as open although they are settled.`;
      this.#report("delta_misplaced", event.seq, message);
    }
    if (gone > 0 && event.quiet) this.activityUpTo = event.at;
  }

  #markIncomplete(code: FindingCode, seq: number, message: string): void {
    this.isWhole = false;
    this.#report(code, seq, message);
  }

  #report(code: FindingCode, seq: number, message: string): void {
    const { id: session } = this.#stored;
    this.findings.push({ code, table: "events", session, key: `${session} ${seq}`, message });
  }
}

function setIfDefined<K, V>(map: Map<K, V>, key: K, value: V | undefined): void {
  if (value !== undefined) map.set(key, value);
}

/** Both inclusive. */
export type SeqSpan = readonly [from: number, to: number];

/**
 * P2, P14: accounts for every seq of a log. A seq either has a row or is settled by an entry; never neither, and never
 * twice.
 */
export class SeqLedger {
  #next: number;
  /** Skipped and not yet explained. */
  #gaps: SeqSpan[] = [];
  /** Output rows not yet settled by an entry, by their position. */
  #open: SeqSpan[] = [];
  #pruned: SeqSpan[] = [];

  constructor(first: number) {
    this.#next = first;
  }

  /** `false` if the seq was issued before. */
  see({ seq, place }: Pick<RawEvent, "seq" | "place">): boolean {
    if (seq < this.#next) return false;
    if (seq > this.#next) this.#gaps.push([this.#next, seq - 1]);
    if (place === "delta") addSeq(this.#open, seq);
    if (place === "pruned") addSeq(this.#pruned, seq);
    this.#next = seq + 1;
    return true;
  }

  /** An entry settles these seqs. */
  settle([from, to]: SeqSpan): {
    readonly wrong: number;
    readonly open: number;
    readonly gone: number;
  } {
    const gone = cutSpans(this.#gaps, from, to);
    const open = cutSpans(this.#open, from, to);
    const pruned = cutSpans(this.#pruned, from, to);
    this.#gaps = gone.rest;
    this.#open = open.rest;
    this.#pruned = pruned.rest;
    const explained = gone.count + open.count + pruned.count;
    return { wrong: to - from + 1 - explained, open: open.count, gone: gone.count };
  }

  /** What is left over once the log has been read to its head. */
  close(head: number): {
    readonly missing: readonly SeqSpan[];
    readonly prunedEarly: readonly SeqSpan[];
  } {
    const trailing: SeqSpan[] = head >= this.#next ? [[this.#next, head]] : [];
    return { missing: [...this.#gaps, ...trailing], prunedEarly: this.#pruned };
  }
}

function addSeq(spans: SeqSpan[], seq: number): void {
  const last = spans.at(-1);
  if (last !== undefined && last[1] === seq - 1) spans[spans.length - 1] = [last[0], seq];
  else spans.push([seq, seq]);
}

function cutSpans(
  spans: readonly SeqSpan[],
  from: number,
  to: number,
): { rest: SeqSpan[]; count: number } {
  const rest: SeqSpan[] = [];
  let count = 0;
  for (const [first, last] of spans) {
    const start = Math.max(first, from);
    const end = Math.min(last, to);
    if (start > end) {
      rest.push([first, last]);
      continue;
    }
    count += end - start + 1;
    if (first < start) rest.push([first, start - 1]);
    if (last > end) rest.push([end + 1, last]);
  }
  return { rest, count };
}

function spanText([from, to]: SeqSpan): string {
  return from === to ? `${from}` : `${from} to ${to}`;
}
