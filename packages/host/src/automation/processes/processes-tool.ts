import type { Tool } from "@holdfast/engine";
import { processId } from "@holdfast/protocol";
import { z } from "zod";

import { defineTool, failed, ok } from "../../agent/tools/define-tool.ts";
import { taintOfHosts } from "../../agent/policy/trusted-hosts.ts";
import type { ProcessManager } from "./process-manager.ts";
import type { ProcessRecord } from "./process-store.ts";
import { describeEnd } from "./end-report.ts";

const maxReadLength = 20_000;
const maxListed = 20;

const input = z.strictObject({
  action: z.enum(["list", "read", "stop"]),
  id: z.string().max(100).optional().describe("Which one, for read and stop."),
});

/** Lists a session's background processes, reads their output, and stops one. */
export function createProcessesTool(
  manager: ProcessManager,
  trustedHosts: () => readonly string[] = () => [],
): Tool {
  async function stateOf(process: ProcessRecord): Promise<string> {
    const state = await manager.stateOf(process);
    switch (state.kind) {
      case "ended":
        return describeEnd(state.end);
      case "elsewhere":
        return `runs on ${process.host}, as far as is known here`;
      case "starting":
        return "is being started";
      case "running":
        return process.stop === null ? "runs" : "is being stopped";
    }
  }

  async function describe(process: ProcessRecord): Promise<string> {
    return `${process.id} ${JSON.stringify(process.shown)} ${await stateOf(process)}`;
  }

  return defineTool({
    name: "processes",
    description:
      "This session's background processes (started with terminal): lists them, reads the latest output of one, or stops one. You are told when one ends.",
    input,
    replay: "safe",
    asks: "none",
    onlyReads: ({ action }) => action !== "stop",
    async run({ action, id }, { owner, session }) {
      if (action === "list") {
        const all = await manager.store.list(owner);
        const own = all.filter(({ process }) => process.session === session).slice(-maxListed);
        if (own.length === 0) return ok("There are none.");
        return ok((await Promise.all(own.map(({ process }) => describe(process)))).join("\n"));
      }
      const parsed = processId.safeParse(id);
      const found = parsed.success ? await manager.store.find(owner, session, parsed.data) : null;
      if (found === null) return failed("There is no such process in this session.");
      if (action === "stop") {
        const stopped = await manager.stop(owner, session, found.process.id);
        return ok(await describe(stopped?.process ?? found.process));
      }
      const head = await describe(found.process);
      const output = await manager.output(found.process, maxReadLength);
      if (output === null) return failed(`${head}: its output is there, and not here.`);
      const omission = output.isWhole ? "" : "[what came before is left out]\n";
      const { granted, reached } = output;
      return {
        ...ok(`${head}\n${omission}${output.text === "" ? "[no output]" : output.text}`),
        taint: taintOfHosts(granted, trustedHosts()),
        ...(reached.length > 0 && { details: { reached: reached.map((host) => ({ ...host })) } }),
      };
    },
  });
}
