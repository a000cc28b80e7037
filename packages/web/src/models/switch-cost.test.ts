import type { ModelView } from "@holdfast/protocol";
import { expect, test } from "vitest";
import { switchCost } from "./switch-cost.ts";

const model = (name: string, input: number | null): ModelView => ({
  name,
  provider: "openai",
  window: 100_000,
  output: 1_000,
  price: input === null ? null : { input, output: 1, cacheRead: input / 10, cacheWrite: 0 },
  images: false,
  usable: true,
});

test("a switch costs the whole context at the new model's price", () => {
  expect(switchCost(50_000, model("a", 2), model("b", 4))).toEqual({
    tokens: 50_000,
    now: 0.2,
    cached: 0.01,
  });
  expect(switchCost(50_000, model("a", 2), model("b", null))).toMatchObject({ now: null });
});

test("nobody is asked about a short conversation, the same model or a free one", () => {
  expect(switchCost(3_999, model("a", 2), model("b", 4))).toBeNull();
  expect(switchCost(50_000, model("a", 2), model("a", 2))).toBeNull();
  expect(switchCost(50_000, model("a", 2), model("b", 0))).toBeNull();
});
