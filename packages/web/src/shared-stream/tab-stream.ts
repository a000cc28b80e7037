import {
  type EventStream,
  failedResult,
  networkError,
  type Result,
  type StreamBatch,
} from "@holdfast/client";
import type { Seq, SessionId } from "@holdfast/protocol";
import type { WantedStream } from "./messages.ts";

/** One event stream as the tab that requested it sees it. */
export interface TabStream extends WantedStream {
  readonly cursors: Map<SessionId, Seq>;
  readonly opened: Promise<Result<EventStream>>;
  readonly isOpen: () => boolean;
  /** From now on the stream is complete with this leader's items. */
  readonly open: (leader: string) => void;
  /** Ignores items until a leader opens the stream again. */
  readonly detachLeader: () => void;
  readonly receive: (leader: string, items: StreamBatch) => void;
  readonly fail: (reason: string) => void;
  readonly goDirect: () => void;
}

interface TabStreamDeps {
  readonly wanted: WantedStream;
  readonly openDirectly: () => Promise<Result<EventStream>>;
  readonly onLeave: () => void;
}

export function createTabStream({ wanted, openDirectly, onLeave }: TabStreamDeps): TabStream {
  const { list } = wanted;
  const cursors = new Map(wanted.cursors);
  const { promise: opened, resolve } = Promise.withResolvers<Result<EventStream>>();
  let controller: ReadableStreamDefaultController<StreamBatch> | null = null;
  let isOpen = false;
  let currentLeader: string | null = null;
  const stream: EventStream = new ReadableStream({
    start: (ownController) => void (controller = ownController),
    cancel() {
      controller = null;
      onLeave();
    },
  });

  function accepts(item: StreamBatch[number]): boolean {
    switch (item.kind) {
      case "event":
        return moveCursor(item.sessionId, item.event.seq);
      case "resync":
        return rewindCursor(item.resync.sessionId, item.resync.seq);
      case "status":
        return item.status.sessionId === undefined || cursors.has(item.status.sessionId);
      case "list":
        return list;
      case "heartbeat":
        return true;
    }
  }

  /** P5: an event is delivered once, whichever leader repeats it. */
  function moveCursor(id: SessionId | undefined, seq: Seq): boolean {
    const cursor = id === undefined ? undefined : cursors.get(id);
    if (id === undefined || cursor === undefined || seq <= cursor) return false;
    cursors.set(id, seq);
    return true;
  }

  function rewindCursor(id: SessionId | undefined, seq: Seq): boolean {
    if (id === undefined || !cursors.has(id)) return false;
    cursors.set(id, seq);
    return true;
  }

  function fail(reason: string): void {
    controller?.close();
    controller = null;
    resolve(failedResult(networkError(reason)));
  }

  return {
    cursors,
    list,
    opened,
    isOpen: () => isOpen,
    open(leader) {
      currentLeader = leader;
      if (isOpen) return;
      isOpen = true;
      resolve({ ok: true, value: stream });
    },
    detachLeader: () => void (currentLeader = null),
    receive(leader, items) {
      if (leader !== currentLeader) return;
      // Empty if all are for other tabs, but it still shows that the connection is alive.
      controller?.enqueue(items.filter(accepts));
    },
    fail,
    goDirect() {
      // An open stream fails; its reader reconnects from its cursor and then gets a connection of its own.
      if (isOpen) fail("The connection cannot be shared.");
      else resolve(openDirectly());
    },
  };
}
