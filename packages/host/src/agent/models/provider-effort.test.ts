import { readToEnd } from "@holdfast/testing/fakes/scripted-model";
import type { ReasoningEffort } from "@holdfast/protocol";
import { describe, expect, test } from "vitest";

import {
  openServerWith,
  openWire,
  requestOf,
  unaborted,
  user,
  wires,
} from "../../../test/support/providers/provider-rig.ts";

/** How each provider is told. */
const told: Readonly<Record<string, object>> = {
  "Anthropic messages": { output_config: { effort: "high" } },
  "OpenAI responses": { reasoning: { effort: "high" } },
  "OpenAI chat": { reasoning_effort: "high" },
  "compatible chat": { reasoning_effort: "high" },
  Ollama: { reasoning_effort: "high" },
  Google: { generationConfig: { thinkingConfig: { thinkingLevel: "high" } } },
};

describe.each(wires)("$title", (wire) => {
  async function bodyWith(effort: ReasoningEffort | null) {
    await using server = await openServerWith([{ frames: wire.frames([{ text: "Hm." }]) }]);
    const facts = { window: 100_000, output: 8_000, thinks: "adaptively" } as const;
    const id = wire.provider === "openai" ? "gpt-6-sol" : (wire.id ?? "m");
    const model = openWire({ ...wire, id }, server, { effort, facts });
    await readToEnd(model.stream(requestOf(user("Think")), unaborted()));
    return server.requests[0]?.body;
  }

  test("a chosen reasoning effort is sent", async () => {
    expect(await bodyWith("high")).toMatchObject(told[wire.title] ?? { missing: true });
  });

  test("without one the provider decides", async () => {
    const text = JSON.stringify(await bodyWith(null));
    expect(text).not.toMatch(/"(?:effort|reasoning_effort|thinkingLevel)"/);
  });
});
