import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { json, type Json } from "@holdfast/protocol";

export interface HeardRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Json;
  /** Resolves when the client has gone or has everything. */
  readonly closed: Promise<void>;
}

/** What a provider sends back. Frames go out one by one, each flushed. */
export type ServerAnswer =
  | {
      readonly status?: number;
      readonly headers?: Readonly<Record<string, string>>;
      /** After the frames: the end, a cut connection, or silence. */
      readonly frames: Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>;
      readonly ending?: "end" | "cut" | "hang";
    }
  | { readonly cut: true };

export interface ProviderServer extends AsyncDisposable {
  readonly url: string;
  readonly requests: HeardRequest[];
}

/** A server on loopback that answers as the test says: one answer per request, in order. */
export async function openProviderServer(
  answers: (request: HeardRequest, before: number) => ServerAnswer,
): Promise<ProviderServer> {
  const requests: HeardRequest[] = [];
  const server = createServer((request, response) => {
    void answerTo(request, response);
  });
  async function answerTo(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    response.once("close", resolve);
    const { method = "", url = "", headers } = request;
    const received = { method, path: url, headers, body: await readBody(request), closed };
    const before = requests.push(received) - 1;
    await send(answers(received, before), response);
  }
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function readBody(request: IncomingMessage): Promise<Json> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  const text = Buffer.concat(chunks).toString("utf8");
  return text === "" ? null : json.parse(JSON.parse(text));
}

async function send(answer: ServerAnswer, response: ServerResponse): Promise<void> {
  if ("cut" in answer) return void response.destroy();
  const { status = 200, headers = {}, frames, ending = "end" } = answer;
  response.writeHead(status, { "content-type": "text/event-stream", ...headers });
  response.flushHeaders();
  for await (const frame of frames) {
    if (response.destroyed) return;
    if (!response.write(frame)) await drained(response);
  }
  if (ending === "end") response.end();
  // What was written must be sent before the connection closes.
  if (ending === "cut") setImmediate(() => response.destroy());
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const onDrain = (): void => {
      response.off("drain", onDrain).off("close", onDrain);
      resolve();
    };
    response.on("drain", onDrain).on("close", onDrain);
  });
}

export function refuses(
  status: number,
  body: Json,
  headers: Readonly<Record<string, string>> = {},
): ServerAnswer {
  const type = { "content-type": "application/json" };
  return { status, headers: { ...type, ...headers }, frames: [JSON.stringify(body)] };
}
