import type { Json, JsonObject } from "@holdfast/protocol";

import type { Tool, ToolCall, ToolContext, ToolResult } from "@holdfast/engine";
import type { SimHost } from "./host.ts";
import type { ToolEffect } from "./record.ts";
import type { SimWorld } from "./world.ts";

export const toolNames = ["act", "look"] as const;

const timeLimitMs = 4_000;

/** Two tools that leave a mark outside: one that must not be repeated, one that may be. */
export function randomTools(world: SimWorld, host: SimHost): readonly Tool[] {
  return [
    { ...createSimTool("act", world, host), approval: approvalNeedFor },
    createSimTool("look", world, host),
  ];
}

/** Some calls of the tool that must not be repeated need a person's word first. */
function approvalNeedFor(input: Json): "none" | "ask" {
  const n = isObject(input) ? input["n"] : 0;
  return typeof n === "number" && n < 3 ? "ask" : "none";
}

function isObject(value: Json): value is JsonObject {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

function createSimTool(name: (typeof toolNames)[number], world: SimWorld, host: SimHost): Tool {
  const tool: Tool = {
    name,
    description: name,
    input: {},
    replay: name === "act" ? "never" : "safe",
    timeLimitMs,
    run: (call, hands) => runSimTool(world, host, tool, call, hands),
  };
  return tool;
}

async function runSimTool(
  { scheduler, record }: SimWorld,
  host: SimHost,
  { replay }: Tool,
  { callId }: ToolCall,
  { signal, write }: ToolContext,
): Promise<ToolResult> {
  const { chance, steps: step } = scheduler;
  const effect = {
    step,
    callId,
    replay,
    host: host.name,
    outcome: "running" as ToolEffect["outcome"],
  };
  record.effects.push(effect);
  scheduler.note(host, `tool ${replay} begins ${callId.slice(-6)}`);
  const end = (outcome: Exclude<ToolEffect["outcome"], "running">, output: string): ToolResult => {
    effect.outcome = outcome;
    return { outcome, output };
  };
  const ignoresItsSignal = chance.happens(0.1);
  const patience = ignoresItsSignal ? undefined : signal;
  for (let left = chance.between(0, 3); left > 0; left -= 1) {
    write(`o${chance.between(0, 99)} `);
    const ms = chance.happens(0.9) ? chance.between(0, 300) : chance.between(0, 12_000);
    await host.clock.sleep(ms, patience);
    if (patience?.aborted) return end("cancelled", "stopped");
  }
  if (chance.happens(0.1)) return end("failed", "it failed");
  if (chance.happens(0.05)) {
    effect.outcome = "failed";
    throw new Error("The tool broke.");
  }
  return end("ok", "done");
}
