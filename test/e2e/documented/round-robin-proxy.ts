import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

const healthIntervalMs = 100;

/**
 * Sends each request to the next host that is ready, as `deploy/Caddyfile` says: nothing sticks to a host, nothing is
 * buffered, and a connection that is refused goes to another host.
 */
export async function startRoundRobinProxy(hosts: readonly string[]) {
  const ready = new Set<string>();
  const served = new Map<string, number>();
  const closing = new AbortController();
  let turn = 0;

  async function watchHealth(host: string): Promise<void> {
    while (!closing.signal.aborted) {
      const answer = await fetch(`http://${host}/health?ready`).catch(() => undefined);
      if (answer?.ok === true) ready.add(host);
      else ready.delete(host);
      await sleep(healthIntervalMs);
    }
  }

  const server = createServer((incoming, outgoing) => {
    const candidates = hosts.filter((host) => ready.has(host));
    turn += 1;
    forward(candidates.map((_, index) => candidates[(turn + index) % candidates.length]!));

    function forward([host, ...others]: readonly string[]): void {
      if (host === undefined) {
        outgoing.writeHead(503).end();
        return;
      }
      const [hostname, port] = host.split(":");
      const headers = { ...incoming.headers, "x-forwarded-for": incoming.socket.remoteAddress };
      const { method, url } = incoming;
      const onward = request({ hostname, port, method, path: url, headers }, (answer) => {
        served.set(host, (served.get(host) ?? 0) + 1);
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
        answer.once("close", () => outgoing.destroy());
      });
      onward.once("error", (error: NodeJS.ErrnoException) => {
        if (error.code === "ECONNREFUSED") forward(others);
        else outgoing.destroy();
      });
      outgoing.once("close", () => onward.destroy());
      incoming.pipe(onward);
    }
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const watching = hosts.map(watchHealth);
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ready: (): readonly string[] => [...ready],
    served,
    async [Symbol.asyncDispose](): Promise<void> {
      closing.abort();
      server.closeAllConnections();
      await Promise.all([...watching, new Promise((resolve) => server.close(resolve))]);
    },
  };
}
