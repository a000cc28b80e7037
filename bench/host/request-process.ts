// A process with some clients, each of which sends its next request as soon as it is answered.
import { readFileSync } from "node:fs";
import { Agent, get } from "node:http";

import { takeTask } from "../harness/task.ts";

export interface RequestTask {
  /** A file with one URL per line, requested in turn, so that no answer was given a moment ago. */
  readonly urls: string;
  readonly token: string;
  readonly clients: number;
  readonly ms: number;
}

export interface Requested {
  readonly answers: number;
  readonly ms: number;
}

const task = takeTask<RequestTask>();
const agent = new Agent({ keepAlive: true, maxSockets: task.clients });
const headers = { authorization: `Bearer ${task.token}` };
const urls = readFileSync(task.urls, "utf8").split("\n");
let answers = 0;
let asked = 0;

function ask(): Promise<void> {
  const url = urls[(asked += 1) % urls.length] ?? "";
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  get(url, { agent, headers }, (response) => {
    if (response.statusCode !== 200) reject(new Error(`Answered ${response.statusCode}.`));
    response.on("end", resolve).resume();
  }).on("error", reject);
  return promise;
}

async function askFor(ms: number): Promise<number> {
  const until = performance.now() + ms;
  const startedAt = performance.now();
  answers = 0;
  await Promise.all(
    Array.from({ length: task.clients }, async () => {
      while (performance.now() < until) {
        await ask();
        answers += 1;
      }
    }),
  );
  return performance.now() - startedAt;
}

await askFor(task.ms / 4);
process.send?.("warm");
const ms = await askFor(task.ms);
const requested: Requested = { answers, ms };
process.send?.(requested);
