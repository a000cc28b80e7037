import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

import { ownerId } from "@holdfast/protocol";

import { type BenchOptions, isChosen, type Report } from "../harness/index.ts";
import { openCorpus } from "../store/corpus.ts";
import { fillSessions } from "../store/fill.ts";
import { sqliteBackend } from "../store/sqlite-backend.ts";
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

/** As `npm start` does. */
function buildHost(): void {
  const setup = fileURLToPath(new URL("../../scripts/setup.mjs", import.meta.url));
  const built = spawnSync(process.execPath, [setup, "start"], { stdio: "inherit" });
  if (built.status !== 0) throw new Error("The host could not be built.");
}
