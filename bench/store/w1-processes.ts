import { bare, type Line, ours } from "../harness/figures.ts";
import { Samples } from "../harness/samples.ts";
import { type WorkloadDefinition } from "../harness/workload.ts";
import type { Bench } from "./bench.ts";
import { growLog } from "./streams.ts";
import { startWriter, type Stint, type WriterProcess } from "./writer-client.ts";

/** Real processes on one database, each appending one message after the other to its own session. */
export const appendFromProcesses: WorkloadDefinition<Bench> = {
  id: "W1.processes",
  title: "durable append, several processes",
  async measure({ backend, sizes, corpus }: Bench) {
    await using database = await backend.createDatabase();
    await using stack = new AsyncDisposableStack();
    // Kept open, because the last one to close a database deletes its log.
    const idle = await database.open();
    stack.defer(() => idle.close());
    await growLog(idle);
    stack.use(await database.openBare());
    const maxProcesses = Math.max(...sizes.processes);
    const text = corpus.at(0).content;
    const kinds = backend.name === "sqlite" ? (["store", "bare"] as const) : (["store"] as const);
    const lines: Line[] = [];
    const results = new Map<string, Stint[][]>();
    for (const kind of kinds) {
      const writers: WriterProcess[] = [];
      try {
        for (let index = 0; index < maxProcesses; index += 1) {
          writers.push(
            await startWriter({ kind, address: database.address, folder: database.folder, text }),
          );
        }
        for (let round = 0; round <= sizes.stretches; round += 1) {
          for (const count of [1, ...sizes.processes]) {
            const stints = await Promise.all(
              writers.slice(0, count).map((writer) => writer.work(sizes.stretchMs)),
            );
            if (round > 0) push(results, `${kind} ${count}`, stints);
          }
        }
      } finally {
        await Promise.all(writers.map((writer) => writer.stop()));
      }
    }
    const one = summarise(results.get("store 1")).rate;
    for (const count of [1, ...sizes.processes]) {
      const mine = summarise(results.get(`store ${count}`));
      const limit = kinds.length > 1 ? summarise(results.get(`bare ${count}`)) : undefined;
      lines.push(...linesFor(count, mine, limit, one));
    }
    return { lines };
  },
};

interface Summary {
  readonly rate: number;
  /** The slowest process's rate relative to an equal share. */
  readonly share: number;
  readonly p99: number;
  readonly max: number;
}

function linesFor(count: number, mine: Summary, limit: Summary | undefined, one: number): Line[] {
  const many = count > 1;
  const line = (
    what: string,
    unit: "/s" | "ms" | "×",
    pick: (summary: Summary) => number,
    bound?: Line["bound"],
  ): Line => ({
    what: `${count} ${many ? "processes" : "process"}, ${what}`,
    params: { processes: count },
    figures: [
      { system: ours, value: pick(mine), unit, more: { max: mine.max } },
      ...(limit ? [{ system: bare, value: pick(limit), unit, more: { max: limit.max } }] : []),
    ],
    ...(many && bound && { bound }),
  });
  const times = mine.rate / one;
  return [
    line("appends a second in sum", "/s", ({ rate }) => rate, {
      text: `≥ 0.7× one process (${times.toFixed(2)}×)`,
      met: times >= 0.7,
    }),
    ...(many
      ? [
          line("slowest of its share", "×", ({ share }) => share, {
            text: "≥ 0.33×",
            met: mine.share >= 1 / 3,
          }),
        ]
      : []),
    line("p99", "ms", ({ p99 }) => p99, { text: "< 100 ms", met: mine.p99 < 100 }),
  ];
}

function summarise(rounds: readonly Stint[][] = []): Summary {
  const samples = new Samples();
  const perProcess = new Map<number, number>();
  let ms = 0;
  for (const stints of rounds) {
    ms += Math.max(...stints.map((stint) => stint.ms));
    for (const [index, { times }] of stints.entries()) {
      samples.addAll(times);
      perProcess.set(index, (perProcess.get(index) ?? 0) + times.length);
    }
  }
  const counts = [...perProcess.values()];
  return {
    rate: (samples.count / ms) * 1_000,
    share: (Math.min(...counts) * counts.length) / samples.count,
    p99: samples.p99,
    max: samples.max,
  };
}

function push<T>(map: Map<string, T[]>, key: string, value: T): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else list.push(value);
}
