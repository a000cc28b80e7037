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
import { AnswerText } from "./answer-text.ts";
import { type PendingChunk, nextChunk, type OutboxWriter } from "./chunk.ts";

interface SessionRef {
  readonly owner: OwnerId;
  readonly session: SessionId;
}

const pageSize = 500;

/** Every event behind a number, and whatever comes, until the signal. It ends by itself when the session is gone. */
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
      // Far behind: the tail goes on from the head, and what lies between is read here.
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

const maxOpenChunks = 1_000;

export interface PendingChunksDeps {
  readonly log: Log;
  readonly owner: OwnerId;
  readonly session: SessionId;
  readonly writer: OutboxWriter;
  /** `null` when the lane is another bot's. */
  readonly addressOf: (row: OutboxRow) => ChatAddress | null;
  readonly repeats: PlatformCapabilities["repeats"];
}

/** What a session still owes, kept up with its log. */
export class PendingChunks {
  readonly #deps: PendingChunksDeps;
  readonly #jobs = new Map<string, PendingChunk>();
  readonly #texts = new Map<RunId, AnswerText>();
  /** When each delivery came to be owed, as far back as we know. */
  readonly #since = new Map<DeliveryId, number>();
  #followed = 0 as Seq;
  #loadedAt = 0 as Seq;

  constructor(deps: PendingChunksDeps) {
    this.#deps = deps;
  }

  /** In the order in which they go out. */
  get chunks(): readonly PendingChunk[] {
    return [...this.#jobs.values()].toSorted(
      ({ row: a }, { row: b }) => a.begun - b.begun || a.chunk - b.chunk,
    );
  }

  get readUpTo(): Seq {
    return this.#followed;
  }

  /** All that was there at the beginning has been seen: what is done now is done with the whole picture. */
  get isCaughtUp(): boolean {
    return this.#followed >= this.#loadedAt;
  }

  /** Somebody works on one of the runs, so that there may be more to say at any moment. */
  get hasActiveRun(): boolean {
    return this.#jobs.values().some(({ text }) => text?.isRunning === true);
  }

  /** Where to begin to follow the log; `null` when nothing is owed. */
  async load(): Promise<Seq | null> {
    const { log, owner, session } = this.#deps;
    const row = await log.store.reads.session(owner, session);
    if (row === null) return null;
    this.#loadedAt = row.head;
    for (const each of await this.#readOpen()) {
      if (each.state !== "sending") {
        this.#add(each);
        continue;
      }
      const next = await this.#takeOver(each);
      if (next !== null) this.#add(next);
    }
    const begun = [...this.#jobs.values()].map(({ row: owed }) => owed.begun);
    if (begun.length === 0) return null;
    this.#followed = Math.max(0, Math.min(...begun) - 1) as Seq;
    await this.#readApprovals();
    return this.#followed;
  }

  /** P11: whoever was sending it is gone, and nobody knows whether it arrived. Where it counts once anyway, it is sent again. */
  async #takeOver(row: OutboxRow): Promise<OutboxRow | null> {
    const { writer: desk, repeats } = this.#deps;
    if (repeats === "shown") return desk.writeUnknown(row, "host_stopped", null);
    const again: OutboxRow = { ...row, state: "pending" };
    return (await desk.write(again)) ? again : null;
  }

  async #readOpen(): Promise<readonly OutboxRow[]> {
    const { log, owner, session, addressOf: placeOf } = this.#deps;
    const query = { session, states: ["pending", "sending"], limit: maxOpenChunks } as const;
    const rows = await log.store.reads.outbox(owner, query);
    return rows.filter((row) => placeOf(row) !== null);
  }

  /** The chunk is done with; `next` is the one that takes its place, if there is more to come. */
  replace(job: PendingChunk, next: OutboxRow | undefined): void {
    this.#jobs.delete(outboxKey(job.row));
    if (next !== undefined) this.#add(next);
  }

  #add(row: OutboxRow): void {
    const place = this.#deps.addressOf(row);
    if (place === null) return;
    const text = row.kind === "answer" && row.runId !== null ? this.#textOf(row.runId) : null;
    const untouched = { approval: undefined, shownText: null, notBefore: 0 };
    const since = this.#since.get(row.delivery) ?? row.at;
    this.#since.set(row.delivery, since);
    this.#jobs.set(outboxKey(row), {
      ...untouched,
      row,
      address: place,
      text,
      pendingSince: since,
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
    const isNews = seq > this.#loadedAt;
    if (isNews && mayAddChunks(event) && !this.#deps.writer.isOwnEvent(event))
      await this.#loadMore(seq);
    if (event.type === "input.accepted") this.#date(event);
    if (event.type === "approval.asked" && text !== undefined) await this.#ask(text, event);
    if (event.type === "approval.answered" || event.type === "run.state")
      await this.#readApprovals();
    // Only now: who stops here has seen all of it.
    this.#followed = seq;
  }

  /** An answer is as old as what it answers, however often it was tried since. */
  #date({ runId, at }: StoredEvent): void {
    for (const job of this.#jobs.values()) {
      if (job.row.kind !== "answer" || job.row.runId !== runId) continue;
      job.pendingSince = at;
      this.#since.set(job.row.delivery, at);
    }
  }

  /** The numbers up to here need no look, also where no event has them any more. */
  advanceTo(head: Seq): void {
    this.#followed = head;
  }

  /** Something came in since, or a person has asked for a chunk again. */
  async #loadMore(upTo: Seq): Promise<void> {
    const { log, owner, session } = this.#deps;
    for (const row of await this.#readOpen()) {
      if (row.state !== "pending" || this.#jobs.has(outboxKey(row))) continue;
      const isNew = row.runId !== null && !this.#texts.has(row.runId);
      this.#add(row);
      const text = row.runId === null ? undefined : this.#texts.get(row.runId);
      if (!isNew || text === undefined || row.begun > upTo) continue;
      const from = Math.max(0, row.begun - 1) as Seq;
      for (const event of await readEvents(log, { owner, session }, from, upTo)) text.apply(event);
    }
    await this.#readApprovals();
  }

  /** A question is owed to the chat whose run asks, once, however often its log is read. */
  async #ask(text: AnswerText, event: StoredEvent): Promise<void> {
    const decoded = decodeEvent(event);
    if (decoded.kind !== "known" || decoded.event.type !== "approval.asked") return;
    const { approvalId } = decoded.event.data;
    const asking = this.#jobs.values().find((job) => job.text === text)?.row;
    if (asking === undefined) return;
    const { log, owner, session, writer: desk } = this.#deps;
    const delivery = approvalDeliveryId(approvalId);
    const states = outboxState.options;
    const known = await log.store.reads.outbox(owner, { session, delivery, states, limit: 1 });
    if (known.length > 0) return;
    const row: OutboxRow = {
      ...nextChunk(asking),
      delivery,
      chunk: 0,
      kind: "approval",
      approvalId,
      begun: event.seq,
      from: 0,
      to: 0,
    };
    if (await desk.write(row)) this.#add(row);
    await this.#readApprovals();
  }

  async #readApprovals(): Promise<void> {
    const { log, owner } = this.#deps;
    for (const job of this.#jobs.values()) {
      const { approvalId } = job.row;
      if (approvalId !== null) job.approval = await log.store.reads.approval(owner, approvalId);
    }
  }
}

/** Follows from the question, so that it is asked once. */
export function approvalDeliveryId(approval: ApprovalId): DeliveryId {
  return idFromBytes("delivery", createHash("sha256").update(`ask ${approval}`).digest());
}

function mayAddChunks({ type }: StoredEvent): boolean {
  return type === "input.accepted" || type === "outbox.changed";
}
