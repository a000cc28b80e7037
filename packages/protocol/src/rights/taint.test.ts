import { expect, test } from "vitest";

import { maxTaintSources, mergeTaint, type TaintSource } from "./taint.ts";

const site = (n: number): TaintSource => ({ kind: "web", name: `site-${n}.example` });

test("sources are named once each, in the order of their first appearance", () => {
  const merged = mergeTaint([site(1), { kind: "mcp" }], [{ kind: "mcp" }, site(2), site(1)]);
  expect(merged).toEqual([site(1), { kind: "mcp" }, site(2)]);
});

test("[safety] many names of one kind hide no other kind, however late it comes", () => {
  const many = Array.from({ length: 2 * maxTaintSources }, (_, n) => site(n));
  const merged = mergeTaint(many, [{ kind: "webhook", name: "ci" }], [{ kind: "quote" }]);
  expect(merged).toEqual([
    ...many.slice(0, maxTaintSources),
    { kind: "webhook", name: "ci" },
    { kind: "quote" },
  ]);
});
