import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import {
  builtInProfiles,
  intersectRights,
  isUnlimited,
  isWithinRights,
  mayUseTool,
  noRights,
  ownerRights,
  type Rights,
  rightsOf,
  rightsProfile,
} from "./rights.ts";

const toolNames = ["read_file", "read_url", "terminal", "wiki__search", "wiki__edit"];
const patterns = [...toolNames, "*", "read_*", "wiki__*", "t*", "re*"];

const profile = fc.record({
  name: fc.constantFrom("one", "two", "three"),
  tools: fc.uniqueArray(fc.constantFrom(...patterns), { maxLength: 5 }),
  sessions: fc.constantFrom("own" as const, "project" as const, "all" as const),
  memory: fc.constantFrom("none" as const, "read" as const, "write" as const),
  approvals: fc.boolean(),
  spendMicrosPerDay: fc.option(fc.nat(1_000), { nil: undefined }),
});
const single = profile.map((fields): Rights => rightsOf(rightsProfile.parse(fields)));
const anyRights = fc.oneof(
  single,
  fc.tuple(single, single).map(([a, b]) => intersectRights(a, b)),
);
const runs = { numRuns: 500 };

describe("the intersection of rights", () => {
  test("[safety] does not depend on the order or the grouping", () => {
    fc.assert(
      fc.property(anyRights, anyRights, anyRights, (a, b, c) => {
        expect(intersectRights(a, b)).toEqual(intersectRights(b, a));
        expect(intersectRights(intersectRights(a, b), c)).toEqual(
          intersectRights(a, intersectRights(b, c)),
        );
      }),
      runs,
    );
  });

  test("[safety] never has more than either side, and is all of what both have", () => {
    fc.assert(
      fc.property(anyRights, anyRights, (a, b) => {
        const both = intersectRights(a, b);
        expect([isWithinRights(both, a), isWithinRights(both, b)]).toEqual([true, true]);
        for (const name of toolNames)
          expect(mayUseTool(both, name)).toBe(mayUseTool(a, name) && mayUseTool(b, name));
        expect(both.approvals).toBe(a.approvals && b.approvals);
      }),
      runs,
    );
  });

  test("[safety] is monotone: whoever had less before has less afterwards", () => {
    fc.assert(
      fc.property(anyRights, anyRights, anyRights, (a, b, c) => {
        const less = intersectRights(a, b);
        expect(isWithinRights(intersectRights(less, c), intersectRights(a, c))).toBe(true);
      }),
      runs,
    );
  });

  test("[safety] a chain of children never gains anything, whatever profiles they have", () => {
    fc.assert(
      fc.property(anyRights, fc.array(anyRights, { maxLength: 5 }), (root, profiles) => {
        let parent = root;
        for (const own of profiles) {
          const child = intersectRights(parent, own);
          expect(isWithinRights(child, parent)).toBe(true);
          parent = child;
        }
      }),
      runs,
    );
  });
});

test("[safety] only the owner's profile is unlimited; a missing profile allows nothing", () => {
  expect(isUnlimited(ownerRights)).toBe(true);
  expect(ownerRights.profile).toBe("owner");
  for (const name of ["group", "webhook"] as const)
    expect(rightsOf({ ...builtInProfiles[name], tools: ["*"] })).toMatchObject({
      sessions: "own",
      memory: "none",
      approvals: false,
    });
  expect(mayUseTool(noRights, "todo")).toBe(false);
  expect(isWithinRights(ownerRights, noRights)).toBe(false);
});

test("[safety] rights with a higher limit on spending, or none, are not within those with a lower one", () => {
  const limited = (spendMicrosPerDay?: number): Rights =>
    rightsOf(rightsProfile.parse({ ...builtInProfiles.owner, name: "job", spendMicrosPerDay }));
  expect(isWithinRights(limited(5), limited(5))).toBe(true);
  expect(isWithinRights(limited(6), limited(5))).toBe(false);
  expect(isWithinRights(limited(), limited(5))).toBe(false);
  expect(isWithinRights(limited(5), limited())).toBe(true);
});
