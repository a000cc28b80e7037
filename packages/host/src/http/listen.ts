import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import type { Hono } from "hono";
import { done, failed, type Outcome, systemCode } from "../failure.ts";
import type { HostEnv } from "./route.ts";

export interface Listener {
  readonly port: number;
  /** Takes no new request, lets those under way end for a moment, then cuts them off. */
  close(): Promise<void>;
}

const graceMs = 400;

export function listen(
  app: Hono<HostEnv>,
  { host, port }: { host: string; port: number },
): Promise<Outcome<Listener>> {
  const answer = getRequestListener(app.fetch, { overrideGlobalObjects: false });
  const server = createServer((incoming, outgoing) => void answer(incoming, outgoing));

  function close(): Promise<void> {
    return new Promise((resolve) => {
      const cut = setTimeout(() => server.closeAllConnections(), graceMs);
      server.close(() => {
        clearTimeout(cut);
        resolve();
      });
    });
  }

  return new Promise((resolve) => {
    server.once("error", (error) => resolve(whyNot(systemCode(error), host, port)));
    server.listen(port, host, () => {
      const address = server.address();
      const taken = address !== null && typeof address === "object" ? address.port : port;
      resolve(done({ port: taken, close }));
    });
  });
}

function whyNot(code: string, host: string, port: number): Outcome<never> {
  if (code === "EADDRINUSE") {
    return failed(
      "port.taken",
      `Port ${port} on ${host} is taken by another program: end that one, or choose another port with HOLDFAST_PORT.`,
    );
  }
  return failed(
    "address.unusable",
    `Holdfast cannot serve on ${host} port ${port} (${code}): choose others with HOLDFAST_HOST and HOLDFAST_PORT.`,
  );
}
