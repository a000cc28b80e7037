import type { OutboxRow } from "@holdfast/engine";
import type { BlobId } from "@holdfast/protocol";

import type { PlatformAdapter, OutgoingFile, SendResult, PlatformFailure } from "../adapter.ts";
import {
  type ChunkAction,
  nextAction,
  afterFailed,
  type PendingChunk,
  unknownNotice,
  nextChunk,
  type OutboxWriter,
} from "./chunk.ts";
import type { OutageMonitor, Pacer } from "./pacing.ts";

export interface SendDeps {
  readonly adapter: PlatformAdapter;
  readonly pacer: Pacer;
  readonly outage: Pick<OutageMonitor, "reportFailure">;
  readonly writer: OutboxWriter;
  /** By the store's clock. */
  readonly now: () => Promise<number>;
  readonly readFile: (blobId: BlobId) => Promise<Uint8Array | null>;
  readonly signal: AbortSignal;
}

/** `lost`: what was to be written could not be; nothing more is ours to send. */
export type SendStepResult =
  | { readonly status: "done"; readonly next?: OutboxRow }
  | { readonly status: "open" }
  | { readonly status: "wait"; readonly ms: number }
  | { readonly status: "lost" };

type FileAction = Extract<ChunkAction, { kind: "file" }>;
type SendAction = FileAction | Extract<ChunkAction, { kind: "send" }>;

const firstRetryMs = 1_000;
/** A host that stops waits for what is under way: broken off, nobody would know whether it arrived. */
const sendTimeoutMs = 30_000;
const maxRetryMs = 60_000;

/** Takes a chunk one step further, in its place's turn. What is sent is what stands there when the turn has come. */
export async function sendStep(deps: SendDeps, job: PendingChunk): Promise<SendStepResult> {
  const { adapter, pacer, signal } = deps;
  const first = nextAction(job, adapter, await deps.now());
  if (first.kind === "nothing") return { status: "open" };
  if (first.kind === "close") return closeChunk(deps, job.row, first);
  if (first.kind === "pass") return skipBlank(deps, job.row, first.to);
  const urgency = first.kind === "edit" && !first.isWhole ? "growing" : "new";
  const result = await pacer.runPaced(job.address, urgency, signal, async () => {
    const action = nextAction(job, adapter, await deps.now());
    switch (action.kind) {
      case "send":
      case "file":
        return sendNew(deps, job, action);
      case "edit":
        return editChunk(deps, job, action);
      default:
        return { status: "open" } as const;
    }
  });
  return result ?? { status: "lost" };
}

async function closeChunk(
  { writer: desk }: SendDeps,
  row: OutboxRow,
  { state, code }: Extract<ChunkAction, { kind: "close" }>,
): Promise<SendStepResult> {
  return (await desk.write({ ...row, state, code })) ? { status: "done" } : { status: "lost" };
}

async function skipBlank(
  { writer: desk }: SendDeps,
  row: OutboxRow,
  to: number,
): Promise<SendStepResult> {
  const next = { ...row, from: to, to };
  return (await desk.write(next)) ? { status: "done", next } : { status: "lost" };
}

/** P11: that it is being sent is durable before it is sent, so that a crash in between is known to have been one. */
async function sendNew(
  deps: SendDeps,
  job: PendingChunk,
  action: SendAction,
): Promise<SendStepResult> {
  const { writer: desk } = deps;
  const attempts = job.row.attempts + 1;
  const sending: OutboxRow = {
    ...job.row,
    state: "sending",
    to: action.to,
    attempts,
    retryAt: null,
  };
  // Before anything is said of sending: what cannot be read was certainly not sent.
  const file = action.kind === "file" ? await readFile(deps, action) : null;
  if (!(await desk.write(sending))) return { status: "lost" };
  const sent = await callAdapter(deps, job, action, file);
  if (sent.status === "unwanted")
    return closeChunk(deps, sending, { kind: "close", state: "dropped", code: sent.code });
  if (sent.status !== "sent") return handleFailure(deps, job, sending, action, sent);
  const { platformId } = sent;
  const isWhole = action.kind === "file" || action.isWhole;
  if (action.kind === "send") job.shownText = action.message.text;
  const shown = { ...sending, platformId };
  if (isWhole) return finishChunk(deps, job, shown);
  const open: OutboxRow = { ...shown, state: "pending" };
  if (!(await desk.write(open))) return { status: "lost" };
  job.row = open;
  return { status: "open" };
}

async function callAdapter(
  { adapter }: SendDeps,
  { address: place, row }: PendingChunk,
  action: SendAction,
  file: OutgoingFile | null,
): Promise<SendResult> {
  const patience = AbortSignal.timeout(sendTimeoutMs);
  const parcel = { id: `${row.delivery}_${row.chunk}`, replyTo: row.replyTo };
  if (action.kind === "send") return adapter.send(place, action.message, parcel, patience);
  return file === null ? blobGone : adapter.sendFile(place, file, parcel, patience);
}

async function readFile(deps: SendDeps, { file }: FileAction): Promise<OutgoingFile | null> {
  const { type, name = "image", mediaType, blobId } = file;
  const bytes = await deps.readFile(blobId);
  return bytes && { kind: type, name, mediaType, bytes };
}

const blobGone: PlatformFailure = {
  status: "refused",
  code: "blob_not_found",
  message: "The file is not there any more.",
};

/** The last form of a chunk is on the platform: it is done with, and what follows it is the next. */
async function finishChunk(
  { writer: desk }: SendDeps,
  { text }: PendingChunk,
  row: OutboxRow,
): Promise<SendStepResult> {
  const sent: OutboxRow = { ...row, state: "sent", code: null, message: null };
  const isResent = row.code === "resent";
  const isEnd = text === null || (text.ending !== null && row.to >= text.length);
  const next = isEnd || isResent ? undefined : nextChunk(row);
  if (!(await desk.write(sent, ...(next === undefined ? [] : [next])))) return { status: "lost" };
  return { status: "done", ...(next && { next }) };
}

async function handleFailure(
  deps: SendDeps,
  job: PendingChunk,
  row: OutboxRow,
  action: SendAction,
  trouble: PlatformFailure,
): Promise<SendStepResult> {
  const { writer: desk } = deps;
  const { code, message } = trouble;
  deps.outage.reportFailure(trouble);
  switch (trouble.status) {
    case "later":
      return scheduleRetry(deps, job, row, trouble);
    case "refused": {
      const failed: OutboxRow = { ...row, state: "failed", code, message };
      const next = action.kind === "file" ? chunkAfterFailedFile(row, action, message) : undefined;
      if (!(await desk.write(failed, ...(next ? [next] : [])))) return { status: "lost" };
      return { status: "done", ...(next && { next }) };
    }
    case "unknown": {
      // A line that says nothing but that something may be missing does no harm twice.
      const isMark = action.kind === "send" && action.message.text === unknownNotice;
      const isHarmless = isMark || deps.adapter.capabilities.repeats === "dropped";
      if (isHarmless) return scheduleRetry(deps, job, row, { afterMs: firstRetryMs, message });
      const next = await desk.writeUnknown(row, code, message);
      return next === null ? { status: "lost" } : { status: "done", next };
    }
  }
}

async function scheduleRetry(
  { writer: desk, pacer, now }: SendDeps,
  job: PendingChunk,
  row: OutboxRow,
  { afterMs, message }: { readonly afterMs: number; readonly message: string },
): Promise<SendStepResult> {
  const ms = retryDelayMs(row.attempts, afterMs);
  pacer.delayChat(job.address, afterMs);
  const retryAt = (await now()) + ms;
  const again: OutboxRow = { ...row, state: "pending", to: job.row.to, retryAt, message };
  if (!(await desk.write(again))) return { status: "lost" };
  job.row = again;
  return { status: "wait", ms };
}

/** What was said behind a file that nobody gets is still said, under a line about the file. */
function chunkAfterFailedFile(row: OutboxRow, { file }: FileAction, why: string): OutboxRow {
  const message = `${file.name ?? "A picture"} could not be sent: ${why}`;
  return { ...nextChunk(row, afterFailed), message };
}

/** An edit can be made again: it is the same once and twice. */
async function editChunk(
  deps: SendDeps,
  job: PendingChunk,
  { message: words, to, isWhole }: Extract<ChunkAction, { kind: "edit" }>,
): Promise<SendStepResult> {
  const { adapter, writer: desk, pacer, outage } = deps;
  const { address: place, row } = job;
  if (row.platformId === null) return { status: "open" };
  const isShown = words.text === job.shownText && words.buttons === undefined;
  const edited = isShown
    ? ({ status: "edited" } as const)
    : await adapter.edit(place, row.platformId, words, AbortSignal.timeout(sendTimeoutMs));
  switch (edited.status) {
    case "edited":
      job.shownText = words.text;
      return isWhole ? finishChunk(deps, job, { ...row, to }) : { status: "open" };
    case "refused": {
      const { code, message } = edited;
      if (!isWhole) return { status: "wait", ms: maxRetryMs };
      const next = row.kind === "answer" ? nextChunk({ ...row, to }) : undefined;
      const failed: OutboxRow = { ...row, to, state: "failed", code, message };
      if (!(await desk.write(failed, ...(next ? [next] : [])))) return { status: "lost" };
      return { status: "done", ...(next && { next }) };
    }
    case "later":
    case "unknown": {
      outage.reportFailure(edited);
      const ms = edited.status === "later" ? edited.afterMs : firstRetryMs;
      pacer.delayChat(place, ms);
      return { status: "wait", ms };
    }
  }
}

function retryDelayMs(attempts: number, asked: number): number {
  return Math.max(asked, Math.min(maxRetryMs, firstRetryMs * 2 ** Math.min(attempts - 1, 10)));
}
