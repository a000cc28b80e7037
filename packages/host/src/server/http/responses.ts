import type { Context } from "hono";
import type { ServerResponse } from "node:http";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { Clock } from "@holdfast/engine";
import { connectionOf, type HostEnv } from "./routing.ts";

const policyHeader = "content-security-policy";

/** The page may run its own scripts and talk to its own host. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  // The frame that draws formulas and diagrams; the page shows it nowhere else.
  "frame-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  // Text becomes markup or script only through the page's one policy, which sanitizes it.
  "require-trusted-types-for 'script'",
  // The second one is for the service worker's address alone.
  "trusted-types holdfast holdfast-worker",
].join("; ");

/** Without HSTS: Holdfast serves plain HTTP, and only the reverse proxy knows whether its name is always HTTPS. */
const securityHeaders: Readonly<Record<string, string>> = {
  [policyHeader]: contentSecurityPolicy,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "origin-agent-cluster": "?1",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-dns-prefetch-control": "off",
  "x-download-options": "noopen",
  "x-frame-options": "DENY",
  "x-permitted-cross-domain-policies": "none",
  "x-xss-protection": "0",
};
const securityEntries = Object.entries(securityHeaders);

/**
 * For the frame that draws a model's formulas and diagrams: it has no origin and no network, and only the page may
 * embed it. Its renderers write inline styles, which can do no more than that without a network.
 */
export const frameHeaders: Readonly<Record<string, string>> = {
  [policyHeader]: [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'self'",
    "sandbox allow-scripts",
  ].join("; "),
  "origin-agent-cluster": "?0",
  "x-frame-options": "SAMEORIGIN",
};

/** Adds the headers that every response has. One with a policy of its own keeps it. */
export function addHeaders(c: Context<HostEnv>): void {
  const { headers } = c.res;
  for (const [name, value] of securityEntries) if (!headers.has(name)) headers.set(name, value);
  headers.set("x-request-id", c.get("requestId"));
}

/**
 * Sends text, or bytes already in memory, straight to the connection with every header that `addHeaders` would
 * add. A `Response` in between would cost more than the rest of a small answer, and copy a large one for each client.
 */
export function sendBody(
  c: Context<HostEnv>,
  body: string | Uint8Array<ArrayBuffer>,
  status: ContentfulStatusCode,
  headers: Readonly<Record<string, string>>,
): Response {
  const outgoing = writableResponse(c);
  if (outgoing === undefined) return c.body(body, status, headers);
  const payload =
    typeof body === "string" && body.length > maxSingleWriteLength ? Buffer.from(body) : body;
  outgoing.writeHead(status, {
    ...securityHeaders,
    ...headers,
    "x-request-id": c.get("requestId"),
    "content-length": typeof payload === "string" ? Buffer.byteLength(payload) : payload.byteLength,
  });
  outgoing.end(payload);
  return RESPONSE_ALREADY_SENT;
}

/** A short text goes out with its headers in one write; a longer one is cheaper as bytes. */
const maxSingleWriteLength = 8 * 1024;

/** The connection with its headers sent, for a streamed response; `undefined` if there is none. */
export function startStreaming(
  c: Context<HostEnv>,
  headers: Readonly<Record<string, string>>,
): { readonly outgoing: ServerResponse; readonly response: Response } | undefined {
  const outgoing = writableResponse(c);
  if (outgoing === undefined) return undefined;
  outgoing.writeHead(200, { ...securityHeaders, ...headers, "x-request-id": c.get("requestId") });
  return { outgoing, response: RESPONSE_ALREADY_SENT };
}

/** A HEAD response has no body, which the framework takes care of. */
function writableResponse(c: Context<HostEnv>): ServerResponse | undefined {
  const { outgoing } = connectionOf(c);
  return c.req.method === "HEAD" || outgoing?.headersSent ? undefined : outgoing;
}

export interface StreamWriter {
  /** Writes in order. Resolves when the client has room for more or the stream is over. */
  readonly write: (text: string) => Promise<void>;
}

/** A client that has not drained its buffer for this long has stopped reading. */
const writeDeadlineMs = 30_000;
/**
 * How long an ended stream waits for the client to read the rest: otherwise a client could hold the connection for
 * good.
 */
const lingerMs = 5_000;
/** A client with more than this pending is cut off, and resumes from its cursor. */
const maxBufferedLength = 8 * 1024 * 1024;

/**
 * Writes straight to the connection, which signals when it is full: nothing is buffered but what the client has not
 * read.
 */
export function writeToConnection(
  outgoing: ServerResponse,
  clock: Clock,
  ended: AbortController,
): StreamWriter {
  let room: Promise<void> | undefined;

  function cut(): void {
    ended.abort();
    outgoing.destroy();
  }

  async function waitForRoom(): Promise<void> {
    const drained = new AbortController();
    const onDrain = (): void => drained.abort();
    outgoing.once("drain", onDrain);
    ended.signal.addEventListener("abort", onDrain, { once: true });
    await clock.sleep(writeDeadlineMs, drained.signal);
    outgoing.removeListener("drain", onDrain);
    ended.signal.removeEventListener("abort", onDrain);
    room = undefined;
    if (!drained.signal.aborted) cut();
  }

  async function finish(): Promise<void> {
    // A disconnected client reads nothing more.
    if (outgoing.destroyed || outgoing.closed) return;
    const closed = new AbortController();
    outgoing.once("close", () => closed.abort());
    outgoing.end();
    await clock.sleep(lingerMs, closed.signal);
    outgoing.destroy();
  }

  ended.signal.addEventListener("abort", () => void finish(), { once: true });
  return {
    write(text) {
      if (ended.signal.aborted) return written;
      if (outgoing.write(text)) return written;
      if (outgoing.writableLength > maxBufferedLength) cut();
      return (room ??= waitForRoom());
    },
  };
}

const written = Promise.resolve();

/** The same for requests without a connection. Buffers one chunk: a writer waits until the previous one is read. */
export function writeToReadable(
  clock: Clock,
  ended: AbortController,
): StreamWriter & { readonly readable: ReadableStream<Uint8Array> } {
  const encoder = new TextEncoder();
  let queue: Promise<void> = Promise.resolve();
  let pendingLength = 0;
  let makeRoom: (() => void) | undefined;
  const { promise: started, resolve: start } =
    Promise.withResolvers<ReadableStreamDefaultController<Uint8Array>>();
  const readable = new ReadableStream<Uint8Array>(
    { start, pull: () => makeRoom?.(), cancel: () => ended.abort() },
    { highWaterMark: 1 },
  );
  ended.signal.addEventListener("abort", () => {
    makeRoom?.();
    void started.then(closeQuietly);
  });

  async function waitForRoom(): Promise<void> {
    const drained = new AbortController();
    makeRoom = () => drained.abort();
    await clock.sleep(writeDeadlineMs, drained.signal);
    makeRoom = undefined;
    if (!drained.signal.aborted) ended.abort();
  }

  async function push(text: string): Promise<void> {
    const controller = await started;
    pendingLength -= text.length;
    if (ended.signal.aborted) return;
    controller.enqueue(encoder.encode(text));
    if ((controller.desiredSize ?? 0) <= 0) await waitForRoom();
  }

  return {
    readable,
    write(text) {
      pendingLength += text.length;
      if (pendingLength > maxBufferedLength) ended.abort();
      queue = queue.then(() => push(text));
      return queue;
    },
  };
}

/** A stream cancelled by its reader is already closed. */
function closeQuietly(controller: ReadableStreamDefaultController<Uint8Array>): void {
  try {
    controller.close();
  } catch {
    // Already closed.
  }
}
