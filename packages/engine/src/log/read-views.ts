import type { SessionView } from "@holdfast/protocol";

import type { ListedPage, SessionPage } from "../ports/reads.ts";
import type { SessionRow } from "../ports/rows.ts";

/** A session as a client sees it: what is for the engine alone stays behind. */
export function viewSession(row: SessionRow): SessionView {
  const { ranges: _, openDeltas: __, origin, tags, ...shown } = row;
  return { ...shown, tags: [...tags], ...(origin !== null && { origin }) };
}

const encoder = new TextEncoder();

export function encodeSessionPage({ sessions, next }: SessionPage): ListedPage {
  return { json: encoder.encode(JSON.stringify(sessions.map(viewSession))), next };
}
