import { shortId } from "@holdfast/client";
import type { SessionView } from "@holdfast/protocol";
import type { Paint } from "../screen/paint.ts";
import { fitTo, padTo } from "../screen/width.ts";
import { formatTime, sessionTitle } from "./describe.ts";

/** A row of a session list: short id, last use, message count, state, and title. */
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
