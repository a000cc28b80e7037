// Runs where the packages are installed. The host works without this thread, so no other test would miss it.
import { once } from "node:events";
import { Worker } from "node:worker_threads";

const host = new URL(".", import.meta.resolve("@holdfast/host"));
const worker = new Worker(new URL("agent/models/token-worker.js", host));
worker.postMessage({ id: 1, text: "one two three" }, []);
const [answer] = (await once(worker, "message")) as unknown[];
await worker.terminate();
process.stdout.write(`${JSON.stringify(answer)}\n`);
