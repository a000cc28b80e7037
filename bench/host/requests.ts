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
const listRate = "lists of 50 a second";
const singleRate = "single sessions a second";
const needed: Readonly<Record<string, number>> = { [listRate]: 3_000, [singleRate]: 10_000 };

/** How many requests one core answers: the host, and its framework returning the same bytes. */
export const answerRequests: WorkloadDefinition<Bench> = {
  id: "requests",
  title: "requests, on one core",
  async measure({ sizes, prepare }) {
    await using database = await prepare();
    await using host = await startHost(database.address, database.folder);
    const addresses = await addressesOf(host.address, sizes.pages);
    const lines: Line[] = [];
    for (const [what, urls] of [
      [listRate, addresses.lists],
      [singleRate, addresses.singles],
    ] as const) {
      const file = join(database.folder, "asked-for");
      writeFileSync(file, urls.join("\n"));
      const task = { urls: file, token, clients: sizes.clients, ms: sizes.requestMs };
      const mine = await askFor(task, () => host.cpuMs());
      const text = await (await fetch(urls[0] ?? "", { headers })).text();
      const limit = await askBare(task, text);
      const least = needed[what] ?? 0;
      lines.push({
        what,
        params: { clients: sizes.clients, bytes: text.length },
        figures: [
          { system: ours, value: mine.perCore, unit: "/s", more: { perSecond: mine.perSecond } },
          { system: framework, value: limit.perCore, unit: "/s", more: { ...limit } },
        ],
        bound: { text: `≥ ${least.toLocaleString("en")}/s`, met: mine.perCore >= least },
      });
    }
    return {
      lines,
      notes: [
        "Answers for each second of processor time that the server took.",
        "Each request asks for another page of the list, or another session, than the one before it.",
      ],
    };
  },
};

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

/** The same bytes from a server that does nothing else. */
async function askBare(task: RequestTask, text: string): Promise<Rate> {
  const bareTask: BareTask = { text };
  const child = startTask(new URL("./bare-server.ts", import.meta.url), bareTask);
  await using server = started(child, String);
  writeFileSync(task.urls, await server.answer);
  return await askFor(task, () => cpuMsOf(child));
}

interface Addresses {
  readonly lists: readonly string[];
  readonly singles: readonly string[];
}

/** The URLs of this many pages of the list, and of every session on them. */
async function addressesOf(host: string, pages: number): Promise<Addresses> {
  const client = createClient({ baseUrl: host, token });
  const lists: string[] = [];
  const singles: string[] = [];
  let cursor: string | null | undefined;
  while (cursor !== null && lists.length < pages) {
    const after = cursor === undefined ? {} : { cursor };
    const page = await client.listSessions({ query: { limit: 50, ...after } });
    if (!page.ok) throw new Error(`A list: ${page.error.code}`);
    const { sessions, nextCursor } = page.value;
    lists.push(
      new URL(`api/sessions?${new URLSearchParams({ limit: "50", ...after })}`, host).href,
    );
    singles.push(...sessions.map(({ id }) => new URL(`api/sessions/${id}?limit=1`, host).href));
    cursor = nextCursor;
  }
  return { lists, singles };
}
