import type { ModelView } from "@holdfast/protocol";
import { expect, test } from "vitest";
import { describeReread, describeSharedReread, rereadCost, sumRereads } from "./reread-cost.ts";

const model = (name: string, input: number | null): ModelView => ({
  name,
  provider: "openai",
  window: 100_000,
  output: 1_000,
  price: input === null ? null : { input, output: 1, cacheRead: input / 10, cacheWrite: 0 },
  images: false,
  usable: true,
});

test("without a cache the whole context costs the model's price", () => {
  const [cachedBy, readBy] = [model("a", 2), model("b", 4)];
  const cost = rereadCost(50_000, { cachedBy, readBy });
  expect(cost).toEqual({ tokens: 50_000, now: 0.2, cached: 0.01 });
  expect(describeReread(cost!)).toBe(
    "With the next message the model reads about 50,000 tokens from scratch, for about $0.20 instead of about $0.01.",
  );
  const unknown = rereadCost(50_000, { cachedBy, readBy: model("b", null) });
  expect(unknown).toMatchObject({ now: null });
  expect(describeReread(unknown!)).toMatch(/from scratch\.$/);
});

test("nothing is said of a short conversation or a free model", () => {
  const cachedBy = model("a", 2);
  expect(rereadCost(3_999, { cachedBy, readBy: model("b", 2) })).toBeNull();
  expect(rereadCost(50_000, { cachedBy, readBy: model("b", 0) })).toBeNull();
});

test("what a change costs that reaches several conversations is their sum, without a price if one is unknown", () => {
  const [cheap, dear] = [
    { tokens: 3_000, now: 0.25 },
    { tokens: 30_000, now: 0.5 },
  ];
  const cost = sumRereads(2, [cheap, dear]);
  expect(cost).toEqual({ conversations: 2, counted: 2, tokens: 33_000, now: 0.75 });
  expect(describeSharedReread(cost!)).toBe(
    "With their next message, 2 conversations of the last 24 hours will send about 33,000 tokens from scratch, for about $0.75.",
  );
  expect(describeSharedReread({ ...cost!, conversations: 30 })).toBe(
    "This reaches 30 conversations of the last 24 hours. With their next message, the newest 2 alone will send about 33,000 tokens from scratch, for about $0.75.",
  );
  const unpriced = sumRereads(2, [{ tokens: 3_000, now: null }, dear]);
  expect(unpriced).toMatchObject({ tokens: 33_000, now: null });
  expect(describeSharedReread(unpriced!)).toMatch(/tokens from scratch\.$/);
  expect(sumRereads(1, [cheap])).toBeNull();
  expect(sumRereads(1, [{ tokens: 50_000, now: 0 }])).toBeNull();
  expect(sumRereads(0, [])).toBeNull();
});
