import {
  type ApprovalDecision,
  type ApprovalId,
  type BlobId,
  type DeliveryId,
  type EventData,
  type EventType,
  type Fence,
  ids,
  type LaneKey,
  laneKey,
  type MessageId,
  type NewEvent,
  newEvent,
  type OwnerId,
  ownerId,
  type RunId,
  type RunState,
  type Seq,
  type SeqRange,
  type SessionId,
} from "@holdfast/protocol";

import type { Commit, Holder } from "../ports/index.ts";

/** Which session, and whose. */
export interface SessionRef {
  readonly owner: OwnerId;
  readonly session: SessionId;
}

export const anOwner = (): OwnerId => ownerId.parse(`person-${ids.make("session").slice(4)}`);
export const aLane = (): LaneKey => laneKey.parse(`web:${ids.make("session")}`);
export const aRunId = (): RunId => ids.make("run");
export const aMessageId = (): MessageId => ids.make("message");
export const at = (seq: number): Seq => seq as Seq;
export const aFence = (fence: number): Fence => fence as Fence;

/** A commit of events to a session; `rest` says under which lease and what is expected. */
export function aCommit(
  { owner, session }: SessionRef,
  events: readonly NewEvent[],
  rest: Omit<Commit, "owner" | "session" | "events"> = {},
): Commit {
  return { owner, session, events, ...rest };
}

/** The commit that creates a session. Other events may follow in it. */
export function aSession(
  settings: EventData<"session.created"> = {},
  owner: OwnerId = anOwner(),
  ...events: readonly NewEvent[]
): Commit {
  const session = ids.make("session");
  return aCommit({ owner, session }, [anEvent("session.created", settings), ...events]);
}

/** Any event, with an id of its own. */
export function anEvent<T extends EventType>(type: T, data: EventData<T>, runId?: RunId): NewEvent {
  return newEvent(ids.make("event"), type, data, runId);
}

export interface InputOptions {
  readonly text?: string;
  readonly clientId?: string;
  readonly hash?: string;
  readonly messageId?: MessageId;
  readonly runId?: RunId;
  readonly mode?: EventData<"input.accepted">["mode"];
  readonly lane?: LaneKey;
  readonly inbound?: NonNullable<EventData<"input.accepted">["inbound"]>;
  readonly attachments?: NonNullable<EventData<"input.accepted">["attachments"]>;
}

export function anInput({ text = "Hello", ...given }: InputOptions = {}): NewEvent {
  return anEvent("input.accepted", {
    messageId: aMessageId(),
    runId: aRunId(),
    clientId: ids.make("message"),
    hash: JSON.stringify(text),
    mode: "queue",
    text,
    ...given,
  });
}

export function aUserMessage(text = "Hello", messageId = aMessageId(), runId?: RunId): NewEvent {
  return anEvent("message.user", { messageId, parts: [{ type: "text", text }] }, runId);
}

export function aDelta(runId: RunId, text = "word ", messageId = aMessageId()): NewEvent {
  return anEvent("message.delta", { messageId, text }, runId);
}

/** What a step's output becomes. `deltas` are the numbers that it stands for, from and to. */
export function aSettledMessage(
  runId: RunId,
  text = "Well said.",
  deltas?: readonly (readonly [number, number])[],
): NewEvent {
  const data: EventData<"message.assistant"> = {
    messageId: aMessageId(),
    parts: [{ type: "text", text }],
    ...(deltas && { deltas: deltas.map(([from, to]) => [at(from), at(to)]) }),
  };
  return anEvent("message.assistant", data, runId);
}

export function aToolMessage(
  runId: RunId,
  output = "done",
  deltas?: readonly (readonly [number, number])[],
): NewEvent {
  const callId = ids.make("call");
  const data: EventData<"message.tool"> = {
    messageId: aMessageId(),
    parts: [{ type: "tool_result", callId, name: "terminal", outcome: "ok", output }],
    ...(deltas && { deltas: deltas.map(([from, to]) => [at(from), at(to)]) }),
  };
  return anEvent("message.tool", data, runId);
}

export function aRunState(runId: RunId, state: RunState, more: { cause?: string } = {}): NewEvent {
  return anEvent("run.state", { state, ...more }, runId);
}

export function aStep(runId: RunId, step = 1): NewEvent {
  return anEvent("step.started", { step, model: "rehearsal" }, runId);
}

type Asked = Pick<
  EventData<"approval.asked">,
  "approvalId" | "callId" | "name" | "input" | "inputHash"
>;

/** A call that asks for a person's word. */
export function anApproval(
  runId: RunId,
  given: Partial<Asked> = {},
): NewEvent & { readonly data: Asked } {
  const data = {
    approvalId: ids.make("approval"),
    callId: ids.make("call"),
    name: "terminal",
    input: { command: "ls" },
    inputHash: "a hash",
    ...given,
  };
  return { ...anEvent("approval.asked", data, runId), data };
}

export function anAnswer(approvalId: ApprovalId, decision: ApprovalDecision = "once"): NewEvent {
  return anEvent("approval.answered", { approvalId, decision });
}

export function aUsage(
  runId: RunId | undefined,
  used: Partial<EventData<"usage.recorded">> = {},
): NewEvent {
  return anEvent("usage.recorded", { model: "rehearsal", input: 10, output: 5, ...used }, runId);
}

export const aMemoryOwner = { provider: "notes", configuration: "a-hash" } as const;

/** Says that a provider has to remember the turn that this run has completed. */
export function aMark(runId: RunId, owner: EventData<"memory.marked">["owner"] = aMemoryOwner) {
  return anEvent("memory.marked", { owner }, runId);
}

export interface SegmentWords {
  readonly key?: string;
  readonly tries?: number;
  readonly retryAt?: number;
}

/** What is said of the segment that ends with this generation. */
export function aSegment(
  how: "tried" | "failed" | "committed",
  upTo: number,
  { key = "a-key", tries = 1, retryAt = 0 }: SegmentWords = {},
): NewEvent {
  const segment = { key, upTo: at(upTo) };
  if (how === "committed") return anEvent("memory.committed", segment);
  if (how === "tried") return anEvent("memory.tried", { ...segment, tries, owner: aMemoryOwner });
  const failure = { code: "provider_down", message: "It is away." };
  return anEvent("memory.failed", { ...segment, tries, retryAt, ...failure });
}

export const aChatLane = (): LaneKey =>
  laneKey.parse(`telegram:1:${ids.make("session").slice(4)}:0`);

/** What a message that came from a platform carries: a key of its own, and the delivery that will answer it. */
export function anInbound(
  key = `telegram:1:7:${ids.make("message").slice(4)}`,
  delivery: DeliveryId = ids.make("delivery"),
): NonNullable<EventData<"input.accepted">["inbound"]> {
  return { key, delivery };
}

/** A chunk as it is from here on. */
export function aChunk(given: Partial<EventData<"outbox.changed">> = {}, runId?: RunId): NewEvent {
  const untouched = { chunk: 0, kind: "answer", state: "pending", from: 0, to: 0 } as const;
  const lane = laneKey.parse("telegram:1:7:0");
  const named = { delivery: ids.make("delivery"), lane, begun: at(1), attempts: 0 };
  return anEvent("outbox.changed", { ...untouched, ...named, ...given }, runId);
}

export function aNotice(text = "Something happened."): NewEvent {
  return anEvent("notice.added", { noticeId: ids.make("notice"), kind: "test", text });
}

/** A cut after which just these stretches are visible. */
export function aCut(
  ranges: readonly SeqRange[],
  visible: { messageCount?: number; preview?: string } = {},
): NewEvent {
  const { messageCount = 0, preview = "" } = visible;
  return anEvent("history.cut", { reason: "undo", ranges: [...ranges], messageCount, preview });
}

/** From and to, both included; open when there is no end. `log` names another session's log. */
export function aRange(from: number, to: number | null = null, log?: SessionId): SeqRange {
  return { from: at(from), to: to === null ? null : at(to), ...(log && { log }) };
}

export function aFile(blobId: BlobId, size = 1): NonNullable<InputOptions["attachments"]>[number] {
  return { type: "file", blobId, name: "a.txt", mediaType: "text/plain", size };
}

export function aHolder(given: Partial<Holder> = {}): Holder {
  return {
    host: "a-host",
    boot: "a-boot",
    pidNamespace: "a-namespace",
    pid: 1000,
    processStart: "1",
    thread: 0,
    agent: "an-agent",
    nonce: ids.make("lease"),
    ...given,
  };
}

/** An event of a type that this version does not know. */
export function aForeignEvent(data: NewEvent["data"] = { any: "thing" }): NewEvent {
  return { id: ids.make("event"), type: "future.thing", v: 1, data };
}
