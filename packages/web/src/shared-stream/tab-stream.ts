import type { Seq, SessionId } from "@holdfast/protocol";
import type { RoutedFrame, StreamRequest } from "./messages.ts";

/** One event stream as the tab that requested it sees it. */
export interface TabStream extends StreamRequest {
  readonly cursors: Map<SessionId, Seq>;
  readonly response: Promise<Response>;
  readonly isOpen: () => boolean;
  /** From now on this leader's frames complete the stream. */
  readonly open: (leader: string) => void;
  /** Ignores frames until a leader opens the stream again. */
  readonly detachLeader: () => void;
  readonly receive: (leader: string, frames: readonly RoutedFrame[]) => void;
  readonly fail: (reason: Error) => void;
  readonly goDirect: () => void;
}

interface TabStreamDeps {
  readonly request: StreamRequest;
  readonly fetchDirectly: () => Response | Promise<Response>;
  readonly onLeave: () => void;
}

const headers = { "content-type": "text/event-stream" };

export function createTabStream({ request, fetchDirectly, onLeave }: TabStreamDeps): TabStream {
  const { list } = request;
  const cursors = new Map(request.cursors);
  const { promise: response, resolve, reject } = Promise.withResolvers<Response>();
  const encoder = new TextEncoder();
  let controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  let isOpen = false;
  let currentLeader: string | null = null;
  const body = new ReadableStream<Uint8Array>({
    start: (ownController) => void (controller = ownController),
    cancel() {
      controller = null;
      onLeave();
    },
  });

  /** P5: an event is delivered once, whichever leader repeats it. */
  function accepts({ to, seq, rewinds }: RoutedFrame): boolean {
    if (to === "all") return true;
    if (to === "list") return list;
    const cursor = cursors.get(to);
    if (cursor === undefined) return false;
    if (seq === null) return true;
    if (seq <= cursor && rewinds !== true) return false;
    cursors.set(to, seq);
    return true;
  }

  function fail(reason: Error): void {
    controller?.close();
    controller = null;
    reject(reason);
  }

  return {
    cursors,
    list,
    response,
    isOpen: () => isOpen,
    open(leader) {
      currentLeader = leader;
      if (isOpen) return;
      isOpen = true;
      resolve(new Response(body, { headers }));
    },
    detachLeader: () => void (currentLeader = null),
    receive(leader, frames) {
      if (leader !== currentLeader) return;
      const text = frames.reduce((all, frame) => (accepts(frame) ? all + frame.text : all), "");
      if (text !== "") controller?.enqueue(encoder.encode(text));
    },
    fail,
    goDirect() {
      // An open stream fails; its reader reconnects from its cursor and then gets a connection of its own.
      if (isOpen) fail(new TypeError("The connection cannot be shared."));
      else resolve(fetchDirectly());
    },
  };
}
