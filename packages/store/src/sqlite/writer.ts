import { workerData } from "node:worker_threads";

import { z } from "zod";

import { connect, type Probe } from "./connection.ts";
import { FileIdentity } from "./file-identity.ts";
import { migrate } from "./migrate.ts";
import { serveThread } from "./serve-thread.ts";
import { GroupWriter, type Operation } from "./write/index.ts";

/** The one thread of a process that writes. */
export type WriterRequest =
  | { readonly op: "group"; readonly group: readonly Operation[]; readonly clockOffset: number }
  | { readonly op: "close" };

export const writerOptions = z.object({
  file: z.string(),
  busyMs: z.number(),
  checkpointPages: z.number(),
  /** A module that exports `probe`, for tests that fail or die at a chosen statement. */
  probeModule: z.string().optional(),
});
export type WriterOptions = z.infer<typeof writerOptions>;

const probeModule = z.object({ probe: z.custom<Probe>((value) => typeof value === "function") });

await serveThread<WriterRequest, never>(async () => {
  const { file, probeModule: url, ...options } = writerOptions.parse(workerData);
  const probe = url === undefined ? undefined : probeModule.parse(await import(url)).probe;
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
    close: () => writer.close(),
  };
});
