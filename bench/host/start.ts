import { type Figure, lineOf, ours } from "../harness/figures.ts";
import { Samples } from "../harness/samples.ts";
import { started, startTask } from "../harness/task.ts";
import { type WorkloadDefinition } from "../harness/workload.ts";
import { memoryOf, startHost } from "./served-host.ts";
import type { Bench } from "./bench.ts";

const bareNode = "bare Node";

/** From the start to the first healthy answer, and the memory of an idle host. */
export const startUp: WorkloadDefinition<Bench> = {
  id: "start",
  title: "start, and rest",
  async measure({ sizes, prepare }) {
    await using database = await prepare();
    const times = new Samples();
    const bareTimes = new Samples();
    let memory = 0;
    let bareMemory = 0;
    for (let turn = 0; turn < sizes.starts; turn += 1) {
      await using host = await startHost(database.address, database.folder);
      times.add(host.healthyMs);
      const bare = await startBareNode();
      bareTimes.add(bare.ms);
      bareMemory = bare.memory;
      if (turn < sizes.starts - 1) continue;
      await new Promise((resolve) => setTimeout(resolve, sizes.restMs));
      memory = host.memory();
    }
    const params = { sessions: sizes.sessions, starts: sizes.starts };
    const floor = (value: number, unit: "ms" | "bytes"): Figure => ({
      system: bareNode,
      value,
      unit,
    });
    const line = lineOf("start to healthy, p50", times.p50, "ms", { params, below: 300 });
    const rest = lineOf("memory at rest", memory, "bytes", { params, below: 100 * 1024 * 1024 });
    const more = { max: times.max, count: times.count };
    return {
      lines: [
        {
          ...line,
          figures: [
            { system: ours, value: times.p50, unit: "ms", more },
            floor(bareTimes.p50, "ms"),
          ],
        },
        { ...rest, figures: [...rest.figures, floor(bareMemory, "bytes")] },
      ],
      notes: [
        "Bare Node: an HTTP server and one thread that waits, in turns. Much of its memory is the program itself, which all processes share.",
      ],
    };
  },
};

async function startBareNode(): Promise<{ readonly ms: number; readonly memory: number }> {
  const startedAt = performance.now();
  const child = startTask(new URL("./bare-node.mjs", import.meta.url), {});
  await using server = started(child, String);
  const response = await fetch(await server.answer);
  await response.arrayBuffer();
  return { ms: performance.now() - startedAt, memory: memoryOf(child) };
}
