import { insideFolder, insideProxyPort } from "../sandbox.ts";

export const relayFile = "relay.mjs";
export const proxySocket = "proxy.sock";
export const publishSocket = "publish.sock";

/**
 * Runs inside the sandbox, as text, so that nothing else of the host has to be visible there. It carries bytes from a
 * port on the private loopback to the host's proxy, and from the host to the published port. The host listens on both
 * sockets and never opens one that the inside could replace: connections for the published port wait here until the
 * host sends their first byte.
 */
export const relayProgram = `
import { closeSync, existsSync, openSync, writeSync } from "node:fs";
import { connect, createServer } from "node:net";

const port = Number(process.argv[2]);
const join = (a, b) => {
  for (const [from, to] of [[a, b], [b, a]]) {
    from.pipe(to);
    from.on("error", () => to.destroy());
    from.on("close", () => to.destroy());
  }
};
const publish = () => {
  const waiting = connect("${insideFolder}/${publishSocket}");
  waiting.on("error", () => {});
  waiting.once("data", (bytes) => {
    publish();
    waiting.pause();
    const server = connect({ port, host: "127.0.0.1" });
    server.once("connect", () => {
      if (bytes.length > 1) server.write(bytes.subarray(1));
      join(waiting, server);
    });
    server.once("error", () => waiting.destroy());
  });
};
const ready = () => {
  if (port > 0) for (let n = 0; n < 4; n += 1) publish();
  writeSync(1, "ready");
  closeSync(1);
  // Takes its number, which a connection would get otherwise.
  openSync("/dev/null", "w");
};
if (existsSync("${insideFolder}/${proxySocket}"))
  createServer({ allowHalfOpen: true }, (socket) => join(socket, connect({ path: "${insideFolder}/${proxySocket}", allowHalfOpen: true })))
    .listen(${insideProxyPort}, "127.0.0.1", ready);
else ready();
`;
