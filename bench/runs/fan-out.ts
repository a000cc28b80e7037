import { createClient } from "@holdfast/client";

import { lineOf } from "../harness/figures.ts";
import { type WorkloadDefinition } from "../harness/workload.ts";
import {
  askForLongAnswer,
  createSession,
  howDeliveryIsTimed,
  openStreams,
} from "../host/open-streams.ts";
import { startHost, token } from "../host/served-host.ts";
import type { Bench } from "./bench.ts";

/** One run and many pages that watch it: a served host, and a process with all the pages. */
export const fanOut: WorkloadDefinition<Bench> = {
  id: "fan-out",
  title: "one run, many watchers",
  async measure({ backend, sizes }: Bench) {
    await using database = await backend.createDatabase();
    await using host = await startHost(database.address, database.folder);
    const client = createClient({ baseUrl: host.address, token });
    const id = await createSession(client);

    const { watchers, fanOutMs: ms } = sizes;
    const { href: url } = new URL(`api/sessions/${id}/events?after=0`, host.address);
    const warmMs = ms / 4;
    await using pages = await openStreams({
      token,
      idle: { url, pages: 0 },
      live: { urls: [url], pages: watchers },
      warmMs,
      ms,
    });
    await askForLongAnswer(client, id, ms);
    await new Promise((resolve) => setTimeout(resolve, warmMs));
    const before = host.cpuMs();
    const startedAt = performance.now();
    const { delivery, framesPerSecond, cpuPercent } = await pages.seen;
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
      notes: [howDeliveryIsTimed],
    };
  },
};
