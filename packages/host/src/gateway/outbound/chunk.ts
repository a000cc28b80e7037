import type { ApprovalRow, OutboxRow, Log } from "@holdfast/engine";
import type { PlatformAdapter, ChatAddress, OutgoingText } from "../adapter.ts";
import type { AnswerText, AnswerSlice } from "./answer-text.ts";
import { type AnswerPlace, approvalMessage } from "../approval-message.ts";
import {
  type EventData,
  type Fence,
  type IdSource,
  newEvent,
  type NewEvent,
  type OwnerId,
  type StoredEvent,
} from "@holdfast/protocol";
import { botStrings } from "../strings.ts";

/** The previous chunk may or may not have arrived; this one says so. */
export const afterUnknown = "after_unknown";
/** The previous file could not be sent; this chunk's message says why. */
export const afterFailed = "after_failed";
/** A person asked for this chunk again, so it is sent exactly as it was. */
export const resent = "resent";
/** A late edit of a host that had lost its lease may have replaced the final text, so it is edited in once more. */
export const overwritten = "overwritten";

/** What follows such a chunk has a row of its own already. */
export const isRepeat = ({ code }: OutboxRow): boolean => code === resent || code === overwritten;

export const unknownNotice =
  "⚠ The host was interrupted while it sent what belongs above this line, and cannot know whether it arrived. Send /resend to see it again.";

/** A chunk that still has to be sent or get its final edit, with what it is built from. */
export interface PendingChunk {
  row: OutboxRow;
  readonly address: ChatAddress;
  /** Set for an answer. */
  readonly text: AnswerText | null;
  /** Set for a question, as last read: `undefined` before that, `null` if it no longer exists. */
  approval: ApprovalRow | null | undefined;
  /** Whether its lane may answer approvals. */
  answered: AnswerPlace;
  /** What the platform shows now, if this process put it there. */
  shownText: string | null;
  /** By the process clock. */
  notBefore: number;
  /** When it was enqueued, by the store's clock. The oldest in a chat goes first. */
  pendingSince: number;
}

interface TextAction {
  readonly message: OutgoingText;
  readonly to: number;
  /** Its final form; until then it grows. */
  readonly isWhole: boolean;
}

export type ChunkAction =
  | { readonly kind: "nothing" }
  | ({ readonly kind: "send" } & TextAction)
  | ({ readonly kind: "edit" } & TextAction)
  | {
      readonly kind: "file";
      readonly file: Extract<AnswerSlice, { kind: "file" }>["file"];
      readonly to: number;
    }
  /** Nothing in it can be shown: continue after it. */
  | { readonly kind: "pass"; readonly to: number }
  | {
      readonly kind: "close";
      readonly state: "sent" | "dropped" | "expired";
      readonly code: string | null;
    };

const noAction: ChunkAction = { kind: "nothing" };

/** An answer or note older than this, by the store's clock, is of no use to anybody. */
const answerTtlMs = 24 * 60 * 60_000;

/** What the platform contributes to the decision. */
type PlatformTraits = Pick<PlatformAdapter, "limits" | "capabilities">;

export function nextAction(
  chunk: PendingChunk,
  platform: PlatformTraits,
  now: number,
): ChunkAction {
  switch (chunk.row.kind) {
    case "answer":
      return answerAction(chunk, platform, now);
    case "approval":
      return approvalAction(chunk, platform);
    case "note":
      return noteAction(chunk, now);
  }
}

function answerAction(
  { row, text, shownText }: PendingChunk,
  { limits, capabilities }: PlatformTraits,
  now: number,
): ChunkAction {
  if (text === null) return noAction;
  const { ending } = text;
  const notice = noticeAbove(row);
  if (ending?.cause === "steered" || ending?.cause === "removed")
    return { kind: "close", state: "dropped", code: ending.cause };
  if (text.isUnchanged) return { kind: "close", state: "dropped", code: "nothing_new" };
  if (ending !== null && row.platformId === null && now - ending.at > answerTtlMs)
    return { kind: "close", state: "expired", code: "too_old" };
  const slice =
    row.code === resent
      ? text.sliceBetween(row.from, row.to)
      : text.sliceAt(row.from, limits.textUnits);
  switch (slice.kind) {
    case "none":
      if (ending === null) return noAction;
      if (notice !== null) return sendOrEdit(row, notice, row.from);
      return { kind: "close", state: "sent", code: null };
    case "blank":
      return { kind: "pass", to: slice.to };
    case "file":
      if (notice !== null) return sendOrEdit(row, notice, row.from);
      if (row.code === overwritten) return { kind: "close", state: "sent", code: null };
      return { kind: "file", file: slice.file, to: slice.to };
    case "text": {
      // Without edits, wait until the text can no longer change.
      if (!slice.isSettled && !capabilities.edits) return noAction;
      if (!slice.isWhole && row.code === overwritten) return noAction;
      const body = notice === null ? slice.text : `${notice}\n\n${slice.text}`;
      if (!slice.isWhole && body === shownText) return noAction;
      return { ...sendOrEdit(row, body, slice.to), isWhole: slice.isWhole };
    }
  }
}

/** What this chunk has to say about the one above it. */
export function noticeAbove({ code, message }: OutboxRow): string | null {
  if (code === afterUnknown) return unknownNotice;
  if (code === overwritten) return message;
  return code === afterFailed ? `⚠ ${message ?? botStrings.fileNotSent}` : null;
}

function sendOrEdit(row: OutboxRow, text: string, to: number): Extract<ChunkAction, TextAction> {
  const kind = row.platformId === null ? "send" : "edit";
  return { kind, message: { text }, to, isWhole: true };
}

function approvalAction(
  { row, approval, answered }: PendingChunk,
  { capabilities: { edits } }: PlatformTraits,
): ChunkAction {
  if (approval === undefined) return noAction;
  if (approval === null) return { kind: "close", state: "dropped", code: "gone" };
  const message = approvalMessage(approval, answered);
  if (approval.state === "open") {
    if (row.platformId !== null) return noAction;
    const text = row.code === afterUnknown ? `${unknownNotice}\n\n${message.text}` : message.text;
    return { kind: "send", message: { ...message, text }, to: row.from, isWhole: !edits };
  }
  if (row.platformId === null) return { kind: "close", state: "dropped", code: "answered" };
  return { kind: "edit", message, to: row.from, isWhole: true };
}

function noteAction({ row, pendingSince }: PendingChunk, now: number): ChunkAction {
  if (row.platformId === null && now - pendingSince > answerTtlMs)
    return { kind: "close", state: "expired", code: "too_old" };
  const text = row.code === afterUnknown ? unknownNotice : (row.text ?? "");
  return { kind: "send", message: { text }, to: row.text?.length ?? 0, isWhole: true };
}

/** The event that records a chunk's new state. */
export function chunkEvent(ids: IdSource, row: OutboxRow): NewEvent {
  const { delivery, chunk, kind, lane, begun, state, from, to, attempts, runId } = row;
  const { approvalId, replyTo, text, platformId, retryAt, code, message } = row;
  const data: EventData<"outbox.changed"> = {
    delivery,
    chunk,
    kind,
    lane,
    begun,
    state,
    from,
    to,
    attempts,
    ...(approvalId !== null && { approvalId }),
    ...(replyTo !== null && { replyTo }),
    ...(text !== null && { text }),
    ...(platformId !== null && { platformId }),
    ...(retryAt !== null && { retryAt }),
    ...(code !== null && { code: code.slice(0, 100) }),
    ...(message !== null && { message: message.slice(0, 500) }),
  };
  return newEvent(ids.make("event"), "outbox.changed", data, runId ?? undefined);
}

/** The pending chunk that follows a finished one. */
export function nextChunk(row: OutboxRow, code: string | null = null): OutboxRow {
  const { to, chunk } = row;
  const initial = { state: "pending", platformId: null, attempts: 0, retryAt: null } as const;
  return {
    ...row,
    ...initial,
    chunk: chunk + 1,
    from: to,
    inbound: null,
    replyTo: null,
    code,
    message: null,
  };
}

/** Writes chunk states under the session's outbox lease: a host that lost the lease can write nothing. */
export class OutboxWriter {
  readonly #log: Log;
  readonly #ids: IdSource;
  readonly #owner: OwnerId;
  readonly #fence: Fence;
  readonly #writtenIds = new Set<string>();

  constructor(log: Log, ids: IdSource, owner: OwnerId, fence: Fence) {
    this.#log = log;
    this.#ids = ids;
    this.#owner = owner;
    this.#fence = fence;
  }

  /** P11: `false` means that nothing was written, and nothing may be sent because of it. */
  async write(...rows: readonly OutboxRow[]): Promise<boolean> {
    const [first] = rows;
    if (first === undefined) return true;
    const events = rows.map((row) => chunkEvent(this.#ids, row));
    for (const { id } of events) this.#writtenIds.add(id);
    const result = await this.#log.commit({
      owner: this.#owner,
      session: first.session,
      events,
      under: { lease: "outbox", fence: this.#fence },
      // Neither the person nor the model did this.
      touch: "quiet",
    });
    return result.status === "committed";
  }

  /**
   * P11: the chunk may or may not have arrived. It is not resent automatically, and the next one says so. `null`:
   * nothing was written.
   */
  async writeUnknown(row: OutboxRow, code: string, message: string | null) {
    const next = row.code === resent ? this.#noteAfter(row) : nextChunk(row, afterUnknown);
    return (await this.write({ ...row, state: "unknown", code, message }, next)) ? next : null;
  }

  /** What follows a resent chunk has long been sent, so only the notice goes out after it. */
  #noteAfter(row: OutboxRow): OutboxRow {
    const note = { kind: "note", text: unknownNotice, chunk: 0, from: 0, to: 0 } as const;
    const delivery = this.#ids.make("delivery");
    return { ...nextChunk(row), ...note, delivery, runId: null, approvalId: null };
  }

  /** Whether an event read back from the log was written here. Answers `true` once per event. */
  isOwnEvent(event: StoredEvent): boolean {
    return this.#writtenIds.delete(event.id);
  }
}
