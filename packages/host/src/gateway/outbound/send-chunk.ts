import type { OutboxRow } from "@holdfast/engine";
import { backoffMs, type BlobId } from "@holdfast/protocol";

import type { PlatformAdapter, OutgoingFile, SendResult, PlatformFailure } from "../adapter.ts";
import {
  type ChunkAction,
  nextAction,
  afterFailed,
  type PendingChunk,
  unknownNotice,
  isRepeat,
  nextChunk,
  type OutboxWriter,
} from "./chunk.ts";
import type { OutageMonitor, Pacer } from "./pacing.ts";
import { botStrings } from "../strings.ts";

export interface SendDeps {
  readonly adapter: PlatformAdapter;
  readonly pacer: Pacer;
  readonly outage: Pick<OutageMonitor, "reportFailure">;
  readonly writer: OutboxWriter;
  /** By the store's clock. */
  readonly now: () => Promise<number>;
  readonly readFile: (blobId: BlobId) => Promise<Uint8Array | null>;
  readonly signal: AbortSignal;
  /** Whether the session's outbox lease is ours. */
  readonly isHeld: () => boolean;
}

/**
 * - `lost`: the state could not be written, so we may send nothing more.
 * - `late`: so is the lease, and an edit may have arrived after the next holder's.
 */
export type SendStepResult =
  | { readonly status: "done"; readonly next?: OutboxRow }
  | { readonly status: "open" }
  | { readonly status: "wait"; readonly ms: number }
  | { readonly status: "lost" }
  | { readonly status: "late" };

type FileAction = Extract<ChunkAction, { kind: "file" }>;
type SendAction = FileAction | Extract<ChunkAction, { kind: "send" }>;

const firstRetryMs = 1_000;
/** A stopping host waits this long for sends in flight: nobody would know whether an aborted one arrived. */
const sendTimeoutMs = 30_000;
const maxRetryMs = 60_000;
const retryBackoff = { firstMs: firstRetryMs, longestMs: maxRetryMs };

/** Advances a chunk by one step when its chat's turn comes. The content is decided at that moment. */
export async function sendStep(deps: SendDeps, chunk: PendingChunk): Promise<SendStepResult> {
  const { adapter, pacer, signal } = deps;
  const first = nextAction(chunk, adapter, await deps.now());
  if (first.kind === "nothing") return { status: "open" };
  if (first.kind === "close") return closeChunk(deps, chunk.row, first);
  if (first.kind === "pass") return skipBlank(deps, chunk.row, first.to);
  const priority = first.kind === "edit" && !first.isWhole ? "growing" : "new";
  const result = await pacer.runPaced(chunk.address, priority, signal, async () => {
    const action = nextAction(chunk, adapter, await deps.now());
    switch (action.kind) {
      case "send":
      case "file":
        return sendNew(deps, chunk, action);
      case "edit":
        return editChunk(deps, chunk, action);
      default:
        return { status: "open" } as const;
    }
  });
  return result ?? { status: "lost" };
}

async function closeChunk(
  { writer }: SendDeps,
  row: OutboxRow,
  { state, code }: Extract<ChunkAction, { kind: "close" }>,
): Promise<SendStepResult> {
  return (await writer.write({ ...row, state, code })) ? { status: "done" } : { status: "lost" };
}

async function skipBlank(
  { writer }: SendDeps,
  row: OutboxRow,
  to: number,
): Promise<SendStepResult> {
  const next = { ...row, from: to, to };
  return (await writer.write(next)) ? { status: "done", next } : { status: "lost" };
}

/** P11: the `sending` state is durable before the send, so a crash in between is detected. */
async function sendNew(
  deps: SendDeps,
  chunk: PendingChunk,
  action: SendAction,
): Promise<SendStepResult> {
  const { writer } = deps;
  const attempts = chunk.row.attempts + 1;
  const sending: OutboxRow = {
    ...chunk.row,
    state: "sending",
    to: action.to,
    attempts,
    retryAt: null,
  };
  // Read before `sending` is written: a file that cannot be read was certainly not sent.
  const file = action.kind === "file" ? await readFile(deps, action) : null;
  if (!(await writer.write(sending))) return { status: "lost" };
  const sent = await callAdapter(deps, chunk, action, file);
  if (sent.status === "unwanted")
    return closeChunk(deps, sending, { kind: "close", state: "dropped", code: sent.code });
  if (sent.status !== "sent") return handleFailure(deps, chunk, sending, action, sent);
  const { platformId } = sent;
  const isWhole = action.kind === "file" || action.isWhole;
  if (action.kind === "send") chunk.shownText = action.message.text;
  const shown = { ...sending, platformId };
  if (isWhole) return finishChunk(deps, chunk, shown);
  const open: OutboxRow = { ...shown, state: "pending" };
  if (!(await writer.write(open))) return { status: "lost" };
  chunk.row = open;
  return { status: "open" };
}

async function callAdapter(
  { adapter }: SendDeps,
  { address, row }: PendingChunk,
  action: SendAction,
  file: OutgoingFile | null,
): Promise<SendResult> {
  const timeout = AbortSignal.timeout(sendTimeoutMs);
  const meta = { id: `${row.delivery}_${row.chunk}`, replyTo: row.replyTo };
  if (action.kind === "send") return adapter.send(address, action.message, meta, timeout);
  return file === null ? blobGone : adapter.sendFile(address, file, meta, timeout);
}

async function readFile(deps: SendDeps, { file }: FileAction): Promise<OutgoingFile | null> {
  const { type, name = "image", mediaType, blobId } = file;
  const bytes = await deps.readFile(blobId);
  return bytes && { kind: type, name, mediaType, bytes };
}

const blobGone: PlatformFailure = {
  status: "refused",
  code: "blob_not_found",
  message: botStrings.fileMissing,
};

/** The chunk's final form is on the platform: it is finished, and the next one follows. */
async function finishChunk(
  { writer }: SendDeps,
  { text }: PendingChunk,
  row: OutboxRow,
): Promise<SendStepResult> {
  const sent: OutboxRow = { ...row, state: "sent", code: null, message: null };
  const isLast = text === null || (text.ending !== null && row.to >= text.length);
  const next = isLast || isRepeat(row) ? undefined : nextChunk(row);
  if (!(await writer.write(sent, ...(next === undefined ? [] : [next])))) return { status: "lost" };
  return { status: "done", ...(next && { next }) };
}

async function handleFailure(
  deps: SendDeps,
  chunk: PendingChunk,
  row: OutboxRow,
  action: SendAction,
  failure: PlatformFailure,
): Promise<SendStepResult> {
  const { writer } = deps;
  const { code, message } = failure;
  deps.outage.reportFailure(failure);
  switch (failure.status) {
    case "later":
      return scheduleRetry(deps, chunk, row, failure);
    case "refused": {
      const failed: OutboxRow = { ...row, state: "failed", code, message };
      const next = action.kind === "file" ? chunkAfterFailedFile(row, action, message) : undefined;
      if (!(await writer.write(failed, ...(next ? [next] : [])))) return { status: "lost" };
      return { status: "done", ...(next && { next }) };
    }
    case "unknown": {
      // A notice that something may be missing does no harm when shown twice.
      const isNotice = action.kind === "send" && action.message.text === unknownNotice;
      const mayRepeat = isNotice || deps.adapter.capabilities.repeats === "dropped";
      if (mayRepeat) return scheduleRetry(deps, chunk, row, { afterMs: firstRetryMs, message });
      const next = await writer.writeUnknown(row, code, message);
      return next === null ? { status: "lost" } : { status: "done", next };
    }
  }
}

async function scheduleRetry(
  { writer, pacer, now }: SendDeps,
  chunk: PendingChunk,
  row: OutboxRow,
  { afterMs, message }: { readonly afterMs: number; readonly message: string },
): Promise<SendStepResult> {
  const ms = retryDelayMs(row.attempts, afterMs);
  pacer.delayChat(chunk.address, afterMs);
  const retryAt = (await now()) + ms;
  const retry: OutboxRow = { ...row, state: "pending", to: chunk.row.to, retryAt, message };
  if (!(await writer.write(retry))) return { status: "lost" };
  chunk.row = retry;
  return { status: "wait", ms };
}

/** The text after a file that failed is still sent, below a line about the file. */
function chunkAfterFailedFile(row: OutboxRow, { file }: FileAction, reason: string): OutboxRow {
  const message = `${file.name ?? "A picture"} could not be sent: ${reason}`;
  return { ...nextChunk(row, afterFailed), message };
}

/** Edits are idempotent, so they can be retried freely. */
async function editChunk(
  deps: SendDeps,
  chunk: PendingChunk,
  { message, to, isWhole }: Extract<ChunkAction, { kind: "edit" }>,
): Promise<SendStepResult> {
  const { adapter, writer, pacer, outage } = deps;
  const { address, row } = chunk;
  if (row.platformId === null) return { status: "open" };
  const isShown = message.text === chunk.shownText && message.buttons === undefined;
  if (!deps.isHeld()) return { status: "lost" };
  const edited = isShown
    ? ({ status: "edited" } as const)
    : await adapter.edit(address, row.platformId, message, AbortSignal.timeout(sendTimeoutMs));
  const mayHaveArrived = !isShown && (edited.status === "edited" || edited.status === "unknown");
  // The final text is the same on each host.
  if (mayHaveArrived && !isWhole && !deps.isHeld()) return { status: "late" };
  switch (edited.status) {
    case "edited":
      chunk.shownText = message.text;
      return isWhole ? finishChunk(deps, chunk, { ...row, to }) : { status: "open" };
    case "refused": {
      const { code, message: reason } = edited;
      if (!isWhole) return { status: "wait", ms: maxRetryMs };
      const hasNext = row.kind === "answer" && !isRepeat(row);
      const next = hasNext ? nextChunk({ ...row, to }) : undefined;
      const failed: OutboxRow = { ...row, to, state: "failed", code, message: reason };
      if (!(await writer.write(failed, ...(next ? [next] : [])))) return { status: "lost" };
      return { status: "done", ...(next && { next }) };
    }
    case "later":
    case "unknown": {
      outage.reportFailure(edited);
      const ms = edited.status === "later" ? edited.afterMs : firstRetryMs;
      pacer.delayChat(address, ms);
      return { status: "wait", ms };
    }
  }
}

function retryDelayMs(attempts: number, requestedMs: number): number {
  return Math.max(requestedMs, backoffMs(retryBackoff, attempts - 1));
}
