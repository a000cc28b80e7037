import { expect, test } from "vitest";
import { languageOf, previewKindOf } from "./file-kind.ts";

test("a file is previewed by what its name ends with, in any case", () => {
  const names = ["tide.PNG", "a.b.svg", "paper.pdf", "index.html", "notes", ".gitignore", "x.zip"];
  expect(names.map(previewKindOf)).toEqual([
    "picture",
    "picture",
    "pdf",
    "page",
    "text",
    "text",
    "text",
  ]);
});

test("code is coloured in the language of its file", () => {
  const names = ["a.tsx", "b.py", "c.yml", "Makefile", ".env", "d.go"];
  expect(names.map(languageOf)).toEqual(["typescript", "python", "yaml", "", "", "go"]);
});
