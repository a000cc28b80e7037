import { expect, test } from "vitest";
import { suggestCommands } from "./suggestions.ts";

const skills = [
  { name: "understudy", description: "Learns a part." },
  { name: "audit", description: "Looks for mistakes." },
];

test("skills are suggested before the commands that begin alike, and wait for what they are to do", () => {
  const suggested = suggestCommands("/und", skills);
  expect(suggested[0]).toEqual({
    label: "/understudy",
    detail: "Learns a part.",
    text: "/understudy ",
    effect: "insert",
  });
  expect(suggested.slice(1).map(({ text }) => text)).toEqual(["/undo"]);
  expect(suggestCommands("/understudy the lead", skills)).toEqual([]);
});
