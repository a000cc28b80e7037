import { decodeEvent, type StoredEvent } from "@holdfast/protocol";
import { budgetNotice } from "../limits/run-budget.ts";

const maxLength = 2_000;

/**
 * What the model is told by a notice: that its budget is used up, or whatever has `tellsModel` among its details. `null`
 * for one that is for people alone.
 */
export function noticeForModel(entry: StoredEvent): string | null {
  if (entry.type !== "notice.added") return null;
  const decoded = decodeEvent(entry);
  if (decoded.kind !== "known" || decoded.event.type !== "notice.added") return null;
  const { kind, text, details } = decoded.event.data;
  if (kind !== budgetNotice && details?.["tellsModel"] !== true) return null;
  // Names of files may be in it: they stay on this one line.
  const line = text
    .replaceAll(/\p{Cc}+/gu, " ")
    .slice(0, maxLength)
    .toWellFormed();
  return `[host: ${line}]`;
}
