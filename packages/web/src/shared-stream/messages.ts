import { type Seq, type SessionId, decodeCursors, seq, sessionId } from "@holdfast/protocol";

/** A stream that a tab wants: the sessions with how far each was read, and the list where `list` says so. */
export interface StreamRequest {
  readonly cursors: ReadonlyMap<SessionId, Seq>;
  readonly list: boolean;
}

/** A piece of what the host said, and whom it is for. */
export interface RoutedFrame {
  readonly to: SessionId | "list" | "all";
  /** Where a session stands behind it; `null` where it moves nothing. */
  readonly seq: Seq | null;
  /** Whoever stands further on goes back to it. */
  readonly rewinds?: true;
  readonly text: string;
}

/** What tabs say to whoever leads. */
export type TabMessage =
  | {
      readonly kind: "want";
      readonly tab: string;
      readonly stream: string;
      readonly wanted: StreamRequest;
    }
  | { readonly kind: "leave"; readonly stream: string }
  /** Is anybody there? */
  | { readonly kind: "ask" };

/** What the one who leads says to all tabs. `by` names it: what an earlier one still says is not listened to. */
export type LeaderMessage = { readonly by: string } & (
  | { readonly kind: "here" }
  /** Another one leads from here on: say again what you want. */
  | { readonly kind: "lead" }
  /** From here on these get everything behind the cursors that they named. */
  | { readonly kind: "opened"; readonly streams: readonly string[] }
  | { readonly kind: "said"; readonly pieces: readonly RoutedFrame[] }
  /** The connection is over, or could not be made. */
  | { readonly kind: "lost"; readonly streams: readonly string[] }
  /** These cannot share one: the host would refuse it, or one is too far behind the others. */
  | { readonly kind: "alone"; readonly streams: readonly string[] }
);

export type ChannelMessage = TabMessage | LeaderMessage;

export const isLeaderMessage = (word: ChannelMessage): word is LeaderMessage => "by" in word;

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
