import { once } from "node:events";
import { parentPort, receiveMessageOnPort, Worker, workerData } from "node:worker_threads";

import { openBareSqlite } from "./bare-sqlite.ts";

/** One synced insert in another thread. */
export interface BareThread extends AsyncDisposable {
  insert(text: string): Promise<void>;
}

interface ThreadTask {
  readonly file: string;
  readonly signal: SharedArrayBuffer;
}

/**
 * The bare driver in a thread of its own, as the store's writer is: what it takes more than the bare driver is what a
 * store can't save that leaves the event loop alone.
 */
export async function openBareThread(file: string): Promise<BareThread> {
  const signal = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  const worker = new Worker(new URL(import.meta.url), { workerData: { file, signal } });
  const count = new Int32Array(signal);
  await once(worker, "message");
  return {
    async insert(text) {
      const answered = once(worker, "message");
      worker.postMessage(text, []);
      Atomics.add(count, 0, 1);
      Atomics.notify(count, 0);
      await answered;
    },
    [Symbol.asyncDispose]: async () => void (await worker.terminate()),
  };
}

/** Written by `openBareThread`. */
function isTask(value: unknown): value is ThreadTask {
  return typeof value === "object" && value !== null && "signal" in value;
}

if (parentPort !== null && isTask(workerData)) {
  const driver = openBareSqlite(workerData.file, "full");
  const count = new Int32Array(workerData.signal);
  parentPort.postMessage("ready", []);
  for (let seen = 0; ;) {
    Atomics.wait(count, 0, seen);
    seen = Atomics.load(count, 0);
    for (
      let next = receiveMessageOnPort(parentPort);
      next !== undefined;
      next = receiveMessageOnPort(parentPort)
    ) {
      driver.insert(String(next.message));
      parentPort.postMessage("done", []);
    }
  }
}
