import type { Json, JsonObject } from "@holdfast/protocol";
import type {
  Model,
  ModelEvent,
  ModelFailure,
  Tool,
  ToolCall,
  ToolContext,
  ToolResult,
} from "@holdfast/engine";
import type { SeededRandom } from "./scheduler.ts";
import type { SimHost } from "./host.ts";
import type { SimWorld } from "./world.ts";
import type { ToolEffect } from "./record.ts";

type ModelAction =
  | ModelEvent
  | { readonly kind: "hang"; readonly ms: number }
  | { readonly kind: "throw" };

/** A model that says and does anything that a model may, with pauses. It keeps the port's contract except at a hang. */
export function randomModel({ scheduler }: SimWorld, host: SimHost): Model {
  return {
    async *stream(_request, signal) {
      for (const act of drawReply(scheduler.chance)) {
        if (act.kind === "hang") await scheduler.sleep(act.ms, host, "the model hangs");
        else await host.clock.sleep(drawModelPause(scheduler.chance), signal);
        if (signal.aborted || act.kind === "hang") continue;
        if (act.kind === "throw") throw new Error("The provider's client broke.");
        yield act;
      }
    },
  };
}

function drawModelPause(chance: SeededRandom): number {
  return chance.happens(0.8) ? chance.between(0, 60) : chance.between(0, 3_000);
}

function drawReply(chance: SeededRandom): readonly ModelAction[] {
  const kind = chance.weighted({ answer: 8, calls: 6, failure: 3, empty: 1, hang: 1, throw: 0.5 });
  const said = drawText(chance);
  switch (kind) {
    case "answer":
      return [...said, ...drawUsage(chance)];
    case "calls":
      return [
        ...(chance.happens(0.5) ? said : []),
        ...Array.from({ length: chance.between(1, 3) }, () => drawCall(chance)),
        ...drawUsage(chance),
      ];
    case "failure":
      return [...(chance.happens(0.5) ? said : []), drawFailure(chance)];
    case "empty":
      return drawUsage(chance);
    case "hang":
      return [...said, { kind: "hang", ms: chance.between(1_000, 15_000) }, drawFailure(chance)];
    case "throw":
      return [...(chance.happens(0.5) ? said : []), { kind: "throw" }];
  }
}

function drawText(chance: SeededRandom): readonly ModelAction[] {
  const thought = chance.happens(0.3)
    ? [{ kind: "reasoning", text: randomWord(chance) } as const]
    : [];
  const text = Array.from({ length: chance.between(1, 7) }, () => ({
    kind: "text" as const,
    text: randomWord(chance),
  }));
  return [...thought, ...text];
}

function randomWord(chance: SeededRandom): string {
  return `w${chance.between(0, 999_999_999)} `;
}

function drawCall(chance: SeededRandom): ModelEvent {
  const input: Json = { n: chance.between(0, 9) };
  return { kind: "call", name: chance.pick([...toolNames, "missing"]), input };
}

function drawUsage(chance: SeededRandom): readonly ModelEvent[] {
  if (chance.happens(0.5)) return [];
  return [
    { kind: "usage", usage: { input: chance.between(1, 99), output: chance.between(1, 99) } },
  ];
}

function drawFailure(chance: SeededRandom): ModelEvent {
  const kinds = ["retryable", "retryable", "overloaded", "overflow", "auth", "refused", "fatal"];
  const failureClass = chance.pick(kinds as ModelFailure["class"][]);
  const failure: ModelFailure = {
    class: failureClass,
    code: `simulated_${failureClass}`,
    message: "simulated",
    ...(failureClass === "overloaded" && { retryAfterMs: chance.between(0, 2_000) }),
  };
  return { kind: "failed", failure };
}

export const toolNames = ["act", "look"] as const;

const timeLimitMs = 4_000;

/** Two tools with effects outside: one that must not be repeated, and one that may be. */
export function randomTools(world: SimWorld, host: SimHost): readonly Tool[] {
  return [
    { ...createSimTool("act", world, host), approval: approvalNeedFor },
    createSimTool("look", world, host),
  ];
}

/** Some calls of the tool that must not be repeated need an approval. */
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
    run: (call, context) => runSimTool(world, host, tool, call, context),
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
