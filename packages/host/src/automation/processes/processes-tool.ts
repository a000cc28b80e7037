import type { Tool } from "@holdfast/engine";
import { processId } from "@holdfast/protocol";
import { z } from "zod";

import { defineTool, failed, ok } from "../../agent/tools/define-tool.ts";
import type { ProcessManager } from "./process-manager.ts";
import type { ProcessRecord } from "./process-store.ts";
import { describeEnd } from "./end-report.ts";

const maxReadLength = 20_000;
const maxListed = 20;

const input = z.strictObject({
  action: z.enum(["list", "read", "stop"]),
  id: z.string().max(100).optional().describe("Which one, for read and stop."),
});

/** The background processes of a session: which there are, what they have written, and an end to one. */
export function createProcessesTool(desk: ProcessManager): Tool {
  async function stateOf(process: ProcessRecord): Promise<string> {
    const seen = await desk.stateOf(process);
    switch (seen.kind) {
      case "ended":
        return describeEnd(seen.end);
      case "elsewhere":
        return `runs on ${process.host}, as far as is known here`;
      case "starting":
        return "is being started";
      case "running":
        return process.stop === null ? "runs" : "is being stopped";
    }
  }

  async function tellOne(process: ProcessRecord): Promise<string> {
    return `${process.id} ${JSON.stringify(process.shown)} ${await stateOf(process)}`;
  }

  return defineTool({
    name: "processes",
    description:
      "The background processes of this session, which terminal starts: lists them, reads the newest output of one, or stops one. Their ends are told by themselves: there is no need to wait for them.",
    input,
    replay: "safe",
    asks: "none",
    async run({ action, id }, { owner, session }) {
      if (action === "list") {
        const all = await desk.store.list(owner);
        const own = all.filter(({ process }) => process.session === session).slice(-maxListed);
        if (own.length === 0) return ok("There are none.");
        return ok((await Promise.all(own.map(({ process }) => tellOne(process)))).join("\n"));
      }
      const parsed = processId.safeParse(id);
      const found = parsed.success ? await desk.store.find(owner, session, parsed.data) : null;
      if (found === null) return failed("There is no such process in this session.");
      if (action === "stop") {
        const stopped = await desk.stop(owner, session, found.process.id);
        return ok(await tellOne(stopped?.process ?? found.process));
      }
      const head = await tellOne(found.process);
      const output = await desk.output(found.process, maxReadLength);
      if (output === null) return failed(`${head}: its output is there, and not here.`);
      const left = output.isWhole ? "" : "[what came before is left out]\n";
      return ok(`${head}\n${left}${output.text === "" ? "[no output]" : output.text}`);
    },
  });
}
