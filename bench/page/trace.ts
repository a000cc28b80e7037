import { Samples } from "../harness/index.ts";

export const traceCategories = [
  "devtools.timeline",
  "disabled-by-default-devtools.timeline",
  "__metadata",
];

interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  /** Microseconds. */
  readonly ts?: number;
  readonly dur?: number;
  readonly args?: { readonly name?: string };
}

const scripting = new Set(["FunctionCall", "EvaluateScript", "RunMicrotasks", "v8.callFunction"]);

export interface TraceFigures {
  /** Milliseconds, of every task of the page's main thread. */
  readonly tasks: Samples;
  /** Milliseconds of script in each window of time that has some. */
  readonly scripts: Samples;
}

/** What the page's main thread did, by what the browser itself recorded. */
export function readTrace(written: Buffer, windowMs: number): TraceFigures {
  // The browser's own format, which is what is measured with.
  const { traceEvents } = JSON.parse(written.toString("utf8")) as { traceEvents: TraceEvent[] };
  const isMain = mainThreadOf(traceEvents);
  const own = traceEvents.filter((event) => event.ph === "X" && isMain(event));
  const tasks = new Samples();
  for (const { name, dur = 0 } of own) if (name.endsWith("RunTask")) tasks.add(dur / 1_000);
  const windows = new Map<number, number>();
  let coveredTo = 0;
  const scripts = own
    .filter(({ name }) => scripting.has(name))
    .toSorted((a, b) => (a.ts ?? 0) - (b.ts ?? 0));
  for (const { ts = 0, dur = 0 } of scripts) {
    // A script that another one called is in that one's time.
    if (ts + dur <= coveredTo) continue;
    coveredTo = ts + dur;
    const index = Math.floor(ts / 1_000 / windowMs);
    windows.set(index, (windows.get(index) ?? 0) + dur / 1_000);
  }
  const inWindows = new Samples();
  for (const ms of windows.values()) inWindows.add(ms);
  return { tasks, scripts: inWindows };
}

/** The busiest of those that call themselves so: a browser has one for each page, and one to spare. */
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
