import { ownerId, sessionId } from "@holdfast/protocol";

import { launchBrowser } from "../../test/support/browser.ts";
import { type BenchOptions, chooseSizes, measureChosen, type Report } from "../harness/index.ts";
import { buildHost } from "../host/build.ts";
import { openCorpus } from "../store/corpus.ts";
import { fillSession } from "../store/fill.ts";
import { sqliteBackend } from "../store/sqlite-backend.ts";
import type { Bench } from "./bench.ts";
import { sizeTable } from "./sizes.ts";
import { streamIntoPage } from "./stream.ts";
import { holdTurns } from "./turns.ts";

const workloads = [streamIntoPage, holdTurns];
const owner = ownerId.parse("owner");

/** The page as people see it: the shipped build, served by the host, in a real browser. */
export async function benchPage(options: BenchOptions, report: Report): Promise<void> {
  buildHost();
  const corpus = openCorpus(options.corpus);
  const sizes = chooseSizes(sizeTable, options);
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
  await measureChosen(workloads, bench, { options, report, backend: "sqlite" });
}
