import * as fc from "fast-check";

import type { EventData } from "@holdfast/protocol";

/** What happens to a session: a script to write a log from. */
export type ScriptAction =
  | { readonly do: "accept"; readonly mode: "queue" | "steer" | "interrupt"; readonly text: string }
  | {
      readonly do: "change" | "remove" | "cancelQueued";
      readonly pick: number;
      readonly text: string;
    }
  | { readonly do: "turn"; readonly steps: readonly StepScript[]; readonly end: EndScript }
  | { readonly do: "cut" | "redo"; readonly pick: number }
  | { readonly do: "rename"; readonly settings: EventData<"session.changed"> }
  | { readonly do: "notice" | "reword"; readonly pick: number; readonly text: string }
  | { readonly do: "trash" | "foreign" | "invalid" | "compact" | "lane" };

export type EndScript = "completed" | "cancelled" | "failed" | "interrupted" | "limit" | "open";

export interface StepScript {
  readonly deltas: readonly DeltaScript[];
  readonly tools: readonly ToolScript[];
  /** What others do during the step, and when. */
  readonly asides: readonly { readonly at: number; readonly act: ScriptAction }[];
  readonly crash: boolean;
}
interface DeltaScript {
  readonly part: number;
  readonly text: string;
}
export interface ToolScript {
  readonly outputs: readonly string[];
  readonly outcome: "ok" | "failed" | "cancelled" | "unknown";
  readonly asks: boolean;
}

const shortText = fc.string({ maxLength: 6, unit: "grapheme" });
const pick = fc.nat({ max: 20 });
const settings = fc.record(
  {
    title: fc.string({ minLength: 1, maxLength: 5 }),
    pinned: fc.boolean(),
    model: fc.option(fc.constantFrom("a/b", "c/d")),
    project: fc.option(fc.constantFrom("x", "y")),
    tags: fc.array(fc.constantFrom("t1", "t2"), { maxLength: 2 }),
  },
  { requiredKeys: [], noNullPrototype: true },
);
const asideAction: fc.Arbitrary<ScriptAction> = fc.oneof(
  fc.record({
    do: fc.constant("accept" as const),
    mode: fc.constantFrom("queue" as const, "steer" as const, "interrupt" as const),
    text: shortText,
  }),
  fc.record({
    do: fc.constantFrom("change" as const, "remove" as const, "cancelQueued" as const),
    pick,
    text: shortText,
  }),
  fc.record({ do: fc.constant("rename" as const), settings }),
  fc.record({ do: fc.constantFrom("notice" as const, "reword" as const), pick, text: shortText }),
  fc.record({ do: fc.constantFrom("foreign" as const, "invalid" as const, "lane" as const) }),
);
const step: fc.Arbitrary<StepScript> = fc.record({
  deltas: fc.array(fc.record({ part: fc.nat({ max: 2 }), text: shortText }), { maxLength: 5 }),
  tools: fc.array(
    fc.record({
      outputs: fc.array(shortText, { maxLength: 3 }),
      outcome: fc.constantFrom("ok" as const, "failed" as const, "unknown" as const),
      asks: fc.boolean(),
    }),
    { maxLength: 2 },
  ),
  asides: fc.array(fc.record({ at: fc.nat({ max: 8 }), act: asideAction }), { maxLength: 2 }),
  crash: fc.boolean(),
});
const turn: fc.Arbitrary<ScriptAction> = fc.record({
  do: fc.constant("turn" as const),
  steps: fc.array(step, { minLength: 1, maxLength: 2 }),
  end: fc.constantFrom("completed", "completed", "cancelled", "failed", "limit", "open"),
});
const scriptAction: fc.Arbitrary<ScriptAction> = fc.oneof(
  { weight: 4, arbitrary: turn },
  { weight: 3, arbitrary: asideAction },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constantFrom("cut" as const, "redo" as const), pick }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom("trash" as const, "compact" as const) }),
  },
);

/** The life of a session: several turns, with everything that may happen in between. */
export const sessionScript: fc.Arbitrary<ScriptAction[]> = fc.array(scriptAction, {
  minLength: 1,
  maxLength: 8,
});
