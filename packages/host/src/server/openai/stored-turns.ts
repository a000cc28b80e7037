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

/** How a client's history relates to a session's. */
export interface Comparison {
  /** The last of our turns that both have in common without a gap; -1 if there is none. */
  readonly lastCommon: number;
  readonly matched: number;
  /** The client tells one of our turns otherwise, and common ones after it. */
  readonly isEdited: boolean;
  /** What the client tells beyond that, in its words. */
  readonly unknown: readonly ClientTurn[];
}

/** Comparing more turns would cost more than it tells. */
const maxCompared = 400;

/**
 * Finds the longest common sequence of turns. A client may have dropped its oldest turns, and may tell turns that never
 * were; but a turn of ours that is missing between two known ones was edited, and what follows is another conversation.
 */
export function compareHistory(
  history: readonly ClientTurn[],
  turns: readonly StoredTurn[],
): Comparison {
  const told = history.slice(-maxCompared).map(normalTurn);
  const skipped = Math.max(0, turns.length - maxCompared);
  const ours = turns.slice(skipped).map(normalTurn);
  const pairs = commonTurns(told, ours);
  let end = 0;
  while (end + 1 < pairs.length && (pairs[end + 1]?.[1] ?? 0) === (pairs[end]?.[1] ?? 0) + 1)
    end += 1;
  const common = pairs.slice(0, end + 1);
  const edited = firstEdited(told, ours, common[0]);
  const kept = edited === null ? common : [];
  const known = new Set(kept.map(([at]) => at));
  const firstTold = history.length - told.length;
  const last = edited === null ? common.at(-1)?.[1] : edited - 1;
  return {
    lastCommon: last === undefined || last < 0 ? -1 : last + skipped,
    matched: kept.length,
    isEdited: edited !== null,
    unknown: history.filter((_, index) => !known.has(index - firstTold)),
  };
}

/** The first of our turns before the common ones that the client tells with another question or another answer. */
function firstEdited(
  told: readonly ClientTurn[],
  ours: readonly ClientTurn[],
  [toldBefore, oursBefore]: readonly [number, number] = [0, 0],
): number | null {
  const index = ours
    .slice(0, oursBefore)
    .findIndex((own) =>
      told
        .slice(0, toldBefore)
        .some(
          ({ user, assistant }) =>
            user === own.user || (assistant !== "" && assistant === own.assistant),
        ),
    );
  return index === -1 ? null : index;
}

/** Pairs of positions, both increasing; of several equally long sequences the one with the latest of our turns. */
function commonTurns(
  told: readonly ClientTurn[],
  ours: readonly ClientTurn[],
): readonly (readonly [number, number])[] {
  const width = ours.length + 1;
  const longest = new Uint16Array((told.length + 1) * width);
  const at = (i: number, j: number): number => longest[i * width + j] ?? 0;
  for (const [i, turn] of told.entries())
    for (const [j, own] of ours.entries())
      longest[(i + 1) * width + j + 1] = isSameTurn(turn, own)
        ? at(i, j) + 1
        : Math.max(at(i, j + 1), at(i + 1, j));
  const pairs: [number, number][] = [];
  for (let i = told.length, j = ours.length; i > 0 && j > 0;) {
    const [turn, own] = [told[i - 1], ours[j - 1]];
    if (
      turn !== undefined &&
      own !== undefined &&
      isSameTurn(turn, own) &&
      at(i, j) === at(i - 1, j - 1) + 1
    ) {
      pairs.unshift([(i -= 1), (j -= 1)]);
    } else if (at(i - 1, j) >= at(i, j - 1)) i -= 1;
    else j -= 1;
  }
  return pairs;
}

/** A client that stopped reading has the beginning of an answer. */
function isSameTurn(told: ClientTurn, own: ClientTurn): boolean {
  return told.user === own.user && own.assistant.startsWith(told.assistant);
}

function normalTurn({ user, assistant }: ClientTurn): ClientTurn {
  return { user: normalText(user), assistant: normalText(withoutWaitingLine(assistant)) };
}

/** Clients trim, and join paragraphs in their own ways. */
export function normalText(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}

/** Begins the line that a chat completion ends with while its run waits for a person. */
export const waitingMark = "⏸ ";

function withoutWaitingLine(text: string): string {
  const at = text.lastIndexOf(`\n${waitingMark}`);
  if (at !== -1) return text.slice(0, at);
  return text.startsWith(waitingMark) ? "" : text;
}
