import type { Seq, SessionId } from "@holdfast/protocol";
import type { RoutedFrame, StreamRequest } from "./messages.ts";

/** One answer that goes on, as the tab that asked for it sees it. */
export interface TabStream extends StreamRequest {
  readonly cursors: Map<SessionId, Seq>;
  readonly response: Promise<Response>;
  readonly isOpen: () => boolean;
  /** `by` leads, and says from here on what is missing. */
  readonly open: (by: string) => void;
  /** What another one said before counts no longer. */
  readonly detachLeader: () => void;
  readonly receive: (by: string, pieces: readonly RoutedFrame[]) => void;
  readonly fail: (why: Error) => void;
  readonly goDirect: () => void;
}

interface TabStreamDeps {
  readonly request: StreamRequest;
  readonly fetchDirectly: () => Response | Promise<Response>;
  readonly onLeave: () => void;
}

const headers = { "content-type": "text/event-stream" };

export function createTabStream({
  request: wanted,
  fetchDirectly: alone,
  onLeave,
}: TabStreamDeps): TabStream {
  const { list } = wanted;
  const cursors = new Map(wanted.cursors);
  const { promise: response, resolve, reject } = Promise.withResolvers<Response>();
  const encoder = new TextEncoder();
  let controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  let isOpen = false;
  let server: string | null = null;
  const body = new ReadableStream<Uint8Array>({
    start: (given) => void (controller = given),
    cancel() {
      controller = null;
      onLeave();
    },
  });

  /** P5: what was said is not said again, whoever repeats it. */
  function isNew({ to, seq, rewinds }: RoutedFrame): boolean {
    if (to === "all") return true;
    if (to === "list") return list;
    const cursor = cursors.get(to);
    if (cursor === undefined) return false;
    if (seq === null) return true;
    if (seq <= cursor && rewinds !== true) return false;
    cursors.set(to, seq);
    return true;
  }

  function lose(why: Error): void {
    controller?.close();
    controller = null;
    reject(why);
  }

  return {
    cursors,
    list,
    response,
    isOpen: () => isOpen,
    open(by) {
      server = by;
      if (isOpen) return;
      isOpen = true;
      resolve(new Response(body, { headers }));
    },
    detachLeader: () => void (server = null),
    receive(by, pieces) {
      if (by !== server) return;
      const text = pieces.reduce((all, piece) => (isNew(piece) ? all + piece.text : all), "");
      if (text !== "") controller?.enqueue(encoder.encode(text));
    },
    fail: lose,
    goDirect() {
      // Who has begun already comes back by its cursor, and then goes alone.
      if (isOpen) lose(new TypeError("The connection cannot be shared."));
      else resolve(alone());
    },
  };
}
