// A process with many open pages: most of them idle, some watching an answer being streamed. It reports how old each
// delta was on arrival.
import { Agent, get, type IncomingMessage } from "node:http";

import { Samples } from "../harness/samples.ts";
import { takeTask } from "../harness/task.ts";
import { ProcessMeter, type Summary, summaryOf } from "../runs/meters.ts";

export interface StreamTask {
  readonly token: string;
  readonly idle: { readonly url: string; readonly pages: number };
  /** Each is watched by this many pages. */
  readonly live: { readonly urls: readonly string[]; readonly pages: number };
  /** From the first delta on. */
  readonly warmMs: number;
  readonly ms: number;
}

export interface Streams {
  readonly delivery: Summary;
  readonly framesPerSecond: number;
  readonly cpuPercent: number;
}

const task = takeTask<StreamTask>();
const agent = new Agent({ keepAlive: true, maxSockets: Infinity });
const meter = new ProcessMeter();
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
    meter.start();
    setTimeout(report, task.ms);
  }, task.warmMs);
}

function report(): void {
  const { ms, cpuPercent } = meter.stop();
  const framesPerSecond = (delivery.count / ms) * 1_000;
  const streams: Streams = { delivery: summaryOf(delivery), framesPerSecond, cpuPercent };
  process.send?.(streams);
}

const { idle, live } = task;
for (let done = 0; done < idle.pages; done += atOnce) {
  const length = Math.min(atOnce, idle.pages - done);
  const responses = await Promise.all(Array.from({ length }, () => connect(idle.url)));
  for (const response of responses) response.resume();
}
const watched = live.urls.flatMap((url) => Array.from({ length: live.pages }, () => url));
for (const url of watched) {
  const response = await connect(url);
  response.setEncoding("latin1");
  response.on("data", read);
}
process.send?.("ready");
