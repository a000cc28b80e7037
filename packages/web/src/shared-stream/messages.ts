import { type Seq, type SessionId, decodeCursors, seq, sessionId } from "@holdfast/protocol";

/** A stream that a tab asks for: sessions with the last event read of each, and list hints if `list` is set. */
export interface StreamRequest {
  readonly cursors: ReadonlyMap<SessionId, Seq>;
  readonly list: boolean;
}

// The messages below are a wire format: tabs of an older page may listen on the same channel. A change that they could
// not follow needs another number in the channel's name.

/** One SSE frame from the host, and which streams it is for. */
export interface RoutedFrame {
  readonly to: SessionId | "list" | "all";
  /** The session's position after this frame; `null` if it moves none. */
  readonly seq: Seq | null;
  /** A cursor beyond `seq` moves back to it. */
  readonly rewinds?: true;
  readonly text: string;
}

/** From a tab to the leader. */
export type TabMessage =
  | {
      readonly kind: "want";
      readonly tab: string;
      readonly stream: string;
      readonly wanted: StreamRequest;
    }
  | { readonly kind: "leave"; readonly stream: string }
  /** Asks whether the leader is alive. */
  | { readonly kind: "ask" };

/** From the leader to all tabs. `by` names the leader: messages of an earlier one are ignored. */
export type LeaderMessage = { readonly by: string } &
  /** The leader is alive. */
  (
    | { readonly kind: "here" }
    /** A new leader took over: each tab requests its streams again. */
    | { readonly kind: "lead" }
    /** From now on these streams get every event after their cursors. */
    | { readonly kind: "opened"; readonly streams: readonly string[] }
    | { readonly kind: "said"; readonly pieces: readonly RoutedFrame[] }
    /** The connection ended, or could not be made. */
    | { readonly kind: "lost"; readonly streams: readonly string[] }
    /** These cannot share a connection: the host would refuse it, or they are too far behind the others. */
    | { readonly kind: "alone"; readonly streams: readonly string[] }
  );

export type ChannelMessage = TabMessage | LeaderMessage;

export const isLeaderMessage = (message: ChannelMessage): message is LeaderMessage =>
  "by" in message;

/** `null` for a request that is no event stream, and for one that the host will refuse. */
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
