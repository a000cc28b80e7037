import type { SearchRole } from "@holdfast/engine";
import { decodeEvent, type StoredEvent, textOf } from "@holdfast/protocol";

/** What of an event can be searched, if anything. */
export function searchableTextOf(
  event: StoredEvent,
): { role: SearchRole; text: string } | undefined {
  const decoded = decodeEvent(event);
  if (decoded.kind !== "known") return undefined;
  switch (decoded.event.type) {
    case "message.user":
      return { role: "user", text: textOf(decoded.event.data.parts) };
    case "message.assistant":
      return { role: "assistant", text: textOf(decoded.event.data.parts) };
    case "message.tool":
      return { role: "tool", text: textOf(decoded.event.data.parts) };
    case "notice.added":
    case "notice.changed":
      return { role: "notice", text: decoded.event.data.text };
    default:
      return undefined;
  }
}
