// A process with many open pages: most of them wait, some see an answer being written.
import { Agent, get, type IncomingMessage } from "node:http";

import { Samples } from "../harness/index.ts";
import { type Summary, summaryOf } from "../runs/meters.ts";

export interface StreamTask {
  readonly token: string;
  readonly idle: number;
  readonly idleUrl: string;
  readonly liveUrls: readonly string[];
  /** From the first delta on. */
  readonly warmMs: number;
  readonly ms: number;
}

export interface Streams {
  readonly delivery: Summary;
  readonly framesPerSecond: number;
}

// Written by the process that started this one, whose channel is our leash.
const task = JSON.parse(process.argv[2] ?? "{}") as StreamTask;
process.once("disconnect", () => process.exit(0));

const agent = new Agent({ keepAlive: true, maxSockets: Infinity });
const frame = /"type":"message\.delta"[^\n]*?"at":(\d+)/g;
const atOnce = 100;
let delivery = new Samples();
let begun = false;

function connect(url: string): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const headers = { authorization: `Bearer ${task.token}` };
  get(url, { agent, headers }, (response) => {
    if (response.statusCode === 200) resolve(response);
    else reject(new Error(`The host answered ${response.statusCode}.`));
  }).on("error", reject);
  return promise;
}

function read(text: string): void {
  const now = performance.timeOrigin + performance.now();
  for (const [, at] of text.matchAll(frame)) {
    if (!begun) begin();
    delivery.add(now - Number(at));
  }
}

function begin(): void {
  begun = true;
  setTimeout(() => {
    delivery = new Samples();
    setTimeout(tell, task.ms);
  }, task.warmMs);
}

function tell(): void {
  const framesPerSecond = (delivery.count / task.ms) * 1_000;
  const streams: Streams = { delivery: summaryOf(delivery), framesPerSecond };
  process.send?.(streams);
}

for (let done = 0; done < task.idle; done += atOnce) {
  const some = Math.min(atOnce, task.idle - done);
  const responses = await Promise.all(Array.from({ length: some }, () => connect(task.idleUrl)));
  for (const response of responses) response.resume();
}
for (const url of task.liveUrls) {
  const response = await connect(url);
  response.setEncoding("latin1");
  response.on("data", read);
}
process.send?.("ready");
