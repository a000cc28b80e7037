import { expect, test } from "vitest";

import { describeRestored } from "./describe-files.ts";

test("a restore says what was put back, what was left and why, and what no undo takes back", () => {
  expect(
    describeRestored("undo", {
      restored: ["a.txt", "b.txt"],
      count: 3,
      kept: [{ path: "c.txt", reason: "changed" }],
      missing: ["no_git"],
      effects: [
        { kind: "network", tool: "terminal", text: "git push (git.example.org)" },
        { kind: "sent", tool: "send_file", text: "report.pdf" },
      ],
    }),
  ).toBe(
    "3 files were restored: a.txt, b.txt and 1 more. " +
      "Left as they are: c.txt (changed since then). " +
      "Not everything is known: git is not installed, so changes made by commands were not saved. " +
      "Cannot be undone: ran git push (git.example.org); sent report.pdf.",
  );
});

test("a restore that had nothing to do says so", () => {
  expect(describeRestored("undo", { restored: [], count: 0, kept: [] })).toBe(
    "No files were restored.",
  );
});
