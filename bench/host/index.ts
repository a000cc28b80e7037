import { ownerId } from "@holdfast/protocol";

import { type BenchOptions, isChosen, type Report } from "../harness/index.ts";
import { openCorpus } from "../store/corpus.ts";
import { fillSessions } from "../store/fill.ts";
import { sqliteBackend } from "../store/sqlite-backend.ts";
import { buildHost } from "./build.ts";
import { answerRequests } from "./requests.ts";
import { fullSizes, quickSizes } from "./sizes.ts";
import { startUp } from "./start.ts";
import { holdStreams } from "./streams.ts";
import type { Bench, WorkloadDefinition } from "./workload.ts";

const workloads: readonly WorkloadDefinition[] = [startUp, answerRequests, holdStreams];

/** Whom the host serves. */
const owner = ownerId.parse("owner");

/** The host as people start it, on SQLite. */
export async function benchHost(options: BenchOptions, report: Report): Promise<void> {
  buildHost();
  const corpus = openCorpus(options.corpus);
  const sizes = options.quick ? quickSizes : fullSizes;
  await using backend = sqliteBackend();
  const bench: Bench = {
    sizes,
    async prepare() {
      const key = `host-${corpus.key}-${sizes.sessions}`;
      const { place } = await backend.preparePlace(key, async (store) => ({
        sessions: await fillSessions(store, corpus, sizes.sessions, owner),
      }));
      return place;
    },
  };
  for (const { id, title, measure } of workloads.filter((one) => isChosen(one.id, options.only))) {
    const { lines, notes = [] } = await measure(bench);
    report.add({ id, title, backend: "sqlite", lines, notes });
  }
}
