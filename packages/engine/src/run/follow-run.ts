import {
  decodeEvent,
  type MessageId,
  type OwnerId,
  type RunId,
  type Seq,
  type SessionId,
  type StoredEvent,
  terminalStates,
} from "@holdfast/protocol";
import type { TailItem } from "../log/tail.ts";
import type { Reads } from "../ports/reads.ts";

/** Ends once the reader has all events of the run, even if the run ended before. */
export async function* followRun(
  reads: Pick<Reads, "run" | "session">,
  run: {
    readonly owner: OwnerId;
    readonly session: SessionId;
    readonly runId: RunId;
    readonly after: Seq;
  },
  items: AsyncIterable<TailItem>,
): AsyncGenerator<TailItem, undefined> {
  const { owner, session, runId, after } = run;
  const hasEnded = async (): Promise<boolean> => {
    const row = await reads.run(owner, runId);
    return row === null || terminalStates.has(row.state);
  };
  const endedAt = (await hasEnded()) ? (await reads.session(owner, session))?.head : undefined;
  if (endedAt !== undefined && endedAt <= after) return;
  for await (const item of items) {
    yield item;
    if (item.kind === "resync" && (await hasEnded())) return;
    if (item.kind !== "events") continue;
    if (item.head === endedAt || item.events.some((event) => endsRun(event, runId))) return;
  }
}

function endsRun(event: StoredEvent, runId: RunId): boolean {
  if (event.type !== "run.state" || event.runId !== runId) return false;
  const decoded = decodeEvent(event);
  if (decoded.kind !== "known" || decoded.event.type !== "run.state") return false;
  return terminalStates.has(decoded.event.data.state);
}

/** The text of a run's messages, each piece once: from their deltas, or from the entry that settles them. */
export async function* answerText(
  runId: RunId,
  items: AsyncIterable<TailItem>,
): AsyncGenerator<string, undefined> {
  const given = new Map<MessageId, number>();
  for await (const item of items) {
    for (const event of item.kind === "events" ? item.events : []) {
      if (event.runId !== runId) continue;
      const decoded = decodeEvent(event);
      if (decoded.kind !== "known") continue;
      const { type, data } = decoded.event;
      if (type === "message.delta" && data.kind !== "reasoning") {
        given.set(data.messageId, (given.get(data.messageId) ?? 0) + data.text.length);
        yield data.text;
      }
      if (type !== "message.assistant") continue;
      const text = data.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
      const rest = text.slice(given.get(data.messageId) ?? 0);
      if (rest !== "") yield rest;
    }
  }
}
