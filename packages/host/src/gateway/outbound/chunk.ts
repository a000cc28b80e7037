import type { ApprovalRow, OutboxRow } from "@holdfast/engine";

import type { Adapter, Place, Words } from "../adapter.ts";
import type { AnswerText, Piece } from "./gateway-answer-text.ts";
import { approvalWords } from "../approval-words.ts";

/** What stands above may or may not have arrived: that is said where a person sees it. */
export const afterUnknown = "after_unknown";
/** The file above could not be sent, and the message of the chunk says why. */
export const afterFailed = "after_failed";
/** A person has asked for it again, so it is exactly what it was. */
export const resent = "resent";

export const mark =
  "⚠ The host was interrupted while it sent what belongs above this line, and cannot know whether it arrived. Send /resend to see it again.";

/** A chunk that is still to be sent or to get its last form, with what it is made from. */
export interface ChunkJob {
  row: OutboxRow;
  readonly place: Place;
  /** Of an answer. */
  readonly text: AnswerText | null;
  /** Of a question, as it was last read; `undefined` before that, and `null` when there is none. */
  approval: ApprovalRow | null | undefined;
  /** What the platform shows now, where we have put it. */
  shown: string | null;
  /** By our own clock: not before then. */
  notBefore: number;
  /** By the store's clock: when it came to be owed. Of several in a chat the oldest goes first. */
  since: number;
}

interface Saying {
  readonly words: Words;
  readonly to: number;
  /** Its last form; until then it grows. */
  readonly isWhole: boolean;
}

/** What to do with a chunk now. */
export type Action =
  | { readonly kind: "nothing" }
  | ({ readonly kind: "send" } & Saying)
  | ({ readonly kind: "edit" } & Saying)
  | {
      readonly kind: "file";
      readonly file: Extract<Piece, { kind: "file" }>["file"];
      readonly to: number;
    }
  /** Nothing of it can be shown: go on behind it. */
  | { readonly kind: "pass"; readonly to: number }
  | {
      readonly kind: "close";
      readonly state: "sent" | "dropped" | "expired";
      readonly code: string | null;
    };

const nothing: Action = { kind: "nothing" };

/** Older than this, by the store's clock, an answer or a line of ours says nothing to anybody any more. */
const answerLifeMs = 24 * 60 * 60_000;

/** Where it goes to, as far as that decides what is sent. */
type Platform = Pick<Adapter, "limits" | "capabilities">;

export function actionOf(job: ChunkJob, platform: Platform, now: number): Action {
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
  { row, text, shown }: ChunkJob,
  { limits, capabilities }: Platform,
  now: number,
): Action {
  if (text === null) return nothing;
  const { ending } = text;
  const above = lineAbove(row);
  if (ending?.cause === "steered" || ending?.cause === "removed")
    return { kind: "close", state: "dropped", code: ending.cause };
  if (ending !== null && row.platformId === null && now - ending.at > answerLifeMs)
    return { kind: "close", state: "expired", code: "too_old" };
  const piece =
    row.code === resent
      ? text.pieceBetween(row.from, row.to)
      : text.pieceAt(row.from, limits.textUnits);
  switch (piece.kind) {
    case "none":
      if (ending === null) return nothing;
      if (above !== null) return say(row, above, row.from);
      return { kind: "close", state: "sent", code: null };
    case "blank":
      return { kind: "pass", to: piece.to };
    case "file":
      if (above !== null) return say(row, above, row.from);
      return { kind: "file", file: piece.file, to: piece.to };
    case "words": {
      // What cannot be changed is said when nothing changes it any more.
      if (!piece.isSettled && !capabilities.edits) return nothing;
      const said = above === null ? piece.text : `${above}\n\n${piece.text}`;
      if (!piece.isWhole && said === shown) return nothing;
      return { ...say(row, said, piece.to), isWhole: piece.isWhole };
    }
  }
}

/** What has to be said of what stands above a chunk, in the chunk itself. */
function lineAbove({ code, message }: OutboxRow): string | null {
  if (code === afterUnknown) return mark;
  return code === afterFailed ? `⚠ ${message ?? "A file could not be sent."}` : null;
}

function say(row: OutboxRow, text: string, to: number): Extract<Action, Saying> {
  const kind = row.platformId === null ? "send" : "edit";
  return { kind, words: { text }, to, isWhole: true };
}

function approvalAction(
  { row, approval }: ChunkJob,
  { capabilities: { edits } }: Platform,
): Action {
  if (approval === undefined) return nothing;
  if (approval === null) return { kind: "close", state: "dropped", code: "gone" };
  const words = approvalWords(approval);
  if (approval.state === "open") {
    if (row.platformId !== null) return nothing;
    const text = row.code === afterUnknown ? `${mark}\n\n${words.text}` : words.text;
    return { kind: "send", words: { ...words, text }, to: row.from, isWhole: !edits };
  }
  if (row.platformId === null) return { kind: "close", state: "dropped", code: "answered" };
  return { kind: "edit", words, to: row.from, isWhole: true };
}

function noteAction({ row, since }: ChunkJob, now: number): Action {
  if (row.platformId === null && now - since > answerLifeMs)
    return { kind: "close", state: "expired", code: "too_old" };
  const text = row.code === afterUnknown ? mark : (row.text ?? "");
  return { kind: "send", words: { text }, to: row.text?.length ?? 0, isWhole: true };
}
