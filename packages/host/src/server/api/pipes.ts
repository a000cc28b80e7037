import type { ServerResponse } from "node:http";
import type { Clock } from "@holdfast/engine";

/** Where the texts of a stream go. */
export interface StreamWriter {
  /** One text after the other. Resolves when the client has room for more, or the stream is over. */
  readonly write: (text: string) => Promise<void>;
}

/** A client that has not made room for what waits in so long is not reading any more. */
const writeDeadlineMs = 30_000;
/** What was written before the end gets so long to be taken: who reads nothing would keep it, and the connection, for good. */
const lingerMs = 5_000;
/** So many characters may wait for a client: more, and it is cut off, to come back by its cursor. */
const maxBufferedLength = 8 * 1024 * 1024;

/** Straight into the connection, which says by itself when it is full: nothing is held but what the client has not taken. */
export function writeToConnection(
  outgoing: ServerResponse,
  clock: Clock,
  over: AbortController,
): StreamWriter {
  let room: Promise<void> | undefined;

  function cut(): void {
    over.abort();
    outgoing.destroy();
  }

  async function waitForRoom(): Promise<void> {
    const taken = new AbortController();
    const take = (): void => taken.abort();
    outgoing.once("drain", take);
    over.signal.addEventListener("abort", take, { once: true });
    await clock.sleep(writeDeadlineMs, taken.signal);
    outgoing.removeListener("drain", take);
    over.signal.removeEventListener("abort", take);
    room = undefined;
    if (!taken.signal.aborted) cut();
  }

  async function finish(): Promise<void> {
    // Who has left has taken all that they will.
    if (outgoing.destroyed || outgoing.closed) return;
    const closed = new AbortController();
    outgoing.once("close", () => closed.abort());
    outgoing.end();
    await clock.sleep(lingerMs, closed.signal);
    outgoing.destroy();
  }

  over.signal.addEventListener("abort", () => void finish(), { once: true });
  return {
    write(text) {
      if (over.signal.aborted) return written;
      if (outgoing.write(text)) return written;
      if (outgoing.writableLength > maxBufferedLength) cut();
      return (room ??= waitForRoom());
    },
  };
}

const written = Promise.resolve();

/** The same for who asks without a connection. It holds one piece at most: who writes waits until the one before is taken. */
export function writeToReadable(
  clock: Clock,
  over: AbortController,
): StreamWriter & { readonly readable: ReadableStream<Uint8Array> } {
  const encoder = new TextEncoder();
  let queue: Promise<void> = Promise.resolve();
  let waiting = 0;
  let makeRoom: (() => void) | undefined;
  const { promise: started, resolve: start } =
    Promise.withResolvers<ReadableStreamDefaultController<Uint8Array>>();
  const readable = new ReadableStream<Uint8Array>(
    { start, pull: () => makeRoom?.(), cancel: () => over.abort() },
    { highWaterMark: 1 },
  );
  over.signal.addEventListener("abort", () => {
    makeRoom?.();
    void started.then(closeQuietly);
  });

  async function waitForRoom(): Promise<void> {
    const taken = new AbortController();
    makeRoom = () => taken.abort();
    await clock.sleep(writeDeadlineMs, taken.signal);
    makeRoom = undefined;
    if (!taken.signal.aborted) over.abort();
  }

  async function push(text: string): Promise<void> {
    const controller = await started;
    waiting -= text.length;
    if (over.signal.aborted) return;
    controller.enqueue(encoder.encode(text));
    if ((controller.desiredSize ?? 0) <= 0) await waitForRoom();
  }

  return {
    readable,
    write(text) {
      waiting += text.length;
      if (waiting > maxBufferedLength) over.abort();
      queue = queue.then(() => push(text));
      return queue;
    },
  };
}

/** One that its reader has cancelled is closed already. */
function closeQuietly(controller: ReadableStreamDefaultController<Uint8Array>): void {
  try {
    controller.close();
  } catch {
    // Nothing is left to close.
  }
}
