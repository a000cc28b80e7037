import { workerData } from "node:worker_threads";

import { z } from "zod";

import { WakeSignal, WriteCounter } from "./shared-memory.ts";
import { connect, installedProbe } from "../connection.ts";
import { FileIdentity } from "../database-file.ts";
import { migrate } from "../migrate.ts";
import { serveBlockingThread } from "./thread-server.ts";
import { GroupWriter } from "../write/group-writer.ts";
import { type Operation } from "../write/operations.ts";

/** The only thread of a process that writes. */
export type WriterRequest =
  | { readonly op: "group"; readonly group: readonly Operation[]; readonly clockOffset: number }
  | { readonly op: "close" };

export const writerOptions = z.object({
  file: z.string(),
  busyMs: z.number(),
  checkpointPages: z.number(),
  wakeSignal: z.instanceof(SharedArrayBuffer),
  writeCounter: z.instanceof(SharedArrayBuffer),
});
export type WriterOptions = z.infer<typeof writerOptions>;

const { file, wakeSignal, writeCounter, ...options } = writerOptions.parse(workerData);

await serveBlockingThread<WriterRequest>(new WakeSignal(wakeSignal), async () => {
  const probe = installedProbe();
  const first = connect({ file, access: "write" });
  await migrate(first);
  first.close();
  const identity = new FileIdentity(file);
  const writer = new GroupWriter({
    ...options,
    open() {
      identity.assertInPlace();
      return connect({ file, access: "write", probe });
    },
    assertInPlace: () => identity.assertLogInPlace(),
    writeCounter: new WriteCounter(writeCounter),
  });
  return {
    handle(request) {
      switch (request.op) {
        case "group":
          return writer.run(request.group, () => Date.now() + request.clockOffset);
        case "close":
          return undefined;
      }
    },
    afterReply: () => writer.checkpoint(),
    whenIdle: () => writer.checkpointWhenIdle(),
    close: () => writer.close(),
  };
});
