import {
  type Attachment,
  decodeEvent,
  type Seq,
  type StoredEvent,
  textOf,
} from "@holdfast/protocol";

import { type Admission, inputEvents } from "../run/index.ts";
import {
  cut,
  findPlace,
  type HistoryDeps,
  type HistoryTarget,
  impossible,
  type Impossible,
  noSession,
} from "./cut.ts";

export interface NewWords {
  /** The message to ask again from; the last one when absent. */
  readonly from?: Seq | undefined;
  readonly text?: string | undefined;
  readonly attachments?: readonly Attachment[] | undefined;
  /** The client's own name for the message that comes in its place. */
  readonly clientId: string;
}

/** Asks again from a message, in its own words or in new ones: one commit cuts and accepts, so neither is without the other. */
export async function retry(
  deps: HistoryDeps,
  target: HistoryTarget,
  words: NewWords,
): Promise<Admission | Impossible> {
  const { from } = words;
  const isAsked = (entry: StoredEvent) =>
    entry.type === "message.user" && (from === undefined || entry.seq === from);
  const place = await findPlace(deps.log, target, isAsked);
  if (place === null) return noSession;
  if (place.from === null) {
    return from === undefined
      ? impossible("nothing_to_undo", "There is no message to ask again.")
      : impossible("entry_not_found", "There is no such message in view.");
  }
  const said = contentOf(place.from);
  const { owner, session } = target;
  const { text = said.text, attachments = said.attachments, clientId } = words;
  const { events, refused, answer } = await inputEvents(deps.ids, {
    owner,
    session,
    clientId,
    text,
    attachments,
  });
  if (refused !== undefined) return refused;
  const result = await cut(
    deps,
    target,
    place,
    words.text === undefined ? "retry" : "edit",
    events,
  );
  return answer(result);
}

function contentOf(entry: StoredEvent): { text: string; attachments: readonly Attachment[] } {
  const decoded = decodeEvent(entry);
  if (decoded.kind !== "known" || decoded.event.type !== "message.user")
    return { text: "", attachments: [] };
  const { parts } = decoded.event.data;
  const attachments = parts.filter((part) => part.type === "file" || part.type === "image");
  return { text: textOf(parts), attachments };
}
