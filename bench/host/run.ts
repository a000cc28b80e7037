import { ownerId } from "@holdfast/protocol";

import { type BenchOptions } from "../harness/options.ts";
import { chooseSizes } from "../harness/sizes.ts";
import { measureChosen } from "../harness/workload.ts";
import { type Report } from "../harness/report.ts";
import { openCorpus } from "../store/corpus.ts";
import { fillSessions } from "../store/fill.ts";
import { sqliteBackend } from "../store/sqlite-backend.ts";
import { type Bench, sizeTable } from "./bench.ts";
import { buildHost } from "./build-host.ts";
import { answerRequests } from "./requests.ts";
import { startUp } from "./start.ts";
import { holdStreams } from "./streams.ts";

const workloads = [startUp, answerRequests, holdStreams];

/** The owner that the host serves. */
const owner = ownerId.parse("owner");

/** The host as people start it, on SQLite. */
export async function benchHost(options: BenchOptions, report: Report): Promise<void> {
  buildHost();
  const corpus = openCorpus(options.corpus);
  const sizes = chooseSizes(sizeTable, options);
  await using backend = sqliteBackend();
  const bench: Bench = {
    sizes,
    async prepare() {
      const key = `host-${corpus.key}-${sizes.sessions}`;
      const { database } = await backend.prepareDatabase(key, async (store) => ({
        sessions: await fillSessions(store, corpus, sizes.sessions, owner),
      }));
      return database;
    },
  };
  await measureChosen(workloads, bench, { options, report, backend: "sqlite" });
}
