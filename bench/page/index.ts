import { ownerId, sessionId } from "@holdfast/protocol";

import { launchBrowser } from "../../test/support/browser.ts";
import { type BenchOptions, isChosen, type Report } from "../harness/index.ts";
import { buildHost } from "../host/build.ts";
import { openCorpus } from "../store/corpus.ts";
import { fillSession } from "../store/fill.ts";
import { sqliteBackend } from "../store/sqlite-backend.ts";
import { fullSizes, quickSizes } from "./sizes.ts";
import { streamIntoPage } from "./stream.ts";
import { holdTurns } from "./turns.ts";
import type { Bench, WorkloadDefinition } from "./workload.ts";

const workloads: readonly WorkloadDefinition[] = [streamIntoPage, holdTurns];
const owner = ownerId.parse("owner");

/** The page as people see it: the shipped build, served by the host, in a real browser. */
export async function benchPage(options: BenchOptions, report: Report): Promise<void> {
  buildHost();
  const corpus = openCorpus(options.corpus);
  const sizes = options.quick ? quickSizes : fullSizes;
  await using backend = sqliteBackend();
  await using browser = await launchBrowser();
  const bench: Bench = {
    sizes,
    browser,
    async prepare() {
      const key = `page-${corpus.key}-${sizes.messages}`;
      const { place, known } = await backend.preparePlace(key, async (store) => ({
        sessions: [await fillSession(store, corpus, sizes.messages, 0, owner)],
      }));
      return { place, session: sessionId.parse(known["sessions"]?.[0]) };
    },
  };
  for (const { id, title, measure } of workloads.filter((one) => isChosen(one.id, options.only))) {
    const { lines, notes = [] } = await measure(bench);
    report.add({ id, title, backend: "sqlite", lines, notes });
  }
}
