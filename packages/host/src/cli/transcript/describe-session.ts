import { type SessionView } from "@holdfast/protocol";
import { shortId } from "@holdfast/client";
import { cleanLine } from "../screen/text.ts";
import { fitTo, padTo } from "../screen/width.ts";
import { type Paint } from "../screen/paint.ts";

/** What stands in a list for a session that has no title. */
export function sessionTitle({ title, preview }: SessionView): string {
  return cleanLine(title ?? preview).trim() || "(nothing said yet)";
}

/** One row of a list: what it is called by, when it was last used, whether it works or asks, and its title. */
export function sessionRow(
  session: SessionView,
  { width, paint, mark = " " }: { width: number; paint: Paint; mark?: string },
): string {
  const { id, sortAt, messageCount, liveState } = session;
  const head = `${mark} ${shortId(id)}  ${formatTime(sortAt)}  ${padTo(String(messageCount), 4)} `;
  const state = liveState === null ? "" : `[${liveState}] `;
  const room = Math.max(8, width - head.length);
  return paint("dim", head) + fitTo(state + sessionTitle(session), room);
}

export function formatTime(at: number): string {
  const when = new Date(at);
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = `${when.getFullYear()}-${two(when.getMonth() + 1)}-${two(when.getDate())}`;
  return `${day} ${two(when.getHours())}:${two(when.getMinutes())}`;
}
