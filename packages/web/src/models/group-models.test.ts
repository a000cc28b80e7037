import type { ModelView, ProviderView } from "@holdfast/protocol";
import { expect, test } from "vitest";
import { groupModels } from "./group-models.ts";

const model = (name: string, more: Partial<ModelView> = {}): ModelView => ({
  name,
  provider: name.split("/")[0] ?? "",
  window: 1_000,
  output: 100,
  price: null,
  images: false,
  usable: true,
  ...more,
});
const providers: ProviderView[] = [
  { provider: "openai", title: "OpenAI", usable: true, baseUrl: null, key: { from: "none" } },
];

test("models are grouped by provider, without those that cannot be used", () => {
  const models = [
    model("rehearsal"),
    model("openai/gpt-6-sol", { title: "GPT-6 Sol" }),
    model("openai/gpt-6-luna"),
    model("anthropic/claude-opus-5", { usable: false }),
  ];
  const { groups, hidden } = groupModels({ models, providers }, "");
  expect(groups.map(({ title, models: members }) => [title, members.length])).toEqual([
    ["Holdfast", 1],
    ["OpenAI", 2],
  ]);
  expect(hidden).toBe(0);
});

test("each word of a search must occur in the name or the title", () => {
  const models = [model("openai/gpt-6-sol", { title: "GPT-6 Sol" }), model("openai/gpt-6-luna")];
  const found = (search: string) =>
    groupModels({ models, providers }, search).groups.flatMap((group) =>
      group.models.map(({ name }) => name),
    );
  expect(found("SOL gpt")).toEqual(["openai/gpt-6-sol"]);
  expect(found("gpt")).toHaveLength(2);
  expect(found("heron")).toEqual([]);
});

test("a long list is cut, and says how many are hidden", () => {
  const models = Array.from({ length: 75 }, (_, index) => model(`openai/m${index}`));
  expect(groupModels({ models, providers }, "").hidden).toBe(15);
});
