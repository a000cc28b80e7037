import { expect, test } from "vitest";

import { createRedactor, redactJson } from "./redact.ts";

test("[safety] a known secret is redacted wherever it occurs, also one that is set later", () => {
  const known: string[] = ["first-secret"];
  const redact = createRedactor(() => known);
  expect(redact("first-secret, later-secret, first-secret")).toBe(
    "[redacted], later-secret, [redacted]",
  );
  known.push("later-secret");
  expect(redact("later-secret first-secret later-secret")).toBe("[redacted] [redacted] [redacted]");
});

test("[safety] a secret is redacted in every string inside data, and the rest stays as it is", () => {
  const redact = createRedactor(() => ["the-secret-word"]);
  const value = { a: ["the-secret-word", 1, null], b: { c: "say the-secret-word", d: true } };
  expect(redactJson(value, redact)).toEqual({
    a: ["[redacted]", 1, null],
    b: { c: "say [redacted]", d: true },
  });
});

test("a word that is too short to be a secret is left alone", () => {
  expect(createRedactor(() => ["word"])("a word")).toBe("a word");
});
