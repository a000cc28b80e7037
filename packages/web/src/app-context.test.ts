import { makeProblem, type ProblemCode, type ProblemDetails } from "@holdfast/protocol";
import { expect, test } from "vitest";
import { problemText } from "./app-context.ts";

function textFor(code: ProblemCode, details?: ProblemDetails): string {
  const problem = makeProblem(code, details);
  return problemText({ kind: "problem", code, problem });
}

test("a problem that needs a person says what to do, and leaves out the answer of the platform", () => {
  expect(textFor("store_full")).toBe("The store is full. Free space on the host's disk.");
  expect(textFor("bot_refused", { detail: "Unauthorized" })).toBe(
    "The platform rejected this token. Copy the whole token from @BotFather again.",
  );
});

test("a refused field is named with what was expected", () => {
  const errors = [{ path: "token", message: "expected a token like 123456:ABC…" }];
  expect(textFor("invalid_request", { errors })).toBe(
    "Check these fields: token: expected a token like 123456:ABC….",
  );
});

test("any other problem keeps the host's own text", () => {
  expect(textFor("run_live")).toBe("A run is in progress.");
  expect(textFor("model_unusable", { detail: "Set GEMINI_API_KEY." })).toBe("Set GEMINI_API_KEY.");
});
