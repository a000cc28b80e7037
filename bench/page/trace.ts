import type { Browser, Page } from "playwright-core";

import { type Line, lineOf } from "../harness/figures.ts";
import { Samples } from "../harness/samples.ts";

const categories = ["devtools.timeline", "disabled-by-default-devtools.timeline", "__metadata"];

interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  /** Microseconds. */
  readonly ts?: number;
  readonly dur?: number;
  /** CPU time, without preemption. */
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

const scripting = new Set(["FunctionCall", "EvaluateScript", "RunMicrotasks", "v8.callFunction"]);

export interface TraceFigures {
  /** Wall-clock milliseconds of every task on the page's main thread. */
  readonly tasks: Samples;
  /** The same in CPU time. */
  readonly ownTasks: Samples;
  /** CPU milliseconds of scripts, in each window of time that has some. */
  readonly scripts: Samples;
}

/** What the page's main thread does meanwhile, as recorded by the browser. */
export async function trace(
  browser: Browser,
  page: Page,
  windowMs: number,
  during: () => Promise<void>,
): Promise<TraceFigures> {
  await browser.startTracing(page, { categories });
  await during();
  return readTrace(await browser.stopTracing(), windowMs);
}

export const aboutTasks =
  "A task is counted by the processor's time for it. By the clock it is longer where other work has the machine.";

/** Nobody notices shorter tasks. */
const noticedMs = 50;

export function taskLines(
  what: string,
  { tasks, ownTasks }: TraceFigures,
  params: Line["params"],
): Line[] {
  return [
    lineOf(`${what}: longest task`, ownTasks.max, "ms", { params, below: noticedMs }),
    lineOf(`${what}: the same by the clock`, tasks.max, "ms", { params }),
  ];
}

function readTrace(written: Buffer, windowMs: number): TraceFigures {
  // The browser's own format.
  const { traceEvents } = JSON.parse(written.toString("utf8")) as { traceEvents: TraceEvent[] };
  const isMain = mainThreadOf(traceEvents);
  const own = traceEvents.filter((event) => event.ph === "X" && isMain(event));
  const [tasks, ownTasks] = [new Samples(), new Samples()];
  for (const { name, dur = 0, tdur = dur } of own) {
    if (!name.endsWith("RunTask")) continue;
    tasks.add(dur / 1_000);
    ownTasks.add(tdur / 1_000);
  }
  return { tasks, ownTasks, scripts: scriptsOf(own, windowMs) };
}

function scriptsOf(own: readonly TraceEvent[], windowMs: number): Samples {
  const windows = new Map<number, number>();
  let coveredTo = 0;
  const scripts = own
    .filter(({ name }) => scripting.has(name))
    .toSorted((a, b) => (a.ts ?? 0) - (b.ts ?? 0));
  for (const { ts = 0, dur = 0, tdur = dur } of scripts) {
    // A nested script is part of the outer one's time.
    if (ts + dur <= coveredTo) continue;
    coveredTo = ts + dur;
    const index = Math.floor(ts / 1_000 / windowMs);
    windows.set(index, (windows.get(index) ?? 0) + tdur / 1_000);
  }
  const samples = new Samples();
  samples.addAll(windows.values());
  return samples;
}

/** The busiest of the threads with that name: a browser has one for each page, and a spare one. */
function mainThreadOf(events: readonly TraceEvent[]): (event: TraceEvent) => boolean {
  const named = events.filter(
    ({ name, args }) => name === "thread_name" && args?.name === "CrRendererMain",
  );
  const busy = (thread: TraceEvent): number =>
    events
      .filter(({ pid, tid }) => pid === thread.pid && tid === thread.tid)
      .reduce((sum, { dur = 0 }) => sum + dur, 0);
  const main = named.toSorted((a, b) => busy(b) - busy(a))[0];
  if (main === undefined) throw new Error("The browser recorded no page.");
  return ({ pid, tid }) => pid === main.pid && tid === main.tid;
}
