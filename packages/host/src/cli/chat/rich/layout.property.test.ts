import * as fc from "fast-check";
import { expect, test } from "vitest";
import { layoutScreen } from "./layout.ts";

test("a frame is always lower than its window, and shows the row with the cursor", () => {
  const rows = fc.array(fc.string(), { maxLength: 40 });
  const prompt = fc.tuple(fc.integer({ min: 1, max: 40 }), fc.nat()).map(([count, seed]) => ({
    rows: Array.from({ length: count }, (_, at) => `typed ${at}`),
    row: seed % count,
    column: 3,
  }));
  fc.assert(
    fc.property(
      fc.record({ live: rows, status: rows, choices: rows, prompt }),
      fc.integer({ min: 4, max: 60 }),
      (sections, height) => {
        const frame = layoutScreen({ ...sections, footer: "footer" }, height);
        expect(frame.rows.length).toBeLessThan(height);
        expect(frame.rows[frame.cursor.row]).toBe(`typed ${sections.prompt.row}`);
      },
    ),
  );
});

test("of what is too long the newest is shown", () => {
  const live = Array.from({ length: 30 }, (_, at) => `line ${at}`);
  const prompt = { rows: ["› "], row: 0, column: 2 };
  const { rows } = layoutScreen({ live, status: [], choices: [], prompt, footer: "footer" }, 6);
  expect(rows).toEqual(["line 27", "line 28", "line 29", "› ", "footer"]);
});
