import { expect, test } from "vitest";
import { completeSkill } from "./skills.ts";

const skills = ["deploy", "deploy-docs", "audit", "undo"].map((name) => ({ name }));
const found = (typed: string): readonly string[] =>
  completeSkill(typed, skills).map(({ name }) => name);

test("a / and the beginning of a name complete to the skills that begin so; a command keeps its name", () => {
  expect(found("/")).toEqual(["deploy", "deploy-docs", "audit"]);
  expect(found("/de")).toEqual(["deploy", "deploy-docs"]);
  expect(found("/deploy-")).toEqual(["deploy-docs"]);
  expect(found("/un")).toEqual([]);
});

test("nothing completes to a skill in a text, after the name, or without a /", () => {
  for (const typed of ["", "de", "/deploy to", "/deploy ", "see /de", "//de", "/DE"])
    expect(found(typed)).toEqual([]);
});
