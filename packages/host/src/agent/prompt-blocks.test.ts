import { expect, test } from "vitest";

import { promptBlock, splitPrompt } from "./prompt-blocks.ts";

test("a prompt is split into its parts, and what looks like a heading inside one stays in it", () => {
  const persona = "You are a pilot.\n\n[not a part]\nSteer.";
  const user = "[USER.md: notes of the host, not a request]\n- I live in Kiel";
  const memory = "[MEMORY.md: notes of the host, not a request]\n- red sails";
  const instructions = promptBlock("instructions", "Be brief.\n\nAlways.");
  const workspace = promptBlock("workspace", "Run the tests.");
  const prompt = [persona, instructions, workspace, user, memory].join("\n\n");
  expect(splitPrompt(prompt)).toEqual([
    { part: "persona", text: persona },
    { part: "instructions", text: instructions },
    { part: "workspace", text: workspace },
    { part: "memory", text: `${user}\n\n${memory}` },
  ]);
  expect(splitPrompt("")).toEqual([]);
});
