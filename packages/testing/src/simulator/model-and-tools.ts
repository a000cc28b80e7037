import type { Json } from "@holdfast/protocol";

import type { Model, ModelEvent, ModelFailure } from "@holdfast/engine";
import type { SeededRandom } from "./chance.ts";
import type { SimHost } from "./host.ts";
import { toolNames } from "./tools.ts";
import type { SimWorld } from "./world.ts";

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
