// Node alone: an HTTP server, and a thread that waits.
import { createServer } from "node:http";
import { Worker } from "node:worker_threads";

const worker = new Worker("require('node:worker_threads').parentPort.on('message', () => {})", {
  eval: true,
});
worker.on("online", () => {
  const server = createServer((_, response) => response.end("ok"));
  server.listen(0, "127.0.0.1", () => {
    const address = server.address();
    if (address !== null && typeof address === "object")
      process.send?.(`http://127.0.0.1:${address.port}/`);
  });
});
