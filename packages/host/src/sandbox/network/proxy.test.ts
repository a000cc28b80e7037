import { once } from "node:events";
import { request } from "node:http";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { createProxy } from "./proxy.ts";

async function listen(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

test("[safety] a tunnel leads to the address that was checked, and the name is not resolved again", async () => {
  const echo = createServer((socket) => void socket.pipe(socket));
  const port = await listen(echo);
  const asked: string[] = [];
  const proxy = createProxy({
    hosts: ["granted.invalid"],
    egress: {
      allow: [`granted.invalid:${port}`],
      isPrivate: () => true,
      async resolve(host) {
        asked.push(host);
        return ["127.0.0.1"];
      },
    },
  });
  const proxyPort = await listen(proxy.server);
  onTestFinished(proxy.closeAllConnections);
  const path = `granted.invalid:${port}`;
  const tunnel = request({ host: "127.0.0.1", port: proxyPort, method: "CONNECT", path }).end();
  const [answer, socket] = (await Promise.race([
    once(tunnel, "connect"),
    once(tunnel, "response"),
  ])) as [{ statusCode: number }, Socket];
  expect(answer.statusCode).toBe(200);
  socket.write("hello");
  const [data] = (await once(socket, "data")) as [Buffer];
  expect(String(data)).toBe("hello");
  socket.destroy();
  expect(asked).toEqual(["granted.invalid"]);
  expect(proxy.reached()).toMatchObject([{ host: "granted.invalid", outcome: "reached" }]);
});
