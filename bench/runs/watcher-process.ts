// A process with many open pages: it reads event streams, and says how old what it saw was when it came.
import { Agent, get, type IncomingMessage } from "node:http";

import { Samples } from "../harness/index.ts";
import { ProcessMeter, type Summary, summaryOf } from "./meters.ts";

export interface WatchTask {
  readonly url: string;
  readonly token: string;
  readonly watchers: number;
  /** From the first delta on. */
  readonly warmMs: number;
  readonly ms: number;
}

export interface Watched {
  readonly delivery: Summary;
  readonly framesPerSecond: number;
  readonly cpuPercent: number;
}

// Written by the process that started this one, whose channel is our leash.
const task = JSON.parse(process.argv[2] ?? "{}") as WatchTask;
process.once("disconnect", () => process.exit(0));

const agent = new Agent({ keepAlive: true, maxSockets: Infinity });
const meter = new ProcessMeter();
const frame = /"type":"message\.delta"[^\n]*?"at":(\d+)/g;
let delivery = new Samples();
let begun = false;

function connect(): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const headers = { authorization: `Bearer ${task.token}` };
  get(task.url, { agent, headers }, resolve).on("error", reject);
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
    meter.start();
    setTimeout(tell, task.ms);
  }, task.warmMs);
}

function tell(): void {
  const { ms, cpuPercent } = meter.stop();
  const framesPerSecond = (delivery.count / ms) * 1_000;
  const watched: Watched = { delivery: summaryOf(delivery), framesPerSecond, cpuPercent };
  process.send?.(watched);
}

for (let index = 0; index < task.watchers; index += 1) {
  const response = await connect();
  if (response.statusCode !== 200) throw new Error(`The host answered ${response.statusCode}.`);
  response.setEncoding("latin1");
  response.on("data", read);
}
process.send?.("ready");
