import { type Seq, seq, type SessionId, sessionId } from "../ids.ts";

/** How far a tab has read each session that it watches. */
export type Cursors = ReadonlyMap<SessionId, Seq>;

/** One stream for a tab watches at most so many sessions. */
export const maxWatchedSessions = 100;

/** `ses_a:12,ses_b:0`: what `watch` takes and what the `id:` of its frames is. */
export function encodeCursors(cursors: Cursors): string {
  return [...cursors].map(([session, at]) => `${session}:${at}`).join(",");
}

/** `null` for anything but a cursor map; a session named twice is not one. */
export function decodeCursors(text: string): Cursors | null {
  const cursors = new Map<SessionId, Seq>();
  if (text === "") return cursors;
  for (const pair of text.split(",")) {
    const [name, number, ...rest] = pair.split(":");
    if (number === undefined || !/^(0|[1-9]\d{0,15})$/.test(number) || rest.length > 0) return null;
    const session = sessionId.safeParse(name);
    const at = seq.safeParse(Number(number));
    if (!session.success || !at.success || cursors.has(session.data)) return null;
    cursors.set(session.data, at.data);
  }
  return cursors.size > maxWatchedSessions ? null : cursors;
}
