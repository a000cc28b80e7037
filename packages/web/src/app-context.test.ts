import { makeProblem, type ProblemCode, type ProblemDetails } from "@holdfast/protocol";
import { expect, test } from "vitest";
import { problemText } from "./app-context.ts";

function said(code: ProblemCode, details?: ProblemDetails): string {
  const problem = makeProblem(code, details);
  return problemText({ kind: "problem", code, problem });
}

test("where a person has to do something, the page says what, and leaves out what a platform answered", () => {
  expect(said("store_full")).toBe("The store is full. Free space on the host's disk.");
  expect(said("bot_refused", { detail: "Unauthorized" })).toBe(
    "The platform does not know this token. Copy it again, whole, from @BotFather.",
  );
});

test("a field that was not taken is named with what it may be", () => {
  const errors = [{ path: "token", message: "expected a token like 123456:ABC…" }];
  expect(said("invalid_request", { errors })).toBe(
    "This was not taken: token: expected a token like 123456:ABC….",
  );
});

test("what is a program's matter stays with the host's own words", () => {
  expect(said("run_live")).toBe("A run is going on.");
  expect(said("model_unusable", { detail: "Set GEMINI_API_KEY." })).toBe("Set GEMINI_API_KEY.");
});
