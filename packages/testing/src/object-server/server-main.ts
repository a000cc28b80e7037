import { createHash, randomUUID } from "node:crypto";
import {
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { Fault, ServedRequest } from "./faults.ts";
import { type Refusal, verifySignature } from "./verify-signature.ts";

/**
 * A server that speaks the part of S3 that Holdfast uses, on loopback, with one bucket in a folder. An object's age is
 * its file's. `POST /faults` and `GET /requests` on the control port are for tests.
 */

const [folder = "", keyId = "", secretKey = "", region = "", bucket = ""] = process.argv.slice(2);
const incoming = join(folder, ".incoming");
mkdirSync(incoming, { recursive: true });
const root = join(folder, bucket);
mkdirSync(root, { recursive: true });

let faults: Fault[] = [];
const requests: ServedRequest[] = [];
const held = new Set<() => void>();

const server = createServer((request, response) => {
  serve(request, response).catch((error: unknown) => {
    if (!response.destroyed) process.stderr.write(`${String(error)}\n`);
    response.destroy();
  });
});

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = "", url = "/" } = request;
  const address = new URL(url, "http://server");
  const [, inBucket = "", ...rest] = decodeURIComponent(address.pathname).split("/");
  const key = rest.join("/");
  const served: ServedRequest = { method, key, status: 0 };
  requests.push(served);
  const fault = takeFault(method, key);
  const answer = (status: number, headers: Record<string, string> = {}, body = ""): void => {
    served.status = status;
    response.writeHead(status, { "content-length": String(Buffer.byteLength(body)), ...headers });
    response.end(method === "HEAD" ? undefined : body);
  };
  const refuse = ({ status, code, message }: Refusal, headers: Record<string, string> = {}): void =>
    answer(
      status,
      headers,
      `<?xml version="1.0"?><Error><Code>${code}</Code><Message>${message}</Message></Error>`,
    );

  if (fault?.kind === "hang") return;
  if (fault?.kind === "cut") return void request.socket.destroy();
  if (fault?.kind === "refuse") {
    request.resume();
    return refuse({ message: "As asked.", ...fault }, { connection: "close", ...fault.headers });
  }
  const denied = verifySignature(request, { keyId, secretKey, region }, Date.now());
  if (denied !== undefined) {
    request.resume();
    return refuse(denied);
  }
  if (inBucket !== bucket)
    return refuse({ status: 404, code: "NoSuchBucket", message: "There is no such bucket." });
  if (fault?.kind === "hold-before") await holdUntilReleased();

  const path = join(root, key);
  switch (method) {
    case "PUT": {
      const stored = await receive(request, path);
      if (stored !== undefined) return refuse(stored);
      break;
    }
    case "DELETE":
      rmSync(path, { force: true });
      break;
    case "GET":
    case "HEAD": {
      if (key === "") return answer(200, { "content-type": "application/xml" }, listing(address));
      if (!existsSync(path))
        return refuse({ status: 404, code: "NoSuchKey", message: "There is no such key." });
      const { size, mtime } = statSync(path);
      served.status = 200;
      response.writeHead(200, { "content-length": size, "last-modified": mtime.toUTCString() });
      if (method === "HEAD") return void response.end();
      if (fault?.kind === "cut-body") {
        for await (const chunk of createReadStream(path, { end: Math.floor(size / 2) }))
          response.write(chunk);
        return void setTimeout(() => response.destroy(), 50);
      }
      return pipeline(createReadStream(path), response);
    }
    default:
      return refuse({ status: 405, code: "MethodNotAllowed", message: "Not here." });
  }
  if (fault?.kind === "hold-after") await holdUntilReleased();
  if (method === "DELETE") return answer(204);
  answer(200, { etag: `"${randomUUID()}"` });
}

/** Visible as a whole or not at all, as S3 promises. */
async function receive(request: IncomingMessage, path: string): Promise<Refusal | undefined> {
  if (request.headers["content-length"] === undefined)
    return { status: 411, code: "MissingContentLength", message: "Say how long it is." };
  const hash = createHash("sha256");
  const temporary = join(incoming, randomUUID());
  await pipeline(
    request,
    async function* (source: AsyncIterable<Buffer>) {
      for await (const chunk of source) {
        hash.update(chunk);
        yield chunk;
      }
    },
    createWriteStream(temporary),
  );
  if (hash.digest("hex") !== request.headers["x-amz-content-sha256"]) {
    rmSync(temporary);
    return { status: 400, code: "XAmzContentSHA256Mismatch", message: "These are other bytes." };
  }
  mkdirSync(dirname(path), { recursive: true });
  renameSync(temporary, path);
  return undefined;
}

function listing({ searchParams }: URL): string {
  const prefix = searchParams.get("prefix") ?? "";
  const after = searchParams.get("continuation-token") ?? "";
  const most = Number(searchParams.get("max-keys") ?? 1000);
  const keys = readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    .filter((key) => key.startsWith(prefix) && key > after)
    .toSorted((a, b) => (a < b ? -1 : 1));
  const page = keys.slice(0, most);
  const isTruncated = keys.length > page.length;
  const contents = page.map((key) => {
    const { size, mtime } = statSync(join(root, key));
    return `<Contents><Key>${key}</Key><LastModified>${mtime.toISOString()}</LastModified><ETag>&quot;e&quot;</ETag><Size>${size}</Size></Contents>`;
  });
  const next = isTruncated ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : "";
  return `<?xml version="1.0" encoding="UTF-8"?><ListBucketResult><Name>${bucket}</Name><Prefix>${prefix}</Prefix><IsTruncated>${isTruncated}</IsTruncated>${contents.join("")}${next}</ListBucketResult>`;
}

function takeFault(method: string, key: string): Fault | undefined {
  const at = faults.findIndex(
    (fault) => (fault.method ?? method) === method && key.includes(fault.key ?? ""),
  );
  const fault = faults[at];
  if (fault === undefined) return undefined;
  const left = (fault.times ?? 1) - 1;
  faults = faults.flatMap((other, index) => {
    if (index !== at) return [other];
    return left > 0 ? [{ ...fault, times: left }] : [];
  });
  return fault;
}

function holdUntilReleased(): Promise<void> {
  return new Promise((resolve) => held.add(resolve));
}

const control = createServer((request, response) => void answerTest(request, response));

async function answerTest(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const pieces: Buffer[] = [];
  for await (const piece of request as AsyncIterable<Buffer>) pieces.push(piece);
  if (request.method === "POST") {
    faults = JSON.parse(Buffer.concat(pieces).toString()) as Fault[];
    for (const release of held) release();
    held.clear();
  }
  response.end(JSON.stringify({ requests, held: held.size }));
}

server.listen(0, "127.0.0.1", () => {
  control.listen(0, "127.0.0.1", () => {
    process.stdout.write(`${JSON.stringify([server.address(), control.address()])}\n`);
  });
});
