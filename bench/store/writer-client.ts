import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

import type { StoreAddress } from "./bench-database.ts";

export interface WriterTask {
  readonly kind: "store" | "bare";
  readonly address: StoreAddress;
  readonly folder: string;
  readonly text: string;
}

/** What one process did in its time: how long that was, and how long each append took. */
export interface Stint {
  readonly ms: number;
  readonly times: readonly number[];
}

export interface WriterProcess {
  work(ms: number): Promise<Stint>;
  stop(): Promise<void>;
}

const script = fileURLToPath(new URL("./writer-process.ts", import.meta.url));

/** Starts a process and waits until it has opened the database. It ends with its parent, when their channel closes. */
export async function startWriter(task: WriterTask): Promise<WriterProcess> {
  const child = fork(script, [JSON.stringify(task)]);
  const exited = once(child, "exit");
  const answer = async (): Promise<unknown> => {
    const said = await Promise.race([
      once(child, "message").then(([message]): unknown => message),
      exited.then(([code]): unknown =>
        Promise.reject(new Error(`A writer ended with ${String(code)}.`)),
      ),
    ]);
    return said;
  };
  await answer();
  return {
    async work(ms) {
      child.send(ms);
      const numbers: unknown = await answer();
      const [whole = 0, ...times] = Array.isArray(numbers) ? numbers.map(Number) : [];
      return { ms: whole, times };
    },
    async stop() {
      if (child.connected) child.disconnect();
      await exited;
    },
  };
}
