import { expect, test } from "vitest";

import { parseProfile } from "./parse-profile.ts";

const file = (head: string, body = "Look closely.") => `---\n${head}\n---\n${body}\n`;
const base = "name: reviewer\ndescription: Reads changes.";

async function reasonOf(text: string) {
  const parsed = await parseProfile(text, "reviewer.md");
  return parsed.ok ? "" : parsed.reason;
}

test("a profile has a prompt and limits, and its budget in the units of the log", async () => {
  const head = `${base}
tools: read_file, grep mcp_github_*
rights: careful
mode: plan
model: anthropic/claude-haiku-4-5
effort: low
budget:
  steps: 12
  tokens: 200000
  cost: 0.25
  minutes: 1.5`;
  expect(await parseProfile(file(head), "x.md")).toEqual({
    ok: true,
    profile: {
      name: "reviewer",
      description: "Reads changes.",
      prompt: "Look closely.",
      tools: ["read_file", "grep", "mcp_github_*"],
      rights: "careful",
      mode: "plan",
      model: "anthropic/claude-haiku-4-5",
      effort: "low",
      budget: { steps: 12, tokens: 200_000, costMicros: 250_000, timeMs: 90_000 },
    },
    warnings: [],
  });
});

test("without a name the file's name counts, and without limits there are none", async () => {
  const parsed = await parseProfile(file("description: Reads.\nmodel: inherit"), "tide-reader.md");
  expect(parsed).toMatchObject({
    ok: true,
    profile: { name: "tide-reader", tools: null, model: null, mode: null, budget: null },
  });
  expect(await parseProfile(file(`${base}\ntools: []`), "x.md")).toMatchObject({
    profile: { tools: [] },
  });
});

test("an unknown field is ignored with a warning", async () => {
  expect(await parseProfile(file(`${base}\ncolor: blue`), "x.md")).toMatchObject({
    ok: true,
    warnings: ['"color" is not a known field and is ignored.'],
  });
});

test.each([
  ["no front matter", "Look closely.", "must begin with front matter"],
  ["YAML that cannot be read", file("name: [a"), "not valid YAML"],
  ["a name with blanks", file("name: Two Words\ndescription: x"), "Rename"],
  ["no description", file("name: reviewer"), "no description"],
  ["no prompt", file(base, ""), "no text below"],
  ["a prompt that is too long", file(base, "x".repeat(25_000)), "longer than 24000"],
  ["a tool that is none", file(`${base}\ntools: "rm -rf; read_file"`), "neither a tool's name"],
  ["another mode", file(`${base}\nmode: yolo`), "The mode must be one of"],
  ["another effort", file(`${base}\neffort: huge`), "The effort must be one of"],
  ["a limit with a typing error", file(`${base}\nbudget:\n  step: 3`), 'not "step"'],
  ["a negative limit", file(`${base}\nbudget:\n  cost: -1`), "number above 0"],
  ["half a step", file(`${base}\nbudget:\n  steps: 1.5`), "whole number"],
  ["a budget that is a number", file(`${base}\nbudget: 5`), "budget in reviewer.md"],
])("a file with %s is not used, and says what to correct", async (_, text, reason) => {
  expect(await reasonOf(text)).toContain(reason);
});
