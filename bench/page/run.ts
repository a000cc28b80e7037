import { ownerId, sessionId } from "@holdfast/protocol";

import { launchBrowser } from "@holdfast/testing/browser/browser";
import { type BenchOptions } from "../harness/options.ts";
import { chooseSizes } from "../harness/sizes.ts";
import { measureChosen } from "../harness/workload.ts";
import { type Report } from "../harness/report.ts";
import { buildHost } from "../host/build-host.ts";
import { openCorpus } from "../store/corpus.ts";
import { fillSession, fillSessions } from "../store/fill.ts";
import type { PreparedDatabase } from "../store/bench-database.ts";
import { sqliteBackend } from "../store/sqlite-backend.ts";
import { type Bench, type PreparedSession, sizeTable } from "./bench.ts";
import { loadPage } from "./load.ts";
import { scrollMessages } from "./messages.ts";
import { scrollSessions } from "./sessions.ts";
import { streamIntoPage } from "./stream.ts";
import { holdTurns } from "./turns.ts";
import { typeAndScroll } from "./typing.ts";

const workloads = [
  loadPage,
  streamIntoPage,
  typeAndScroll,
  scrollMessages,
  scrollSessions,
  holdTurns,
];
const owner = ownerId.parse("owner");

/** The page as people see it: the shipped build, served by the host, in a real browser. */
export async function benchPage(options: BenchOptions, report: Report): Promise<void> {
  buildHost();
  const corpus = openCorpus(options.corpus);
  await using backend = sqliteBackend();
  await using browser = await launchBrowser();
  const bench: Bench = {
    sizes: chooseSizes(sizeTable, options),
    browser,
    prepareMessages: async (count) =>
      withSession(
        await backend.prepareDatabase(`page-${corpus.key}-${count}`, async (store) => ({
          sessions: [await fillSession(store, corpus, count, 0, owner)],
        })),
      ),
    // The same that the host is measured with.
    prepareSessions: async (count) =>
      withSession(
        await backend.prepareDatabase(`host-${corpus.key}-${count}`, async (store) => ({
          sessions: await fillSessions(store, corpus, count, owner),
        })),
      ),
  };
  await measureChosen(workloads, bench, { options, report, backend: "sqlite" });
}

function withSession({ database, known }: PreparedDatabase): PreparedSession {
  return { place: database, session: sessionId.parse(known["sessions"]?.at(-1)) };
}
