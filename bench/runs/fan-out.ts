import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";

import { createClient } from "@holdfast/protocol";

import { startHost, token } from "../host/served-host.ts";
import { type Bench, lineOf, type WorkloadDefinition } from "./bench.ts";
import { started } from "./engine-client.ts";
import type { Watched, WatchTask } from "./watcher-process.ts";

/** The rehearsal model says two words at a time, on average. */
const wordsPerSecond = 100;

/** One run, and many pages that look at it: the host as it is served, and a process with all the pages. */
export const fanOut: WorkloadDefinition = {
  id: "fan-out",
  title: "one run, many watchers",
  async measure({ backend, sizes }: Bench) {
    await using place = await backend.createPlace();
    await using host = await startHost(place.address, place.folder);
    const client = createClient({ baseUrl: host.address, token });
    const created = await client.createSession({ body: {} });
    if (!created.ok) throw new Error(`A session: ${created.error.code}`);
    const { id } = created.value.session;

    const { watchers, fanOutMs: ms } = sizes;
    const url = new URL(`api/sessions/${id}/events?after=0`, host.address).href;
    const task: WatchTask = { url, token, watchers, warmMs: ms / 4, ms };
    const script = fileURLToPath(new URL("./watcher-process.ts", import.meta.url));
    const child = fork(script, [JSON.stringify(task)]);
    // The first thing it says is that all have come; the second is what they saw.
    await using ready = started(child, () => undefined);
    await ready.answer;
    const words = Math.ceil(((ms * 2) / 1_000) * wordsPerSecond);
    const text = `{words:${words}} {rate:${wordsPerSecond}}`;
    const said = await client.sendMessage({ params: { id }, body: { clientId: "first", text } });
    if (!said.ok) throw new Error(`A message: ${said.error.code}`);
    const seen = started(child, (message) => message as Watched);
    await new Promise((resolve) => setTimeout(resolve, task.warmMs));
    const before = host.cpuMs();
    const startedAt = performance.now();
    const { delivery, framesPerSecond, cpuPercent } = await seen.answer;
    const hostPercent = ((host.cpuMs() - before) / (performance.now() - startedAt)) * 100;
    const params = { watchers };
    return {
      lines: [
        lineOf("from the commit to the watcher, p50", delivery.p50, "ms", { params }),
        lineOf("from the commit to the watcher, p99", delivery.p99, "ms", { params }),
        lineOf("frames received a second", framesPerSecond, "/s", { params }),
        lineOf("of one core, host", hostPercent, "%", { params }),
        lineOf("of one core, the process with the watchers", cpuPercent, "%", { params }),
      ],
      notes: [
        "The commit's time is the one in the event, in whole milliseconds of the store's clock.",
      ],
    };
  },
};
