import { expect, test } from "vitest";
import { z } from "zod";

import {
  fieldErrors,
  isProblemCode,
  makeProblem,
  problem,
  type ProblemCode,
  problemKinds,
} from "./problems.ts";

const codes = Object.keys(problemKinds) as ProblemCode[];

test.each(codes)("%s makes a document that a client can read, with what to do next", (code) => {
  const made = makeProblem(code, { detail: "why", instance: "req_1" });
  expect(problem.parse(JSON.parse(JSON.stringify(made)))).toStrictEqual({
    type: "about:blank",
    code,
    ...problemKinds[code],
    detail: "why",
    instance: "req_1",
  });
  expect(made.next).not.toBe("");
});

test("a code that only a newer host knows is readable and recognised as unknown", () => {
  const newer = { type: "about:blank", title: "t", status: 418, code: "teapot", hint: 1 };
  expect(problem.parse(newer)).toStrictEqual(newer);
  expect(isProblemCode("teapot")).toBe(false);
  expect(isProblemCode("toString")).toBe(false);
  expect(isProblemCode("run_live")).toBe(true);
});

test("a refused field is named by its path, and its value is not repeated", () => {
  const refused = z
    .strictObject({ a: z.strictObject({ b: z.int() }) })
    .safeParse({ a: { b: "secret" } });
  const errors = refused.error === undefined ? [] : fieldErrors(refused.error);
  expect(errors.map(({ path }) => path)).toStrictEqual(["a.b"]);
  expect(JSON.stringify(errors)).not.toContain("secret");
});
