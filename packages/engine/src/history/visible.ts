import { decodeEvent, type StoredEvent, textOf } from "@holdfast/protocol";

/** Counts in the list: what a person or the model said. */
export function isMessage(entry: StoredEvent): boolean {
  if (entry.type === "message.assistant") return entry.data["above"] === undefined;
  return entry.type === "message.user";
}

export function textOfEntry(entry: StoredEvent): string {
  const decoded = decodeEvent(entry);
  if (decoded.kind !== "known") return "";
  const { event } = decoded;
  return event.type === "message.user" || event.type === "message.assistant"
    ? textOf(event.data.parts)
    : "";
}
