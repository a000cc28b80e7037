import * as fc from "fast-check";
import { expect, test } from "vitest";
import { layoutScreen } from "./layout.ts";

test("a layout is always lower than its window, and shows the cursor's row", () => {
  const rows = fc.array(fc.string(), { maxLength: 40 });
  const prompt = fc.tuple(fc.integer({ min: 1, max: 40 }), fc.nat()).map(([count, seed]) => ({
    rows: Array.from({ length: count }, (_, index) => `typed ${index}`),
    row: seed % count,
    column: 3,
  }));
  fc.assert(
    fc.property(
      fc.record({ live: rows, status: rows, choices: rows, prompt }),
      fc.integer({ min: 4, max: 60 }),
      (sections, height) => {
        const layout = layoutScreen({ ...sections, footer: "footer" }, height);
        expect(layout.rows.length).toBeLessThan(height);
        expect(layout.rows[layout.cursor.row]).toBe(`typed ${sections.prompt.row}`);
      },
    ),
  );
});

test("the newest of too many live rows are shown", () => {
  const live = Array.from({ length: 30 }, (_, index) => `line ${index}`);
  const prompt = { rows: ["› "], row: 0, column: 2 };
  const { rows } = layoutScreen({ live, status: [], choices: [], prompt, footer: "footer" }, 6);
  expect(rows).toEqual(["line 27", "line 28", "line 29", "› ", "footer"]);
});
