import { expect, test } from "vitest";
import { withoutMarkdown } from "./plain-snippet.ts";

function plain(snippet: string, word: string): string {
  const from = snippet.indexOf(word);
  const shown = withoutMarkdown({ snippet, marks: [[from, from + word.length]] });
  const [[start, end] = [0, 0]] = shown.marks;
  expect(shown.snippet.slice(start, end)).toBe(word);
  return shown.snippet;
}

test("a snippet loses its Markdown and keeps its matches", () => {
  expect(plain("## Tides **rise** twice", "rise")).toBe("Tides rise twice");
  expect(plain("- [x] run `npm test` in *each* folder", "test")).toBe(
    "run npm test in each folder",
  );
  expect(plain("see [the table](https://example.org/a) of tides", "tides")).toBe(
    "see the table of tides",
  );
  expect(plain("> quoted ~~words~~ here", "here")).toBe("quoted words here");
});

test("what was searched for stays, and so do marks that are no Markdown", () => {
  expect(plain("the **bold** one", "**bold**")).toBe("the **bold** one");
  expect(plain("2 * 3 and snake_case_name", "snake_case")).toBe("2 * 3 and snake_case_name");
});
