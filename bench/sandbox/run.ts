import { openTrueCommands } from "../../packages/host/test/support/true-commands.ts";
import { lineOf, ours } from "../harness/figures.ts";
import { interleave } from "../harness/interleave.ts";
import { type BenchOptions } from "../harness/options.ts";
import { type Report } from "../harness/report.ts";
import { makeScratch } from "../harness/scratch.ts";
import { measureChosen } from "../harness/workload.ts";

const mostExtraMs = 40;

/** What a sandbox costs a command: `true` as it is, confined, and confined with a host granted. */
export async function benchSandbox(options: BenchOptions, report: Report): Promise<void> {
  const commands = await openTrueCommands(makeScratch("sandbox"));
  const start = {
    id: "start",
    title: `\`true\` in a sandbox (${commands.kind})`,
    async measure() {
      const pace = options.quick
        ? { rounds: 3, budgetMs: 10_000, warmUp: 1 }
        : { rounds: 40, budgetMs: 60_000 };
      const granted = { hosts: ["example.org"] };
      const contenders = [
        { name: "unconfined", run: () => commands.plain(), perRound: 3 },
        { name: ours, run: () => commands.confined(), perRound: 3 },
        { name: "with a host", run: () => commands.confined(granted), perRound: 1 },
      ];
      const timed = await interleave(contenders, pace);
      const [plain, confined] = [timed.of("unconfined"), timed.of(ours)];
      return {
        lines: [
          lineOf("unconfined, p50", plain.p50, "ms"),
          lineOf("confined, p50", confined.p50, "ms"),
          lineOf("confined, p99", confined.p99, "ms"),
          lineOf("slower by, p50", confined.p50 - plain.p50, "ms", { below: mostExtraMs }),
          lineOf("with a granted host, p50", timed.of("with a host").p50, "ms"),
        ],
      };
    },
  };
  await measureChosen([start], {}, { options, report, backend: "sqlite" });
}
