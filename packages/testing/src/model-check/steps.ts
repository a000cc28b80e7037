import * as fc from "fast-check";

import type { LeaseKind } from "@holdfast/engine";

/** What to do, but not yet to what: the numbers choose among whatever exists when the step runs. */
export interface Sketch {
  readonly do: (typeof actionNames)[number];
  readonly n: number;
  readonly m: number;
}

export type Step =
  | {
      readonly step: "create";
      readonly owner: number;
      readonly branch: number | null;
      readonly point: number;
    }
  | {
      readonly step: "commit";
      readonly session: number;
      readonly by: "owner" | "stranger";
      readonly handle: number;
      readonly sketches: readonly Sketch[];
      readonly under: {
        readonly kind: LeaseKind;
        readonly fence: "held" | "older" | "newer";
      } | null;
      readonly expect: {
        readonly revision?: number;
        readonly head?: number;
        readonly idle?: true;
        readonly uncompacted?: true;
      };
      readonly touch: "normal" | "quiet";
    }
  | {
      readonly step: "lease";
      readonly session: number;
      readonly handle: number;
      readonly kind: LeaseKind;
      readonly action: "acquire" | "replace" | "renew" | "release";
      readonly holder: number;
      readonly fence: number;
      readonly hours: number;
    }
  | { readonly step: "resend"; readonly which: number; readonly handle: number }
  | { readonly step: "purge"; readonly session: number; readonly by: "owner" | "stranger" }
  | {
      readonly step: "list";
      readonly owner: number;
      readonly query: ListSketch;
      readonly limit: number;
    }
  | {
      readonly step: "page";
      readonly session: number;
      readonly before: number;
      readonly limit: number;
    }
  | { readonly step: "prune"; readonly limit: number }
  | { readonly step: "clock"; readonly hours: number };

export interface ListSketch {
  readonly shelf: "active" | "archived" | "trash";
  readonly pinned?: true;
  readonly project?: string;
  readonly tag?: string;
}

const actionNames = [
  "say",
  "take",
  "answer",
  "stream",
  "settle",
  "accept",
  "remove",
  "run",
  "end",
  "cut",
  "change",
  "spend",
  "ask",
  "grant",
  "mark",
  "remember",
  "deliver",
  "bind",
  "trash",
  "restore",
  "blunder",
] as const;

const small = fc.nat({ max: 7 });
const weigh = <T>(...pairs: [number, T][]) =>
  fc.oneof(...pairs.map(([weight, value]) => ({ weight, arbitrary: fc.constant(value) })));

const sketch: fc.Arbitrary<Sketch> = fc.record({
  do: weigh<Sketch["do"]>(
    [4, "say"],
    [3, "take"],
    [2, "answer"],
    [8, "stream"],
    [5, "settle"],
    [4, "accept"],
    [1, "remove"],
    [4, "run"],
    [3, "end"],
    [2, "cut"],
    [3, "change"],
    [2, "spend"],
    [3, "ask"],
    [3, "grant"],
    [3, "mark"],
    [3, "remember"],
    [3, "deliver"],
    [1, "bind"],
    [1, "trash"],
    [1, "restore"],
    [1, "blunder"],
  ),
  n: small,
  m: small,
});

const kind = weigh<LeaseKind>(
  [4, "run"],
  [2, "compaction"],
  [1, "memory"],
  [1, "history"],
  [1, "outbox"],
);
const by = weigh<"owner" | "stranger">([15, "owner"], [1, "stranger"]);
const handle = fc.nat({ max: 1 });

const commit = fc.record({
  step: fc.constant("commit" as const),
  session: small,
  by,
  handle,
  sketches: fc.array(sketch, { minLength: 1, maxLength: 4 }),
  under: fc.oneof(
    { weight: 2, arbitrary: fc.constant(null) },
    {
      weight: 1,
      arbitrary: fc.record({
        kind,
        fence: weigh<"held" | "older" | "newer">([4, "held"], [1, "older"], [1, "newer"]),
      }),
    },
  ),
  expect: fc.oneof(
    { weight: 4, arbitrary: fc.constant({}) },
    // How far the expectation is off.
    { weight: 1, arbitrary: fc.record({ revision: fc.nat({ max: 1 }) }) },
    { weight: 1, arbitrary: fc.record({ head: fc.nat({ max: 1 }) }) },
    { weight: 1, arbitrary: fc.record({ idle: fc.constant(true as const) }) },
    { weight: 1, arbitrary: fc.record({ uncompacted: fc.constant(true as const) }) },
  ),
  touch: weigh<"normal" | "quiet">([5, "normal"], [1, "quiet"]),
});

const lease = fc.record({
  step: fc.constant("lease" as const),
  session: small,
  handle,
  kind,
  action: weigh<"acquire" | "replace" | "renew" | "release">(
    [4, "acquire"],
    [1, "replace"],
    [2, "renew"],
    [1, "release"],
  ),
  holder: fc.nat({ max: 2 }),
  fence: fc.nat({ max: 2 }),
  // Halves, while the clock moves by whole hours, so that no program gets near a boundary.
  hours: fc.constantFrom(0.5, 2.5),
});

const list = fc.record({
  step: fc.constant("list" as const),
  owner: fc.nat({ max: 1 }),
  query: fc.record(
    {
      shelf: fc.constantFrom("active" as const, "archived" as const, "trash" as const),
      pinned: fc.constant(true as const),
      project: fc.constantFrom("p", "q"),
      tag: fc.constantFrom("a", "b"),
    },
    { requiredKeys: ["shelf"] },
  ),
  limit: fc.integer({ min: 1, max: 4 }),
});

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: commit },
  { weight: 4, arbitrary: lease },
  {
    weight: 2,
    arbitrary: fc.record({
      step: fc.constant("create" as const),
      owner: fc.nat({ max: 1 }),
      branch: fc.option(small),
      point: small,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ step: fc.constant("resend" as const), which: small, handle }),
  },
  { weight: 1, arbitrary: fc.record({ step: fc.constant("purge" as const), session: small, by }) },
  { weight: 2, arbitrary: list },
  {
    weight: 1,
    arbitrary: fc.record({
      step: fc.constant("page" as const),
      session: small,
      before: fc.nat({ max: 30 }),
      limit: fc.integer({ min: 1, max: 5 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ step: fc.constant("prune" as const), limit: fc.constantFrom(1, 1_000) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      step: fc.constant("clock" as const),
      hours: fc.integer({ min: -3, max: 4 }),
    }),
  },
);

export function programs(length: number): fc.Arbitrary<Step[]> {
  return fc.array(step, { minLength: 1, maxLength: length, size: "max" });
}
