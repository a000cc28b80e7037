import { type Line, ours, started, startTask, type WorkloadDefinition } from "../harness/index.ts";
import type { BareTask } from "./bare-server.ts";
import type { RequestTask, Requested } from "./request-process.ts";
import { cpuMsOf, startHost, token } from "./served-host.ts";
import type { Bench } from "./bench.ts";

const framework = "bare framework";
const lists = "lists of 50 a second";
const singles = "single sessions a second";
const needed: Readonly<Record<string, number>> = { [lists]: 3_000, [singles]: 10_000 };

/** How many answers one core gives: the host's own, beside those of its framework when it only hands out the same bytes. */
export const answerRequests: WorkloadDefinition<Bench> = {
  id: "requests",
  title: "requests, on one core",
  async measure({ sizes, prepare }) {
    await using place = await prepare();
    await using host = await startHost(place.address, place.folder);
    const list = new URL("api/sessions?limit=50", host.address).href;
    const answer: unknown = await (await fetch(list, { headers })).json();
    const single = new URL(`api/sessions/${firstId(answer)}?limit=1`, host.address).href;
    const lines: Line[] = [];
    for (const [what, url] of [
      [lists, list],
      [singles, single],
    ] as const) {
      const task = { url, token, clients: sizes.clients, ms: sizes.requestMs };
      const mine = await askFor(task, () => host.cpuMs());
      const text = await (await fetch(url, { headers })).text();
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
    return { lines, notes: ["Answers for each second of processor time that the server took."] };
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
  const url = await server.answer;
  return await askFor({ ...task, url }, () => cpuMsOf(child));
}

function firstId(answer: unknown): string {
  const id = /ses_[a-z0-9]+/.exec(JSON.stringify(answer))?.[0];
  if (id === undefined) throw new Error("The list is empty.");
  return id;
}
