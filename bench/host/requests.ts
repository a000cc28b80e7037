import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { createClient } from "@holdfast/client";

import { type Line, ours } from "../harness/figures.ts";
import { started, startTask } from "../harness/task.ts";
import { type WorkloadDefinition } from "../harness/workload.ts";
import type { BareTask } from "./bare-server.ts";
import type { RequestTask, Requested } from "./request-process.ts";
import { cpuMsOf, startHost, token } from "./served-host.ts";
import type { Bench } from "./bench.ts";

const framework = "bare framework";
const frameworkAndDriver = "framework and driver";
const listRate = "lists of 50 a second";
const singleRate = "single sessions a second";
const needed: Readonly<Record<string, number>> = { [listRate]: 3_000, [singleRate]: 10_000 };

/** How many requests one core answers: the host, its framework returning the same bytes, and with a bare query. */
export const answerRequests: WorkloadDefinition<Bench> = {
  id: "requests",
  title: "requests, on one core",
  async measure({ sizes, prepare }) {
    await using database = await prepare();
    const { address, folder } = database;
    if (address.kind !== "sqlite") throw new Error("The host is measured on SQLite.");
    await using host = await startHost(address, folder);
    const addresses = await addressesOf(host.address, sizes.pages);
    const lines: Line[] = [];
    for (const [what, pages] of [
      [listRate, addresses.lists],
      [singleRate, addresses.singles],
    ] as const) {
      const text = await (await fetch(pages[0]?.url ?? "", { headers })).text();
      const bareTask: BareTask = { text, file: address.file };
      const child = startTask(new URL("./bare-server.ts", import.meta.url), bareTask);
      await using bare = started(child, String);
      const bareAddress = await bare.answer;
      const served: readonly Served[] = [
        { system: ours, urls: pages.map(({ url }) => url), cpuMs: () => host.cpuMs() },
        { system: framework, urls: [bareAddress], cpuMs: () => cpuMsOf(child) },
        {
          system: frameworkAndDriver,
          urls: pages.map(({ bare: path }) => new URL(path, bareAddress).href),
          cpuMs: () => cpuMsOf(child),
        },
      ];
      const rates = await askInTurns(served, folder, sizes);
      const mine = rates.get(ours)?.perCore ?? 0;
      const least = needed[what] ?? 0;
      lines.push({
        what,
        params: { clients: sizes.clients, turns: sizes.turns, bytes: text.length },
        figures: [...rates].map(([system, { perCore, perSecond }]) => ({
          system,
          value: perCore,
          unit: "/s",
          more: { perSecond },
        })),
        bound: { text: `≥ ${least.toLocaleString("en")}/s`, met: mine >= least },
      });
    }
    return {
      lines,
      notes: [
        "Answers for each second of processor time that the server took: the median of several turns.",
        "Each request asks for another page of the list, or another session, than the one before it.",
        "Framework and driver: the rows are read by one statement for each table, and encoded as they are.",
      ],
    };
  },
};

interface Served {
  readonly system: string;
  readonly urls: readonly string[];
  readonly cpuMs: () => number;
}

/** One after the other, again and again, so that other work on the machine affects all of them. */
async function askInTurns(
  all: readonly Served[],
  folder: string,
  { clients, requestMs, turns }: Bench["sizes"],
): Promise<ReadonlyMap<string, Rate>> {
  const rates = new Map<string, Rate[]>(all.map(({ system }) => [system, []]));
  for (let turn = 0; turn < turns; turn += 1) {
    for (const { system, urls, cpuMs } of all) {
      const file = join(folder, "asked-for");
      writeFileSync(file, urls.join("\n"));
      const task = { urls: file, token, clients, ms: requestMs / turns };
      rates.get(system)?.push(await askFor(task, cpuMs));
    }
  }
  return new Map([...rates].map(([system, measured]) => [system, medianOf(measured)]));
}

function medianOf(rates: readonly Rate[]): Rate {
  const sorted = rates.toSorted((a, b) => a.perCore - b.perCore);
  const median = sorted[Math.floor(sorted.length / 2)];
  if (median === undefined) throw new Error("Nothing was measured.");
  return median;
}

const headers = { authorization: `Bearer ${token}` };

interface Rate {
  readonly perSecond: number;
  readonly perCore: number;
}

async function askFor(task: RequestTask, cpuMs: () => number): Promise<Rate> {
  const child = startTask(new URL("./request-process.ts", import.meta.url), task);
  await using warm = started(child, () => cpuMs());
  const before = await warm.answer;
  const asked = started(child, (message) => ({ ...(message as Requested), after: cpuMs() }));
  const { answers, ms, after } = await asked.answer;
  return {
    perSecond: (answers / ms) * 1_000,
    perCore: answers / ((after - before) / 1_000),
  };
}

/** What is asked of the host, and of the bare server for the same rows. */
interface Asked {
  readonly url: string;
  readonly bare: string;
}

interface Addresses {
  readonly lists: readonly Asked[];
  readonly singles: readonly Asked[];
}

/** This many pages of the list, and every session on them. */
async function addressesOf(host: string, pages: number): Promise<Addresses> {
  const client = createClient({ baseUrl: host, token });
  const lists: Asked[] = [];
  const singles: Asked[] = [];
  let cursor: string | null | undefined;
  let last: string | undefined;
  while (cursor !== null && lists.length < pages) {
    const after = cursor === undefined ? {} : { cursor };
    const page = await client.listSessions({ query: { limit: 50, ...after } });
    if (!page.ok) throw new Error(`A list: ${page.error.code}`);
    const { sessions, nextCursor } = page.value;
    lists.push({
      url: new URL(`api/sessions?${new URLSearchParams({ limit: "50", ...after })}`, host).href,
      bare: last === undefined ? "list" : `list?after=${last}`,
    });
    for (const { id } of sessions)
      singles.push({
        url: new URL(`api/sessions/${id}?limit=1`, host).href,
        bare: `session/${id}`,
      });
    last = sessions.at(-1)?.id;
    cursor = nextCursor;
  }
  return { lists, singles };
}
