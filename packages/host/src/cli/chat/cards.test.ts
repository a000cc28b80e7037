import { expect, test } from "vitest";
import type { Json } from "@holdfast/protocol";
import { plainPaint } from "../screen/paint.ts";
import { CardRows, type FoldedText } from "./cards.ts";

const style = { width: 60, paint: plainPaint };
const items = [
  { text: "Read the tables", state: "done" },
  { text: "Write the report", state: "open" },
];
const output = "[x] Read the tables\n[ ] Write the report";

function cardOf(name: string, input: Json, outcome: "ok" | "failed", changed: boolean) {
  const folded: FoldedText[] = [];
  const changes = changed
    ? [{ path: "tide.ts", change: "changed" as const, diff: "@@ -1,1 +1,1 @@\n-low\n+high" }]
    : undefined;
  const piece = { kind: "toolEnded", name, input, outcome, output, tookMs: 100 } as const;
  const rows = new CardRows((text) => folded.push(text)).add({ ...piece, changes }, style);
  return { rows, folded };
}

test("a card shows what came of a call in place of its long arguments, which can be unfolded", () => {
  const todo = cardOf("todo", { items }, "ok", false);
  expect(todo.rows).toEqual([
    "",
    "╭ ⚙ todo",
    "│ [x] Read the tables",
    "│ [ ] Write the report",
    "╰ ✓ ok 0.1 s",
  ]);
  expect(todo.folded[0]?.title).toContain('"state":"done"');
  const edit = cardOf("edit_file", { path: "tide.ts", old: "low", new: "high" }, "ok", true);
  expect(edit.rows.slice(1, 3)).toEqual(["╭ ⚙ edit_file", "│ Changed tide.ts"]);
  expect(edit.rows.join("\n")).not.toContain("old: low");
});

test("a call that failed is shown with all of its arguments", () => {
  const { rows } = cardOf("todo", { items }, "failed", false);
  expect(rows.join("")).toContain('"state":"done"');
});
