import { createClient } from "@holdfast/client";

import { lineOf } from "../harness/figures.ts";
import { makeScratch } from "../harness/scratch.ts";
import { type WorkloadDefinition } from "../harness/workload.ts";
import {
  askForLongAnswer,
  createSession,
  howDeliveryIsTimed,
  openStreams,
} from "../host/open-streams.ts";
import { startHost, token } from "../host/served-host.ts";
import { type Bench, postgresUrl } from "./bench.ts";

const mostBytes = 400 * 1024 * 1024;
const streamMs = 3_000;

/** Many pages that wait, and one that watches an answer. */
export const holdIdleStreams: WorkloadDefinition<Bench> = {
  id: "idle-streams",
  title: "waiting pages on one host",
  async measure({ backend, sizes }) {
    await using database = await backend.createDatabase();
    const address = { kind: "postgres", url: postgresUrl(database) } as const;
    await using host = await startHost(address, makeScratch("streams-host"));
    const client = createClient({ baseUrl: host.address, token });
    const [quiet, live] = [await createSession(client), await createSession(client)];
    const alone = host.memory();
    await using pages = await openStreams({
      token,
      idle: {
        url: new URL(`api/events?watch=${quiet}:0`, host.address).href,
        pages: sizes.idleStreams,
      },
      live: {
        urls: [new URL(`api/sessions/${live}/events?after=0`, host.address).href],
        pages: 1,
      },
      warmMs: streamMs / 4,
      ms: streamMs,
    });
    await askForLongAnswer(client, live, streamMs);
    const { delivery } = await pages.seen;
    const params = { streams: sizes.idleStreams };
    return {
      lines: [
        lineOf("memory of the host without streams", alone, "bytes"),
        lineOf("memory of the host", host.memory(), "bytes", { params, below: mostBytes }),
        lineOf("from the commit to a page, p99", delivery.p99, "ms", { params }),
      ],
      notes: [howDeliveryIsTimed],
    };
  },
};
