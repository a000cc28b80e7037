import { z } from "zod";

import { flag, list, number, text } from "../reading/json.ts";
import { attachmentName, type Message, readPageMessage, toMilliseconds } from "./message.ts";

const sidecarSchema = z.object({
  session_id: text,
  title: text,
  manual_title: flag,
  llm_title_generated: flag,
  created_at: number,
  updated_at: number,
  pinned: flag,
  archived: flag,
  project_id: text,
  profile: text,
  workspace: text,
  messages: list,
  active_stream_id: text,
  pending_user_message: z.unknown().optional(),
  pending_attachments: list,
  pending_started_at: number,
  truncation_watermark: number,
  truncation_boundary: number,
  parent_session_id: text,
  session_source: text,
  pre_compression_snapshot: flag,
  is_cli_session: flag,
  input_tokens: number,
  output_tokens: number,
  cache_read_tokens: number,
  cache_write_tokens: number,
  estimated_cost: number,
  model: text,
  composer_draft: z.object({ text, files: list }).nullish().catch(null),
});

export interface Sidecar {
  readonly id: string;
  /** The file, below the home. */
  readonly path: string;
  readonly whole: boolean;
  readonly title: string | null;
  readonly isTitleChosen: boolean;
  readonly createdAt: number | null;
  readonly updatedAt: number | null;
  readonly pinned: boolean;
  readonly archived: boolean;
  readonly projectId: string | null;
  readonly workspace: string | null;
  readonly messages: readonly Message[];
  /** How many of its messages aren't any. */
  readonly unreadable: number;
  readonly stream: string | null;
  readonly pending: {
    readonly text: string;
    readonly at: number | null;
    readonly attachments: readonly string[];
  } | null;
  /** In milliseconds. 0: emptied on purpose. */
  readonly watermark: number | null;
  readonly boundary: number | null;
  readonly parent: string | null;
  readonly isFork: boolean;
  readonly isSnapshot: boolean;
  readonly draft: string | null;
  readonly usage: {
    readonly input: number;
    readonly output: number;
    readonly cacheRead: number;
    readonly cacheWrite: number;
    readonly cost: number;
    readonly model: string | null;
  };
}

export function readSidecar(
  value: unknown,
  { id, path, whole, where }: Pick<Sidecar, "id" | "path" | "whole"> & { readonly where: string },
): Sidecar | null {
  const read = sidecarSchema.safeParse(value).data;
  if (read === undefined) return null;
  const pending =
    typeof read.pending_user_message === "string" && read.pending_user_message !== ""
      ? read.pending_user_message
      : null;
  const messages = read.messages.flatMap((message) => {
    const found = readPageMessage(message, where);
    return found === null ? [] : [found];
  });
  return {
    id,
    path,
    whole,
    messages,
    unreadable: read.messages.length - messages.length,
    title: read.title ?? null,
    isTitleChosen: read.manual_title,
    createdAt: toMilliseconds(read.created_at),
    updatedAt: toMilliseconds(read.updated_at),
    pinned: read.pinned,
    archived: read.archived,
    projectId: read.project_id ?? null,
    workspace: read.workspace ?? null,
    stream: read.active_stream_id ?? null,
    pending:
      pending === null
        ? null
        : {
            text: pending,
            at: toMilliseconds(read.pending_started_at),
            attachments: read.pending_attachments.flatMap(attachmentName),
          },
    watermark: exactMilliseconds(read.truncation_watermark),
    boundary: exactMilliseconds(read.truncation_boundary),
    parent: read.parent_session_id ?? null,
    isFork: read.session_source === "fork",
    isSnapshot: read.pre_compression_snapshot,
    draft: read.composer_draft?.text ?? null,
    usage: {
      input: read.input_tokens ?? 0,
      output: read.output_tokens ?? 0,
      cacheRead: read.cache_read_tokens ?? 0,
      cacheWrite: read.cache_write_tokens ?? 0,
      cost: read.estimated_cost ?? 0,
      model: read.model ?? null,
    },
  };
}

function exactMilliseconds(seconds: number | null | undefined): number | null {
  return seconds == null ? null : seconds * 1000;
}

/**
 * Which of the database's messages the person took back on the page: it has none of them, and they were written before
 * its own cut.
 */
export function undoneOnPage(
  { watermark, boundary, updatedAt, whole, messages }: Sidecar,
  only: readonly { readonly index: number; readonly message: Message }[],
  lastShared: number,
): ReadonlyMap<number, "undo" | "clear"> {
  const undone = new Map<number, "undo" | "clear">();
  if (watermark === null) return undone;
  for (const { index, message } of only) {
    const { at } = message;
    if (watermark === 0) {
      if (messages.length === 0 || index < lastShared) undone.set(index, "clear");
      continue;
    }
    if (boundary === null || at === null || at <= boundary + 1) continue;
    // What was there when the page saved itself, and isn't in what it saved, was taken back.
    const isBeforeSave = whole && updatedAt !== null && at <= updatedAt;
    if (at <= watermark || isBeforeSave) undone.set(index, "undo");
  }
  return undone;
}
