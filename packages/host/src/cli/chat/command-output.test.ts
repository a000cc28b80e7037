import { emptySessionRead } from "@holdfast/client";
import { commands, ids, ownerId } from "@holdfast/protocol";
import { expect, test } from "vitest";
import { plainPaint } from "../screen/paint.ts";
import { widthOf } from "../screen/width.ts";
import { commandRows } from "./command-output.ts";

test.each([30, 60, 100])("the help breaks no word in a window of %i columns", (width) => {
  const rows = commandRows({ kind: "help", commands }, { width, paint: plainPaint });
  for (const row of rows) expect(widthOf(row)).toBeLessThanOrEqual(width);
  const shown = rows.join(" ").split(/\s+/);
  const words = commands.flatMap(({ help }) => help.split(" "));
  expect(words.filter((word) => !shown.includes(word))).toEqual([]);
});

test("another model or persona says what the next message costs", () => {
  const { session } = emptySessionRead(ids.make("session"), ownerId.parse("me"));
  const style = { width: 200, paint: plainPaint };
  const reread = { tokens: 50_000, now: 0.2, cached: 0.01 };
  for (const what of ["model_chosen", "persona_chosen", "project_chosen"] as const) {
    const rows = commandRows({ kind: "changed", what, session, reread }, style);
    expect(rows.at(-1)).toContain("reads about 50,000 tokens from scratch, for about $0.20");
    expect(commandRows({ kind: "changed", what, session }, style)).toHaveLength(rows.length - 1);
  }
});

test("a refusal breaks no word", () => {
  const sentence =
    "A summary would free less than a fifth of the context. Continue the conversation.";
  const rows = commandRows(
    { kind: "refused", code: "nothing_to_gain", sentence },
    { width: 30, paint: plainPaint },
  );
  for (const row of rows) expect(widthOf(row)).toBeLessThanOrEqual(30);
  expect(rows.map((row) => row.trim()).join(" ")).toBe(sentence);
});
