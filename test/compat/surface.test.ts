import { expect, test } from "vitest";

import { compareFacts, describeDifference, planUpdate } from "./surface.ts";

const kept = { errors: ["run_ended 409", "run_live 409"] };

test("a difference names what is gone and what is new", () => {
  const difference = compareFacts(kept.errors, ["run_alive 409", "run_ended 409"]);
  expect(difference).toEqual({ gone: ["run_live 409"], added: ["run_alive 409"] });
  const text = describeDifference("errors", difference);
  expect(text).toContain("- run_live 409");
  expect(text).toContain("+ run_alive 409");
  expect(text).toContain("--allow-removal");
});

test("the snapshot grows without being told to", () => {
  const seen = { errors: [...kept.errors, "run_lost 409"], tables: ["sessions"] };
  expect(planUpdate(kept, seen, "refused")).toEqual({
    lines: ["errors: 0 gone, 1 new", "tables: 0 gone, 1 new"],
    outcome: seen,
  });
});

test("the snapshot loses something only when removal is allowed", () => {
  const seen = { errors: ["run_alive 409", "run_ended 409"] };
  const refused = planUpdate(kept, seen, "refused");
  expect(refused.outcome).toBe("refused");
  expect(refused.lines).toContain("  - run_live 409");
  expect(planUpdate(kept, seen, "allowed").outcome).toEqual(seen);
});

test("a section that is no longer observed counts as gone", () => {
  const { lines, outcome } = planUpdate(kept, {}, "refused");
  expect(outcome).toBe("refused");
  expect(lines).toContain("  - run_live 409");
});
