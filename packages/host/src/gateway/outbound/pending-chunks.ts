import { createHash } from "node:crypto";
import { type Log, type OutboxRow, outboxKey } from "@holdfast/engine";
import {
  type OwnerId,
  type Seq,
  type SessionId,
  type StoredEvent,
  type ApprovalId,
  decodeEvent,
  type DeliveryId,
  idFromBytes,
  outboxState,
  type RunId,
} from "@holdfast/protocol";
import type { PlatformCapabilities, ChatAddress } from "../adapter.ts";
import type { RightsResolver } from "../../rights/resolve-rights.ts";
import { AnswerText } from "./answer-text.ts";
import { type PendingChunk, nextChunk, type OutboxWriter } from "./chunk.ts";

export interface PendingChunksDeps {
  readonly log: Log;
  readonly owner: OwnerId;
  readonly session: SessionId;
  readonly writer: OutboxWriter;
  /** `null` if the lane is another bot's. */
  readonly addressOf: (row: OutboxRow) => ChatAddress | null;
  readonly repeats: PlatformCapabilities["repeats"];
  readonly rights: Pick<RightsResolver, "ofLane">;
}

const maxOpenChunks = 1_000;

/** A session's undelivered chunks, kept up to date from its log. */
export class PendingChunks {
  readonly #deps: PendingChunksDeps;
  readonly #chunks = new Map<string, PendingChunk>();
  readonly #texts = new Map<RunId, AnswerText>();
  /** When each delivery was enqueued, as far back as we know. */
  readonly #pendingSinceByDelivery = new Map<DeliveryId, number>();
  #readUpTo = 0 as Seq;
  #loadedAt = 0 as Seq;

  constructor(deps: PendingChunksDeps) {
    this.#deps = deps;
  }

  /** In delivery order. */
  get chunks(): readonly PendingChunk[] {
    return [...this.#chunks.values()].toSorted(
      ({ row: a }, { row: b }) => a.begun - b.begun || a.chunk - b.chunk,
    );
  }

  get readUpTo(): Seq {
    return this.#readUpTo;
  }

  /** All events that existed at load time have been applied. */
  get isCaughtUp(): boolean {
    return this.#readUpTo >= this.#loadedAt;
  }

  /** A host is working on one of the runs, so more text may come at any moment. */
  get hasActiveRun(): boolean {
    return this.#chunks.values().some(({ text }) => text?.isRunning === true);
  }

  /** Where to start following the log; `null` if nothing is pending. */
  async load(): Promise<Seq | null> {
    const { log, owner, session } = this.#deps;
    const row = await log.store.reads.session(owner, session);
    if (row === null) return null;
    this.#loadedAt = row.head;
    for (const open of await this.#readOpen()) {
      if (open.state !== "sending") {
        this.#add(open);
        continue;
      }
      const next = await this.#recoverSending(open);
      if (next !== null) this.#add(next);
    }
    const beginnings = [...this.#chunks.values()].map(({ row: chunkRow }) => chunkRow.begun);
    if (beginnings.length === 0) return null;
    this.#readUpTo = Math.max(0, Math.min(...beginnings) - 1) as Seq;
    await this.#readApprovals();
    return this.#readUpTo;
  }

  /**
   * P11: the previous sender is gone, and nobody knows whether the chunk arrived. If the platform drops repeats,
   * it is sent again.
   */
  async #recoverSending(row: OutboxRow): Promise<OutboxRow | null> {
    const { writer, repeats } = this.#deps;
    if (repeats === "shown") return writer.writeUnknown(row, "host_stopped", null);
    const again: OutboxRow = { ...row, state: "pending" };
    return (await writer.write(again)) ? again : null;
  }

  async #readOpen(): Promise<readonly OutboxRow[]> {
    const { log, owner, session, addressOf } = this.#deps;
    const query = { session, states: ["pending", "sending"], limit: maxOpenChunks } as const;
    const rows = await log.store.reads.outbox(owner, query);
    return rows.filter((row) => addressOf(row) !== null);
  }

  /** Removes a finished chunk; `next` replaces it if there is more to come. */
  replace(chunk: PendingChunk, next: OutboxRow | undefined): void {
    this.#chunks.delete(outboxKey(chunk.row));
    if (next !== undefined) this.#add(next);
  }

  #add(row: OutboxRow): void {
    const address = this.#deps.addressOf(row);
    if (address === null) return;
    const text = row.kind === "answer" && row.runId !== null ? this.#textOf(row.runId) : null;
    const initial = {
      approval: undefined,
      answered: "elsewhere",
      shownText: null,
      notBefore: 0,
    } as const;
    const pendingSince = this.#pendingSinceByDelivery.get(row.delivery) ?? row.at;
    this.#pendingSinceByDelivery.set(row.delivery, pendingSince);
    this.#chunks.set(outboxKey(row), {
      ...initial,
      row,
      address,
      text,
      pendingSince,
    });
  }

  #textOf(runId: RunId): AnswerText {
    const text = this.#texts.get(runId) ?? new AnswerText(runId);
    this.#texts.set(runId, text);
    return text;
  }

  async apply(event: StoredEvent): Promise<void> {
    const text = event.runId === undefined ? undefined : this.#texts.get(event.runId);
    text?.apply(event);
    const { seq } = event;
    const isNew = seq > this.#loadedAt;
    if (isNew && mayAddChunks(event) && !this.#deps.writer.isOwnEvent(event))
      await this.#loadMore(seq);
    if (event.type === "input.accepted") this.#setPendingSince(event);
    if (event.type === "approval.asked" && text !== undefined)
      await this.#enqueueApproval(text, event);
    if (event.type === "approval.answered" || event.type === "run.state")
      await this.#readApprovals();
    // Set last: the reader resumes from here.
    this.#readUpTo = seq;
  }

  /** An answer is as old as the message it answers, however often it was retried. */
  #setPendingSince({ runId, at }: StoredEvent): void {
    for (const chunk of this.#chunks.values()) {
      if (chunk.row.kind !== "answer" || chunk.row.runId !== runId) continue;
      chunk.pendingSince = at;
      this.#pendingSinceByDelivery.set(chunk.row.delivery, at);
    }
  }

  /** Everything up to here is applied, including numbers whose events no longer exist. */
  advanceTo(head: Seq): void {
    this.#readUpTo = head;
  }

  /** New input arrived, or a person asked for a chunk again. */
  async #loadMore(upTo: Seq): Promise<void> {
    const { log, owner, session } = this.#deps;
    for (const row of await this.#readOpen()) {
      if (row.state !== "pending" || this.#chunks.has(outboxKey(row))) continue;
      const isUnknownRun = row.runId !== null && !this.#texts.has(row.runId);
      this.#add(row);
      const text = row.runId === null ? undefined : this.#texts.get(row.runId);
      if (!isUnknownRun || text === undefined || row.begun > upTo) continue;
      const from = Math.max(0, row.begun - 1) as Seq;
      for (const event of await readEvents(log, { owner, session }, from, upTo)) text.apply(event);
    }
    await this.#readApprovals();
  }

  /** Enqueues a question for the chat whose run asks it: once, however often the log is read. */
  async #enqueueApproval(text: AnswerText, event: StoredEvent): Promise<void> {
    const decoded = decodeEvent(event);
    if (decoded.kind !== "known" || decoded.event.type !== "approval.asked") return;
    const { approvalId } = decoded.event.data;
    const answerRow = this.#chunks.values().find((chunk) => chunk.text === text)?.row;
    if (answerRow === undefined) return;
    const { log, owner, session, writer } = this.#deps;
    const delivery = approvalDeliveryId(approvalId);
    const states = outboxState.options;
    const existing = await log.store.reads.outbox(owner, { session, delivery, states, limit: 1 });
    if (existing.length > 0) return;
    const row: OutboxRow = {
      ...nextChunk(answerRow),
      delivery,
      chunk: 0,
      kind: "approval",
      approvalId,
      begun: event.seq,
      from: 0,
      to: 0,
    };
    if (await writer.write(row)) this.#add(row);
    await this.#readApprovals();
  }

  async #readApprovals(): Promise<void> {
    const { log, owner, rights } = this.#deps;
    for (const chunk of this.#chunks.values()) {
      const { approvalId, lane } = chunk.row;
      if (approvalId === null) continue;
      chunk.answered = (await rights.ofLane(owner, lane)).approvals ? "here" : "elsewhere";
      chunk.approval = await log.store.reads.approval(owner, approvalId);
    }
  }
}

/** Derived from the approval, so a question is enqueued once. */
export function approvalDeliveryId(approval: ApprovalId): DeliveryId {
  return idFromBytes("delivery", createHash("sha256").update(`ask ${approval}`).digest());
}

function mayAddChunks({ type }: StoredEvent): boolean {
  return type === "input.accepted" || type === "outbox.changed";
}

interface SessionRef {
  readonly owner: OwnerId;
  readonly session: SessionId;
}

const pageSize = 500;

/** Yields all events after `after`, then new ones as they come, until the signal. Ends when the session is gone. */
export async function* followEvents(
  log: Log,
  { owner, session }: SessionRef,
  after: Seq,
  signal: AbortSignal,
): AsyncGenerator<{ readonly events: readonly StoredEvent[]; readonly head: Seq }> {
  let cursor = after;
  for (;;) {
    let isCut = false;
    for await (const item of log.tail(owner, session, cursor, { signal })) {
      if (item.kind === "gone") return;
      if (item.kind === "status") continue;
      if (item.kind === "cut") {
        isCut = true;
        break;
      }
      // Too far behind: the tail continues from the head, so read the gap here.
      const events =
        item.kind === "events"
          ? item.events
          : await readEvents(log, { owner, session }, cursor, item.head);
      cursor = item.head;
      yield { events, head: cursor };
    }
    if (!isCut || signal.aborted) return;
  }
}

async function readEvents(
  { store: { reads } }: Log,
  { owner, session }: SessionRef,
  after: Seq,
  upTo: Seq,
): Promise<readonly StoredEvent[]> {
  const events: StoredEvent[] = [];
  for (let cursor = after; ;) {
    const page = await reads.events(owner, session, { after: cursor, upTo, limit: pageSize });
    const last = page?.events.at(-1);
    if (page === null || last === undefined) return events;
    events.push(...page.events);
    if (!page.more) return events;
    cursor = last.seq;
  }
}
