import type { InputRow, Reads, SessionRow } from "@holdfast/engine";
import {
  type AttachedPart,
  decodeEvent,
  eventsInReadingOrder,
  type OwnerId,
  type Part,
  type RunId,
  type Seq,
  type SessionId,
  type StoredEvent,
} from "@holdfast/protocol";
import { type ClientTurn, joinTexts } from "./client-request.ts";

/** One turn of a session: a message and everything that its run has answered. */
export interface StoredTurn extends ClientTurn {
  readonly runId: RunId | undefined;
  readonly clientId: string | undefined;
  /** Where its message was accepted if it is still queued; its first entry otherwise. */
  readonly seq: Seq;
  /** Its last entry. */
  readonly end: Seq;
  /** When the message was taken up, or accepted. */
  readonly at: number;
  readonly isQueued: boolean;
  /** What came with it: the client's system text, and what else it told. */
  readonly attached: readonly AttachedPart[];
}

export interface StoredTurns {
  readonly session: SessionRow;
  /** Oldest first; of a long conversation only the newest. */
  readonly turns: readonly StoredTurn[];
  /** Whether there are earlier ones. */
  readonly more: boolean;
}

export async function readTurns(
  reads: Pick<Reads, "snapshot">,
  owner: OwnerId,
  session: SessionId,
  maxEntries: number,
): Promise<StoredTurns | null> {
  const snapshot = await reads.snapshot(owner, session, { limit: maxEntries });
  if (snapshot === null) return null;
  const { entries, inbox } = snapshot;
  const turns = [...turnsOf(entries.entries), ...inbox.map(queuedTurn)];
  return { session: snapshot.session, turns, more: entries.more };
}

function turnsOf(entries: readonly StoredEvent[]): StoredTurn[] {
  const turns: StoredTurn[] = [];
  for (const entry of eventsInReadingOrder(entries)) {
    const decoded = decodeEvent(entry);
    if (decoded.kind !== "known") continue;
    const { event } = decoded;
    const open = turns.at(-1);
    if (event.type === "message.user") {
      const { parts, clientId } = event.data;
      const { runId, seq, at } = event;
      const text = textIn(parts);
      const attached = parts.filter((part) => part.type === "attached");
      turns.push({
        user: text,
        assistant: "",
        runId,
        clientId,
        seq,
        end: seq,
        at,
        isQueued: false,
        attached,
      });
    } else if (open !== undefined) {
      const answer = event.type === "message.assistant" ? textIn(event.data.parts) : "";
      const end = Math.max(open.end, event.seq) as Seq;
      turns[turns.length - 1] = { ...open, assistant: joinTexts(open.assistant, answer), end };
    }
  }
  return turns;
}

function queuedTurn({ content, runId, clientId, seq, at }: InputRow): StoredTurn {
  const user = content?.text ?? "";
  const attached = content?.attached ?? [];
  return { user, assistant: "", runId, clientId, seq, end: seq, at, isQueued: true, attached };
}

function textIn(parts: readonly Part[]): string {
  return joinTexts(...parts.map((part) => (part.type === "text" ? part.text : "")));
}
