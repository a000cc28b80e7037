import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { createLog, type Store } from "@holdfast/engine";
import { aNotice } from "@holdfast/testing/fixtures/factories";
import { openTestSession } from "@holdfast/testing/fixtures/open-session";
import { openPostgresStore } from "@holdfast/store";
import type { Seq } from "@holdfast/protocol";
import { Client } from "pg";

import { lineOf } from "../harness/figures.ts";
import { Samples } from "../harness/samples.ts";
import { type WorkloadDefinition } from "../harness/workload.ts";
import { type Bench, postgresUrl, type Sizes } from "./bench.ts";

const mostRatio = 1.3;
const betweenRoundsMs = 20;
const msPerTick = 10;

/** What an event costs PostgreSQL if another host than the one that writes it shows it to people. */
export const watchElsewhere: WorkloadDefinition<Bench> = {
  id: "watch",
  title: "sessions watched on the host that writes, and on another",
  async measure({ backend, sizes }) {
    await using database = await backend.createDatabase();
    const url = postgresUrl(database);
    const writer = await openPostgresStore({ url });
    const other = await openPostgresStore({ url });
    const meter = new Client({ connectionString: url });
    await meter.connect();
    const [here, elsewhere] = [new Samples(), new Samples()];
    for (let turn = 0; turn < sizes.watchTurns; turn += 1) {
      here.add(await measureEvents({ writer, watcher: writer, meter, sizes }));
      elsewhere.add(await measureEvents({ writer, watcher: other, meter, sizes }));
    }
    await Promise.all([writer.close(), other.close(), meter.end()]);
    const params = { sessions: sizes.watchedSessions, rounds: sizes.watchRounds };
    return {
      lines: [
        lineOf("PostgreSQL's processor time for an event, watched here", here.p50, "ms", {
          params,
        }),
        lineOf("the same, watched elsewhere", elsewhere.p50, "ms", { params }),
        lineOf("elsewhere to here", elsewhere.p50 / here.p50, "×", { params, below: mostRatio }),
      ],
      notes: ["Medians of the turns. The server must be on this machine: its processes are read."],
    };
  },
};

interface Watched {
  readonly writer: Store;
  readonly watcher: Store;
  readonly meter: Client;
  readonly sizes: Sizes;
}

/** Processor time of PostgreSQL for one event, in milliseconds. */
async function measureEvents({ writer, watcher, meter, sizes }: Watched): Promise<number> {
  const chats = await Promise.all(
    Array.from({ length: sizes.watchedSessions }, () => openTestSession(writer)),
  );
  const log = createLog(writer);
  const watching = watcher === writer ? log : createLog(watcher);
  const all = sizes.watchedSessions * sizes.watchRounds;
  const stop = new AbortController();
  const { promise: everythingSeen, resolve } = Promise.withResolvers<void>();
  let seen = 0;
  const tails = chats.map(async ({ owner, session }) => {
    const tail = watching.tail(owner, session, 1 as Seq, { signal: stop.signal });
    for await (const item of tail) {
      if (item.kind !== "events") continue;
      seen += item.events.length;
      if (seen >= all) resolve();
    }
  });
  await sleep(500);
  const before = await serverCpuMs(meter);
  for (let round = 0; round < sizes.watchRounds; round += 1) {
    await Promise.all(
      chats.map(({ owner, session }) =>
        log.commit({ owner, session, events: [aNotice(`round ${round}`)] }),
      ),
    );
    await sleep(betweenRoundsMs);
  }
  await everythingSeen;
  const spent = (await serverCpuMs(meter)) - before;
  stop.abort();
  await Promise.allSettled(tails);
  return spent / all;
}

/** Of all processes that serve this database's clients. */
async function serverCpuMs(meter: Client): Promise<number> {
  const { rows } = await meter.query<{ pid: number }>(
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
  );
  return rows.reduce((sum, { pid }) => {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return sum + (Number(fields[11]) + Number(fields[12])) * msPerTick;
  }, 0);
}
