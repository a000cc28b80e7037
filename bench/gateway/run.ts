import { type BenchOptions } from "../harness/options.ts";
import { chooseSizes } from "../harness/sizes.ts";
import { measureChosen } from "../harness/workload.ts";
import { type Report } from "../harness/report.ts";
import { buildHost } from "../host/build-host.ts";
import { sqliteBackend } from "../store/sqlite-backend.ts";
import { type Bench, sizeTable } from "./bench.ts";
import { streamToChats } from "./chats.ts";
import { takeUpdates } from "./updates.ts";

const workloads = [takeUpdates, streamToChats];

/** The host as people start it, with a bot on a platform that behaves like the documented Bot API. */
export async function benchGateway(options: BenchOptions, report: Report): Promise<void> {
  buildHost();
  const sizes = chooseSizes(sizeTable, options);
  await using backend = sqliteBackend();
  const bench: Bench = {
    sizes,
    prepare: async () => (await backend.prepareDatabase("gateway", async () => ({}))).database,
  };
  await measureChosen(workloads, bench, { options, report, backend: "sqlite" });
}
