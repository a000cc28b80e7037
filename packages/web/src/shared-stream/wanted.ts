import { decodeCursors, seq, sessionId } from "@holdfast/protocol";
import type { StreamRequest } from "./messages.ts";

/** What a request for a stream asks for; `null` for anything else, and for what the host will refuse. */
export function parseStreamRequest(
  url: string,
  { method = "GET", headers }: RequestInit,
): StreamRequest | null {
  const accept = new Headers(headers).get("accept");
  if (method !== "GET" || accept !== "text/event-stream") return null;
  const { pathname, searchParams } = new URL(url);
  if (pathname.endsWith("/api/events")) {
    const cursors = decodeCursors(searchParams.get("watch") ?? "");
    return cursors && { cursors, list: true };
  }
  const id = sessionId.safeParse(/\/api\/sessions\/([^/]+)\/events$/.exec(pathname)?.[1]);
  const after = seq.safeParse(Number(searchParams.get("after") ?? 0));
  if (!id.success || !after.success) return null;
  return { cursors: new Map([[id.data, after.data]]), list: false };
}
