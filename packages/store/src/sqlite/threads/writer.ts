import { workerData } from "node:worker_threads";

import { z } from "zod";

import { connect, FileIdentity, installedProbe } from "../connection.ts";
import { migrate } from "../migrate.ts";
import { WriteCounter } from "../read/watch.ts";
import { GroupWriter, type WriterRequest } from "../write/group-writer.ts";
import { serveBlockingThread, WakeSignal } from "./thread-server.ts";

export const writerOptions = z.object({
  file: z.string(),
  busyMs: z.number(),
  checkpointPages: z.number(),
  wakeSignal: z.instanceof(SharedArrayBuffer),
  writeCounter: z.instanceof(SharedArrayBuffer),
});
export type WriterOptions = z.infer<typeof writerOptions>;

const { file, wakeSignal, writeCounter, ...options } = writerOptions.parse(workerData);

/** The only thread of a process that writes. */
await serveBlockingThread<WriterRequest>(new WakeSignal(wakeSignal), async () => {
  const probe = installedProbe();
  const first = connect({ file, access: "write" });
  await migrate(first);
  first.close();
  const identity = new FileIdentity(file);
  return new GroupWriter({
    ...options,
    open() {
      identity.assertInPlace();
      return connect({ file, access: "write", probe });
    },
    identity,
    writeCounter: new WriteCounter(writeCounter),
  });
});
