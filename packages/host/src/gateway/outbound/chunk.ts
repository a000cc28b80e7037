import type { ApprovalRow, OutboxRow, Log } from "@holdfast/engine";
import type { PlatformAdapter, ChatAddress, OutgoingText } from "../adapter.ts";
import type { AnswerText, AnswerSlice } from "./answer-text.ts";
import { approvalMessage } from "../approval-message.ts";
import {
  type EventData,
  type Fence,
  type IdSource,
  newEvent,
  type NewEvent,
  type OwnerId,
  type StoredEvent,
} from "@holdfast/protocol";

/** What stands above may or may not have arrived: that is said where a person sees it. */
export const afterUnknown = "after_unknown";
/** The file above could not be sent, and the message of the chunk says why. */
export const afterFailed = "after_failed";
/** A person has asked for it again, so it is exactly what it was. */
export const resent = "resent";

export const unknownNotice =
  "⚠ The host was interrupted while it sent what belongs above this line, and cannot know whether it arrived. Send /resend to see it again.";

/** A chunk that is still to be sent or to get its last form, with what it is made from. */
export interface PendingChunk {
  row: OutboxRow;
  readonly address: ChatAddress;
  /** Of an answer. */
  readonly text: AnswerText | null;
  /** Of a question, as it was last read; `undefined` before that, and `null` when there is none. */
  approval: ApprovalRow | null | undefined;
  /** What the platform shows now, where we have put it. */
  shownText: string | null;
  /** By our own clock: not before then. */
  notBefore: number;
  /** By the store's clock: when it came to be owed. Of several in a chat the oldest goes first. */
  pendingSince: number;
}

interface TextAction {
  readonly message: OutgoingText;
  readonly to: number;
  /** Its last form; until then it grows. */
  readonly isWhole: boolean;
}

/** What to do with a chunk now. */
export type ChunkAction =
  | { readonly kind: "nothing" }
  | ({ readonly kind: "send" } & TextAction)
  | ({ readonly kind: "edit" } & TextAction)
  | {
      readonly kind: "file";
      readonly file: Extract<AnswerSlice, { kind: "file" }>["file"];
      readonly to: number;
    }
  /** Nothing of it can be shown: go on behind it. */
  | { readonly kind: "pass"; readonly to: number }
  | {
      readonly kind: "close";
      readonly state: "sent" | "dropped" | "expired";
      readonly code: string | null;
    };

const noAction: ChunkAction = { kind: "nothing" };

/** Older than this, by the store's clock, an answer or a line of ours says nothing to anybody any more. */
const answerTtlMs = 24 * 60 * 60_000;

/** Where it goes to, as far as that decides what is sent. */
type PlatformTraits = Pick<PlatformAdapter, "limits" | "capabilities">;

export function nextAction(job: PendingChunk, platform: PlatformTraits, now: number): ChunkAction {
  switch (job.row.kind) {
    case "answer":
      return answerAction(job, platform, now);
    case "approval":
      return approvalAction(job, platform);
    case "note":
      return noteAction(job, now);
  }
}

function answerAction(
  { row, text, shownText: shown }: PendingChunk,
  { limits, capabilities }: PlatformTraits,
  now: number,
): ChunkAction {
  if (text === null) return noAction;
  const { ending } = text;
  const above = noticeAbove(row);
  if (ending?.cause === "steered" || ending?.cause === "removed")
    return { kind: "close", state: "dropped", code: ending.cause };
  if (ending !== null && row.platformId === null && now - ending.at > answerTtlMs)
    return { kind: "close", state: "expired", code: "too_old" };
  const piece =
    row.code === resent
      ? text.sliceBetween(row.from, row.to)
      : text.sliceAt(row.from, limits.textUnits);
  switch (piece.kind) {
    case "none":
      if (ending === null) return noAction;
      if (above !== null) return sendOrEdit(row, above, row.from);
      return { kind: "close", state: "sent", code: null };
    case "blank":
      return { kind: "pass", to: piece.to };
    case "file":
      if (above !== null) return sendOrEdit(row, above, row.from);
      return { kind: "file", file: piece.file, to: piece.to };
    case "words": {
      // What cannot be changed is said when nothing changes it any more.
      if (!piece.isSettled && !capabilities.edits) return noAction;
      const said = above === null ? piece.text : `${above}\n\n${piece.text}`;
      if (!piece.isWhole && said === shown) return noAction;
      return { ...sendOrEdit(row, said, piece.to), isWhole: piece.isWhole };
    }
  }
}

/** What has to be said of what stands above a chunk, in the chunk itself. */
function noticeAbove({ code, message }: OutboxRow): string | null {
  if (code === afterUnknown) return unknownNotice;
  return code === afterFailed ? `⚠ ${message ?? "A file could not be sent."}` : null;
}

function sendOrEdit(row: OutboxRow, text: string, to: number): Extract<ChunkAction, TextAction> {
  const kind = row.platformId === null ? "send" : "edit";
  return { kind, message: { text }, to, isWhole: true };
}

function approvalAction(
  { row, approval }: PendingChunk,
  { capabilities: { edits } }: PlatformTraits,
): ChunkAction {
  if (approval === undefined) return noAction;
  if (approval === null) return { kind: "close", state: "dropped", code: "gone" };
  const words = approvalMessage(approval);
  if (approval.state === "open") {
    if (row.platformId !== null) return noAction;
    const text = row.code === afterUnknown ? `${unknownNotice}\n\n${words.text}` : words.text;
    return { kind: "send", message: { ...words, text }, to: row.from, isWhole: !edits };
  }
  if (row.platformId === null) return { kind: "close", state: "dropped", code: "answered" };
  return { kind: "edit", message: words, to: row.from, isWhole: true };
}

function noteAction({ row, pendingSince: since }: PendingChunk, now: number): ChunkAction {
  if (row.platformId === null && now - since > answerTtlMs)
    return { kind: "close", state: "expired", code: "too_old" };
  const text = row.code === afterUnknown ? unknownNotice : (row.text ?? "");
  return { kind: "send", message: { text }, to: row.text?.length ?? 0, isWhole: true };
}

/** The event that says what a chunk is from here on. */
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

/** The chunk behind one that is done with, still to be sent. */
export function nextChunk(row: OutboxRow, code: string | null = null): OutboxRow {
  const { to, chunk } = row;
  const untouched = { state: "pending", platformId: null, attempts: 0, retryAt: null } as const;
  return {
    ...row,
    ...untouched,
    chunk: chunk + 1,
    from: to,
    inbound: null,
    replyTo: null,
    code,
    message: null,
  };
}

/** Writes what becomes of chunks, under the session's outbox lease: who has lost it writes nothing any more. */
export class OutboxWriter {
  readonly #log: Log;
  readonly #ids: IdSource;
  readonly #owner: OwnerId;
  readonly #fence: Fence;
  readonly #wrote = new Set<string>();

  constructor(log: Log, ids: IdSource, owner: OwnerId, fence: Fence) {
    this.#log = log;
    this.#ids = ids;
    this.#owner = owner;
    this.#fence = fence;
  }

  /** P11: `false` says that nothing was written, and nothing may be sent on the strength of it. */
  async write(...rows: readonly OutboxRow[]): Promise<boolean> {
    const [first] = rows;
    if (first === undefined) return true;
    const events = rows.map((row) => chunkEvent(this.#ids, row));
    for (const { id } of events) this.#wrote.add(id);
    const result = await this.#log.commit({
      owner: this.#owner,
      session: first.session,
      events,
      under: { lease: "outbox", fence: this.#fence },
      // Nothing of this is the person's or the model's doing.
      touch: "quiet",
    });
    return result.status === "committed";
  }

  /** P11: it may have arrived or not. It is not sent again by itself, and what goes out next says so; `null`: nothing was written. */
  async writeUnknown(row: OutboxRow, code: string, message: string | null) {
    const next = row.code === resent ? this.#noteBehind(row) : nextChunk(row, afterUnknown);
    return (await this.write({ ...row, state: "unknown", code, message }, next)) ? next : null;
  }

  /** What follows a chunk that a person wanted again is out already: the mark alone goes out behind it. */
  #noteBehind(row: OutboxRow): OutboxRow {
    const note = { kind: "note", text: unknownNotice, chunk: 0, from: 0, to: 0 } as const;
    const delivery = this.#ids.make("delivery");
    return { ...nextChunk(row), ...note, delivery, runId: null, approvalId: null };
  }

  /** Whether an event that is read back was written here; it is asked once for each. */
  isOwnEvent(event: StoredEvent): boolean {
    return this.#wrote.delete(event.id);
  }
}
