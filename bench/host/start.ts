import { lineOf, ours } from "../harness/figures.ts";
import { Samples } from "../harness/samples.ts";
import { type WorkloadDefinition } from "../harness/workload.ts";
import { startHost } from "./served-host.ts";
import type { Bench } from "./bench.ts";

/** From the start to the first healthy answer, and the memory of an idle host. */
export const startUp: WorkloadDefinition<Bench> = {
  id: "start",
  title: "start, and rest",
  async measure({ sizes, prepare }) {
    await using database = await prepare();
    const times = new Samples();
    let memory = 0;
    for (let turn = 0; turn < sizes.starts; turn += 1) {
      await using host = await startHost(database.address, database.folder);
      times.add(host.healthyMs);
      if (turn < sizes.starts - 1) continue;
      await new Promise((resolve) => setTimeout(resolve, sizes.restMs));
      memory = host.memory();
    }
    const params = { sessions: sizes.sessions, starts: sizes.starts };
    const line = lineOf("start to healthy, p50", times.p50, "ms", { params, below: 500 });
    const more = { max: times.max, count: times.count };
    return {
      lines: [
        { ...line, figures: [{ system: ours, value: times.p50, unit: "ms", more }] },
        lineOf("memory at rest", memory, "bytes", { params, below: 120 * 1024 * 1024 }),
      ],
    };
  },
};
