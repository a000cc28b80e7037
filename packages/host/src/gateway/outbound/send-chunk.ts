import type { OutboxRow } from "@holdfast/engine";
import type { BlobId } from "@holdfast/protocol";

import type { Adapter, OutgoingFile, Sent, Trouble } from "../adapter.ts";
import { type Action, actionOf, afterFailed, type ChunkJob, mark } from "./chunk.ts";
import { chunkAfter, type OutboxDesk } from "./outbox-desk.ts";
import type { Outage } from "./outage.ts";
import type { Pacer } from "./pace.ts";

export interface SendDeps {
  readonly adapter: Adapter;
  readonly pacer: Pacer;
  readonly outage: Pick<Outage, "met">;
  readonly desk: OutboxDesk;
  /** By the store's clock. */
  readonly now: () => Promise<number>;
  readonly readFile: (blobId: BlobId) => Promise<Uint8Array | null>;
  readonly signal: AbortSignal;
}

/** `lost`: what was to be written could not be; nothing more is ours to send. */
export type StepResult =
  | { readonly status: "done"; readonly next?: OutboxRow }
  | { readonly status: "open" }
  | { readonly status: "wait"; readonly ms: number }
  | { readonly status: "lost" };

type FileAction = Extract<Action, { kind: "file" }>;
type SendAction = FileAction | Extract<Action, { kind: "send" }>;

const firstPauseMs = 1_000;
/** A host that stops waits for what is under way: broken off, nobody would know whether it arrived. */
const sendPatienceMs = 30_000;
const longestPauseMs = 60_000;

/** Takes a chunk one step further, in its place's turn. What is sent is what stands there when the turn has come. */
export async function takeStep(deps: SendDeps, job: ChunkJob): Promise<StepResult> {
  const { adapter, pacer, signal } = deps;
  const first = actionOf(job, adapter, await deps.now());
  if (first.kind === "nothing") return { status: "open" };
  if (first.kind === "close") return close(deps, job.row, first);
  if (first.kind === "pass") return pass(deps, job.row, first.to);
  const urgency = first.kind === "edit" && !first.isWhole ? "growing" : "new";
  const result = await pacer.inTurn(job.place, urgency, signal, async () => {
    const action = actionOf(job, adapter, await deps.now());
    switch (action.kind) {
      case "send":
      case "file":
        return send(deps, job, action);
      case "edit":
        return edit(deps, job, action);
      default:
        return { status: "open" } as const;
    }
  });
  return result ?? { status: "lost" };
}

async function close(
  { desk }: SendDeps,
  row: OutboxRow,
  { state, code }: Extract<Action, { kind: "close" }>,
): Promise<StepResult> {
  return (await desk.write({ ...row, state, code })) ? { status: "done" } : { status: "lost" };
}

async function pass({ desk }: SendDeps, row: OutboxRow, to: number): Promise<StepResult> {
  const next = { ...row, from: to, to };
  return (await desk.write(next)) ? { status: "done", next } : { status: "lost" };
}

/** P11: that it is being sent is durable before it is sent, so that a crash in between is known to have been one. */
async function send(deps: SendDeps, job: ChunkJob, action: SendAction): Promise<StepResult> {
  const { desk } = deps;
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
  const sent = await call(deps, job, action, file);
  if (sent.status === "unwanted")
    return close(deps, sending, { kind: "close", state: "dropped", code: sent.code });
  if (sent.status !== "sent") return unsent(deps, job, sending, action, sent);
  const { platformId } = sent;
  const isWhole = action.kind === "file" || action.isWhole;
  if (action.kind === "send") job.shown = action.words.text;
  const shown = { ...sending, platformId };
  if (isWhole) return finish(deps, job, shown);
  const open: OutboxRow = { ...shown, state: "pending" };
  if (!(await desk.write(open))) return { status: "lost" };
  job.row = open;
  return { status: "open" };
}

async function call(
  { adapter }: SendDeps,
  { place, row }: ChunkJob,
  action: SendAction,
  file: OutgoingFile | null,
): Promise<Sent> {
  const patience = AbortSignal.timeout(sendPatienceMs);
  const parcel = { id: `${row.delivery}_${row.chunk}`, replyTo: row.replyTo };
  if (action.kind === "send") return adapter.send(place, action.words, parcel, patience);
  return file === null ? gone : adapter.sendFile(place, file, parcel, patience);
}

async function readFile(deps: SendDeps, { file }: FileAction): Promise<OutgoingFile | null> {
  const { type, name = "image", mediaType, blobId } = file;
  const bytes = await deps.readFile(blobId);
  return bytes && { kind: type, name, mediaType, bytes };
}

const gone: Trouble = {
  status: "refused",
  code: "blob_not_found",
  message: "The file is not there any more.",
};

/** The last form of a chunk is on the platform: it is done with, and what follows it is the next. */
async function finish({ desk }: SendDeps, { text }: ChunkJob, row: OutboxRow): Promise<StepResult> {
  const sent: OutboxRow = { ...row, state: "sent", code: null, message: null };
  const isResent = row.code === "resent";
  const isEnd = text === null || (text.ending !== null && row.to >= text.length);
  const next = isEnd || isResent ? undefined : chunkAfter(row);
  if (!(await desk.write(sent, ...(next === undefined ? [] : [next])))) return { status: "lost" };
  return { status: "done", ...(next && { next }) };
}

async function unsent(
  deps: SendDeps,
  job: ChunkJob,
  row: OutboxRow,
  action: SendAction,
  trouble: Trouble,
): Promise<StepResult> {
  const { desk } = deps;
  const { code, message } = trouble;
  deps.outage.met(trouble);
  switch (trouble.status) {
    case "later":
      return sendLater(deps, job, row, trouble);
    case "refused": {
      const failed: OutboxRow = { ...row, state: "failed", code, message };
      const next = action.kind === "file" ? behindFile(row, action, message) : undefined;
      if (!(await desk.write(failed, ...(next ? [next] : [])))) return { status: "lost" };
      return { status: "done", ...(next && { next }) };
    }
    case "unknown": {
      // A line that says nothing but that something may be missing does no harm twice.
      const isMark = action.kind === "send" && action.words.text === mark;
      const isHarmless = isMark || deps.adapter.capabilities.repeats === "dropped";
      if (isHarmless) return sendLater(deps, job, row, { afterMs: firstPauseMs, message });
      const next = await desk.writeUnknown(row, code, message);
      return next === null ? { status: "lost" } : { status: "done", next };
    }
  }
}

async function sendLater(
  { desk, pacer, now }: SendDeps,
  job: ChunkJob,
  row: OutboxRow,
  { afterMs, message }: { readonly afterMs: number; readonly message: string },
): Promise<StepResult> {
  const ms = pauseBehind(row.attempts, afterMs);
  pacer.holdBack(job.place, afterMs);
  const retryAt = (await now()) + ms;
  const again: OutboxRow = { ...row, state: "pending", to: job.row.to, retryAt, message };
  if (!(await desk.write(again))) return { status: "lost" };
  job.row = again;
  return { status: "wait", ms };
}

/** What was said behind a file that nobody gets is still said, under a line about the file. */
function behindFile(row: OutboxRow, { file }: FileAction, why: string): OutboxRow {
  const message = `${file.name ?? "A picture"} could not be sent: ${why}`;
  return { ...chunkAfter(row, afterFailed), message };
}

/** An edit can be made again: it is the same once and twice. */
async function edit(
  deps: SendDeps,
  job: ChunkJob,
  { words, to, isWhole }: Extract<Action, { kind: "edit" }>,
): Promise<StepResult> {
  const { adapter, desk, pacer, outage } = deps;
  const { place, row } = job;
  if (row.platformId === null) return { status: "open" };
  const isShown = words.text === job.shown && words.buttons === undefined;
  const edited = isShown
    ? ({ status: "edited" } as const)
    : await adapter.edit(place, row.platformId, words, AbortSignal.timeout(sendPatienceMs));
  switch (edited.status) {
    case "edited":
      job.shown = words.text;
      return isWhole ? finish(deps, job, { ...row, to }) : { status: "open" };
    case "refused": {
      const { code, message } = edited;
      if (!isWhole) return { status: "wait", ms: longestPauseMs };
      const next = row.kind === "answer" ? chunkAfter({ ...row, to }) : undefined;
      const failed: OutboxRow = { ...row, to, state: "failed", code, message };
      if (!(await desk.write(failed, ...(next ? [next] : [])))) return { status: "lost" };
      return { status: "done", ...(next && { next }) };
    }
    case "later":
    case "unknown": {
      outage.met(edited);
      const ms = edited.status === "later" ? edited.afterMs : firstPauseMs;
      pacer.holdBack(place, ms);
      return { status: "wait", ms };
    }
  }
}

function pauseBehind(attempts: number, asked: number): number {
  return Math.max(asked, Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(attempts - 1, 10)));
}
