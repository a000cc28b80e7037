import type { Clock, MemoryAnswer, MemoryTurn } from "@holdfast/engine";
import { backoffMs } from "@holdfast/protocol";
import { z } from "zod";

import { type OpenVikingClient, isMissing, isAlreadyThere, type Refusal } from "./client.ts";

type DeliveredTurn = Pick<MemoryTurn, "at" | "messages">;

export interface Delivery {
  readonly ask: OpenVikingClient;
  readonly clock: Clock;
  readonly peer: string;
  readonly signal: AbortSignal;
  /** How long to wait for the server to process a segment. */
  readonly workMs: number;
}

/** The server's state of a segment's session. */
const sessionState = z.looseObject({
  message_count: z.int().nonnegative(),
  total_message_count: z.int().nonnegative().optional(),
  commit_count: z.int().nonnegative().optional(),
});
const task = z.looseObject({
  task_id: z.string(),
  status: z.string(),
  error: z.string().nullish(),
});
type Task = z.infer<typeof task>;
const taken = z.looseObject({ task_id: z.string().nullish(), archived: z.boolean().optional() });
const anything = z.unknown();

const largestBatch = 100;
const maxDeliveries = 5;
const pollBackoff = { firstMs: 500, longestMs: 5_000 };

/**
 * P10: the server has no idempotency keys, so each segment gets its own session there, named after its key. The
 * session's content shows how far an earlier attempt came: only what is missing is sent. The next name is used only if
 * the server itself reports that processing has failed.
 */
export async function deliver(
  delivery: Delivery,
  name: string,
  turns: readonly DeliveredTurn[],
): Promise<MemoryAnswer> {
  for (let nth = 1; ; nth += 1) {
    const session = `${name}-${nth}`;
    const standing = await readDeliveryState(delivery, session);
    switch (standing.status) {
      case "failed":
        return standing;
      case "kept":
        return { status: "committed" };
      case "working":
        return awaitTask(delivery, standing.task);
      case "open":
        return sendTurns(delivery, session, turns, standing);
      case "spoilt":
        if (nth === maxDeliveries) return taskFailed(standing.task);
    }
  }
}

type DeliveryState =
  | { readonly status: "open"; readonly isThere: boolean; readonly messages: number }
  | { readonly status: "kept" }
  | { readonly status: "working"; readonly task: Task }
  | { readonly status: "spoilt"; readonly task: Task }
  | Refusal;

async function readDeliveryState(
  { ask, peer, signal }: Delivery,
  session: string,
): Promise<DeliveryState> {
  const read = { method: "GET", peer, signal } as const;
  const found = await ask({ ...read, path: `/api/v1/sessions/${session}`, answer: sessionState });
  if (found.status === "failed")
    return isMissing(found) ? { status: "open", isThere: false, messages: 0 } : found;
  const { message_count: live, total_message_count: total = live, commit_count } = found.value;
  if (live > 0) return { status: "open", isThere: true, messages: live };
  const path = `/api/v1/tasks?task_type=session_commit&resource_id=${session}&limit=1`;
  const tasks = await ask({ ...read, path, answer: z.array(task) });
  if (tasks.status === "failed") return tasks;
  const [newest] = tasks.value;
  if (newest !== undefined) return deliveryStateOf(newest);
  // The server forgets finished tasks after a while, but not what it holds.
  if (total > 0 || (commit_count ?? 0) > 0) return { status: "kept" };
  return { status: "open", isThere: true, messages: 0 };
}

function deliveryStateOf(found: Task): DeliveryState {
  switch (found.status) {
    case "completed":
      return { status: "kept" };
    case "failed":
    case "cancelled":
      return { status: "spoilt", task: found };
    default:
      return { status: "working", task: found };
  }
}

async function sendTurns(
  delivery: Delivery,
  session: string,
  turns: readonly DeliveredTurn[],
  { isThere, messages: had }: Extract<DeliveryState, { status: "open" }>,
): Promise<MemoryAnswer> {
  const { ask, peer, signal } = delivery;
  const post = { method: "POST", peer, signal } as const;
  const place = `/api/v1/sessions/${session}`;
  if (!isThere) {
    const made = await ask({ ...post, ...newSession(session), answer: anything });
    if (made.status === "failed" && !isAlreadyThere(made)) return made;
  }
  const messages = turns.flatMap((turn) => messagesOf(turn, peer)).slice(had);
  for (let from = 0; from < messages.length; from += largestBatch) {
    const body = { messages: messages.slice(from, from + largestBatch) };
    const added = await ask({ ...post, path: `${place}/messages/batch`, body, answer: anything });
    if (added.status === "failed") return added;
  }
  const done = await ask({ ...post, path: `${place}/commit`, body: {}, answer: taken });
  if (done.status === "failed") return done;
  const { task_id: id, archived } = done.value;
  if (typeof id === "string") return awaitTask(delivery, { task_id: id, status: "pending" });
  return archived === true ? { status: "committed" } : notAccepted;
}

/** Each owner is a peer of the key's user, and facts from their words are written there alone. */
function newSession(session: string) {
  const memory_policy = { self: { enabled: false }, peer: { enabled: true } };
  return { path: "/api/v1/sessions", body: { session_id: session, memory_policy } };
}

function messagesOf({ at, messages }: DeliveredTurn, peer: string) {
  const created_at = new Date(at).toISOString();
  return messages.map(({ role, text }) => ({ role, content: text, created_at, peer_id: peer }));
}

/** Waits until the server has processed the segment: archived is not yet remembered, and processing may fail. */
async function awaitTask(delivery: Delivery, { task_id: id }: Task): Promise<MemoryAnswer> {
  const { ask, clock, peer, signal, workMs } = delivery;
  const until = clock.now() + workMs;
  for (let polls = 0; ; polls += 1) {
    const path = `/api/v1/tasks/${encodeURIComponent(id)}`;
    const found = await ask({ method: "GET", path, peer, signal, answer: task });
    if (found.status === "failed" && isMissing(found)) return { status: "committed" };
    if (found.status === "failed") return found;
    const standing = deliveryStateOf(found.value);
    if (standing.status === "kept") return { status: "committed" };
    if (standing.status === "spoilt") return taskFailed(found.value);
    const pause = backoffMs(pollBackoff, polls);
    if (signal.aborted || clock.now() + pause > until) return stillWorking;
    await clock.sleep(pause, signal);
  }
}

function taskFailed({ status, error }: Task): MemoryAnswer {
  const message = error ?? `The server's work on it is ${status}.`;
  return { status: "failed", code: "openviking_extraction_failed", message: message.slice(0, 500) };
}

const stillWorking: MemoryAnswer = {
  status: "failed",
  code: "openviking_working",
  message: "The server has it and is still at work on it.",
};

const notAccepted: MemoryAnswer = {
  status: "failed",
  code: "openviking_not_taken",
  message: "The server took none of it.",
};
