import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { createClient, type Client } from "@holdfast/client";
import { ids } from "@holdfast/protocol";

import { assistant, HermesHome, tool, user } from "../../packages/host/test/support/hermes/home.ts";
import { type Line, lineOf } from "../harness/figures.ts";
import { Samples } from "../harness/samples.ts";
import { makeScratch } from "../harness/scratch.ts";
import { size, type SizesOf } from "../harness/sizes.ts";
import { type ServedHost, startHost, token } from "../host/served-host.ts";
import type { Backend } from "../store/bench-database.ts";

export const sizeTable = {
  messages: size(100_000, 2_000),
  /** Of each session. */
  perSession: size(100, 20),
};

export interface Bench {
  readonly sizes: SizesOf<typeof sizeTable>;
  readonly backend: Backend;
}

const mostSeconds = 60;
/** What memory may grow by while four times as much is imported. */
const mostGrowth = 1.5;

/** A hermes home of years, imported by a running host, which meanwhile answers others. */
export async function measureImport({
  sizes,
  backend,
}: Bench): Promise<{ readonly lines: readonly Line[]; readonly notes: readonly string[] }> {
  const quarter = await importOne(backend, { ...sizes, messages: sizes.messages / 4 });
  const whole = await importOne(backend, sizes);
  const params = { messages: sizes.messages, perSession: sizes.perSession };
  const growth = whole.peak / quarter.peak;
  return {
    lines: [
      lineOf("to the end of its report", whole.seconds, "s", { params, below: mostSeconds }),
      lineOf("messages", sizes.messages / whole.seconds, "/s", { params }),
      lineOf("processor time of host and reader", whole.cpuSeconds, "s", { params }),
      lineOf("host's largest memory, times that of a quarter", growth, "×", {
        params,
        below: mostGrowth,
      }),
      lineOf("host's largest memory", whole.peak, "bytes", { params }),
      lineOf("a message accepted meanwhile, p50", whole.accepted.p50, "ms", { params }),
      lineOf("a message accepted meanwhile, p99", whole.accepted.p99, "ms", { params }),
      lineOf("the list of sessions meanwhile, p99", whole.listed.p99, "ms", { params }),
      lineOf("the same again, with nothing new", whole.againSeconds, "s", { params }),
    ],
    notes: ["Each text is read back and compared by its hash; the time is that of all of it."],
  };
}

interface Measured {
  readonly seconds: number;
  readonly againSeconds: number;
  readonly cpuSeconds: number;
  readonly peak: number;
  readonly accepted: Samples;
  readonly listed: Samples;
}

async function importOne(backend: Backend, sizes: Bench["sizes"]): Promise<Measured> {
  const scratch = makeScratch("import");
  const path = join(scratch, "hermes");
  writeHome(path, sizes);
  await using database = await backend.createDatabase();
  await using host = await startHost(database.address, join(scratch, "home"), {
    HOLDFAST_MODEL: "rehearsal",
  });
  const client = createClient({ baseUrl: host.address.replace(/\/$/, ""), token });
  const accepted = new Samples();
  const listed = new Samples();
  const meanwhile = new AbortController();
  const others = serveOthers(client, meanwhile.signal, { accepted, listed });
  const before = cpuSeconds(host);
  const { seconds, peak } = await runImport(client, path, host, sizes.messages);
  const used = cpuSeconds(host) - before;
  meanwhile.abort();
  await others;
  const again = await runImport(client, path, host, sizes.messages);
  const figures = { seconds, peak, accepted, listed };
  return { ...figures, cpuSeconds: used, againSeconds: again.seconds };
}

/** With its children that have ended: the process that read the home is one. */
function cpuSeconds(host: ServedHost): number {
  return (host.cpuMs() + host.childrenCpuMs()) / 1_000;
}

async function runImport(
  client: Client,
  path: string,
  host: ServedHost,
  messages: number,
): Promise<{ readonly seconds: number; readonly peak: number }> {
  const startedAt = performance.now();
  const started = await client.startImport({ body: { source: "hermes", path } });
  if (!started.ok) throw new Error(JSON.stringify(started.error));
  const params = { id: started.value.import.id };
  let peak = 0;
  for (;;) {
    await setTimeout(100);
    peak = Math.max(peak, host.memory());
    const read = await client.readImport({ params });
    if (!read.ok) throw new Error(JSON.stringify(read.error));
    const { state, failure, texts, differs } = read.value.import;
    if (state === "running") continue;
    if (failure !== null || texts !== messages || differs > 0)
      throw new Error(`The import isn't whole: ${failure}, ${texts} texts, ${differs} differ.`);
    return { seconds: (performance.now() - startedAt) / 1_000, peak };
  }
}

const pauseMs = 100;

/** A person who writes in a session of their own and looks at the list. */
async function serveOthers(
  client: Client,
  signal: AbortSignal,
  { accepted, listed }: Pick<Measured, "accepted" | "listed">,
): Promise<void> {
  const created = await client.createSession({ body: { title: "Meanwhile" } });
  if (!created.ok) throw new Error(JSON.stringify(created.error));
  const { id } = created.value.session;
  const timed = async (samples: Samples, call: () => Promise<{ readonly ok: boolean }>) => {
    const startedAt = performance.now();
    const answer = await call();
    if (!answer.ok) throw new Error("A request beside the import failed.");
    samples.add(performance.now() - startedAt);
  };
  while (!signal.aborted) {
    const body = { clientId: ids.make("message"), text: "Hello {words:3}" };
    await timed(accepted, () => client.sendMessage({ params: { id }, body }));
    await timed(listed, () => client.listSessions({}));
    await setTimeout(pauseMs);
  }
}

/** Messages of the usual length, with a tool's result in each tenth turn. */
function writeHome(path: string, { messages, perSession }: Bench["sizes"]): void {
  const home = new HermesHome(path);
  const corpus = readFileSync(new URL("../../docs/architecture.md", import.meta.url), "utf8");
  const textAt = (n: number): string => {
    const from = (n * 397) % (corpus.length - 1_200);
    return `${n} ${corpus.slice(from, from + 100 + ((n * 131) % 1_000))}`;
  };
  home.inOneCommit(() => {
    for (let n = 0; n < messages; n += perSession)
      home.session(
        `session-${n}`,
        { title: `Session ${n}`, model: "m", input_tokens: 1_000, actual_cost_usd: 0.01 },
        Array.from({ length: perSession }, (_, index) => {
          const said = textAt(n + index);
          if (index % 20 === 17) return assistant(said, { calls: [`call-${n}-${index}`] });
          if (index % 20 === 18) return tool(`call-${n}-${index - 1}`, said);
          return index % 2 === 0 ? user(said) : assistant(said);
        }),
      );
  });
  home.close();
}
