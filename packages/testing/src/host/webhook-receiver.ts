import { createHmac } from "node:crypto";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";

export interface ReceivedWebhook {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly message: Readonly<Record<string, unknown>>;
  readonly answer: ReceiverAnswer;
}

/**
 * `hold`: accepted, never answered. `cut`: accepted, then the connection is closed. `drop`: closed before it is
 * accepted.
 */
export type ReceiverAnswer = number | "hold" | "cut" | "drop";

/** A webhook on loopback that records requests and answers as the test says. */
export async function openWebhookReceiver(
  answers: ReceiverAnswer[] = [],
  headers: Readonly<Record<string, string>> = {},
) {
  const taken: ReceivedWebhook[] = [];
  const waiting = new Set<() => void>();
  const server = createServer((request, response) => {
    const pieces: Uint8Array[] = [];
    request.on("data", (piece: Uint8Array) => pieces.push(piece));
    request.on("end", () => {
      const answer = answers.shift() ?? 204;
      if (answer === "drop") return void request.socket.destroy();
      const body = Buffer.concat(pieces).toString();
      const message = JSON.parse(body) as Readonly<Record<string, unknown>>;
      taken.push({ headers: request.headers, body, message, answer });
      for (const look of waiting) look();
      if (answer === "cut") request.socket.destroy();
      else if (answer !== "hold") response.writeHead(answer, headers).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hook?for=me`,
    taken,
    /** Resolves after this many requests. */
    until: (count: number) =>
      new Promise<void>((resolve) => {
        const look = (): void => void (taken.length >= count && resolve());
        waiting.add(look);
        look();
      }),
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Checks the signature as a receiver would, with the shared secret. */
export function isSigned({ headers, body }: ReceivedWebhook, secret: string): boolean {
  const [id, time] = [headers["webhook-id"], headers["webhook-timestamp"]].map(String);
  const text = `${id}.${time}.${body}`;
  const expected = createHmac("sha256", secret).update(text).digest("base64");
  return String(headers["webhook-signature"]).split(" ").includes(`v1,${expected}`);
}
