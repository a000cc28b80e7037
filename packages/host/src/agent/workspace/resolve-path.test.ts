import { posix } from "node:path";

import * as fc from "fast-check";
import { expect, test } from "vitest";

import { planPath } from "./resolve-path.ts";

const names = fc.constantFrom("..", ".", "", "a", "b", "...", "ä", "a\u0308", "A", " ", "-x", "~");
const paths = fc
  .tuple(fc.constantFrom("", "/", "/root/", "/rooted/"), fc.array(names, { maxLength: 8 }))
  .map(([start, parts]) => start + parts.join("/"));

test("a path is planned exactly as its text resolves, and one that resolves elsewhere is refused", () => {
  fc.assert(
    fc.property(paths, (path) => {
      const whole = posix.resolve("/root", path);
      const isBelow = whole === "/root" || whole.startsWith("/root/");
      const planned = planPath("/root", path);
      // A path that leaves the root and comes back is refused all the same.
      return planned.ok ? isBelow && posix.join("/root", ...planned.value) === whole : true;
    }),
    { numRuns: 500 },
  );
});

test("no text produces a name that is not plain", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 40 }), (path) => {
      const planned = planPath("/root", path);
      // oxlint-disable-next-line no-control-regex -- these must not be there
      return !planned.ok || !planned.value.some((name) => /^\.{0,2}$|[/\u0000-\u001F]/.test(name));
    }),
  );
});

test.each([
  ["a\0b", "bad_name"],
  ["a\nb", "bad_name"],
  ["\uD800", "bad_name"],
  ["x".repeat(256), "too_long"],
  ["ä".repeat(128), "too_long"],
  ["a/".repeat(3_000), "too_long"],
  ["/etc/passwd", "outside"],
  ["/rootbeer", "outside"],
  ["../root/a", "outside"],
])("%j is refused: %s", (path, code) => {
  expect(planPath("/root", path)).toMatchObject({ ok: false, refusal: { code } });
});
