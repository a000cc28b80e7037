import { createClient } from "@holdfast/client";

import { lineOf } from "../harness/figures.ts";
import { type WorkloadDefinition } from "../harness/workload.ts";
import type { Bench } from "./bench.ts";
import {
  askForLongAnswer,
  createSession,
  howDeliveryIsTimed,
  openStreams,
} from "./open-streams.ts";
import { startHost, token } from "./served-host.ts";

/** Many idle pages, and some that watch a streaming answer, all on one host. */
export const holdStreams: WorkloadDefinition<Bench> = {
  id: "streams",
  title: "waiting pages and live runs in one process",
  async measure({ sizes, prepare }) {
    await using database = await prepare();
    await using host = await startHost(database.address, database.folder);
    const client = createClient({ baseUrl: host.address, token });
    const quiet = await createSession(client);
    const live = await Promise.all(
      Array.from({ length: sizes.liveRuns }, () => createSession(client)),
    );
    const urls = live.map((id) => new URL(`api/sessions/${id}/events?after=0`, host.address).href);
    const { href: url } = new URL(`api/events?watch=${quiet}:0`, host.address);
    await using pages = await openStreams({
      token,
      idle: { url, pages: sizes.idleStreams },
      live: { urls, pages: 1 },
      warmMs: sizes.streamMs / 4,
      ms: sizes.streamMs,
    });
    await Promise.all(live.map((id) => askForLongAnswer(client, id, sizes.streamMs)));
    const { delivery, framesPerSecond } = await pages.seen;
    const params = { idle: sizes.idleStreams, live: sizes.liveRuns };
    const most = 500 * 1024 * 1024;
    return {
      lines: [
        lineOf("memory of the host", host.memory(), "bytes", { params, below: most }),
        lineOf("from the commit to the page, p50", delivery.p50, "ms", { params }),
        lineOf("from the commit to the page, p99", delivery.p99, "ms", { params, below: 100 }),
        lineOf("deltas received a second", framesPerSecond, "/s", { params }),
      ],
      notes: [howDeliveryIsTimed],
    };
  },
};
