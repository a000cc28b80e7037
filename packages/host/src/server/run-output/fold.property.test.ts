import { ids, type Seq, type StoredEvent } from "@holdfast/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { inOrder, makeRunLog, pruneLog, steps } from "../../../test/support/run-log.ts";
import { RunOutputFold } from "./fold.ts";
import type { RunOutputItem } from "./item.ts";

const runId = ids.make("run");
/** Readers of items resume by seq, so each has at most one text. */
const oneSpilled = steps.map((list) => list.map((step) => ({ ...step, spilledAfter: "" })));

function read(events: readonly StoredEvent[], after = 0): RunOutputItem[] {
  const fold = new RunOutputFold(runId, 0 as Seq, after as Seq);
  return events.flatMap((event) => fold.take(event));
}

function textIn(items: readonly RunOutputItem[]): string {
  return items
    .map((item) => (item.kind === "text" || item.kind === "reasoning" ? item.text : ""))
    .join("");
}

test("[P5] a reader that resumes anywhere gets the rest of the text once, whatever was pruned meanwhile", () => {
  fc.assert(
    fc.property(
      oneSpilled,
      fc.infiniteStream(fc.boolean()),
      fc.infiniteStream(fc.boolean()),
      fc.nat(),
      fc.nat(),
      (given, pruned, prunedLater, first, second) => {
        const log = makeRunLog(runId, given);
        const whole = read(log.events);
        const written = given.flatMap((step) => [
          ...inOrder(step).map(({ text }) => text),
          step.spilled,
        ]);
        expect(textIn(whole)).toBe(written.join(""));

        const seen = whole.slice(0, first % (whole.length + 1));
        const less = pruneLog(log, pruned);
        const resumed = read(less.events, seen.at(-1)?.seq ?? 0);
        expect(textIn(seen) + textIn(resumed)).toBe(textIn(whole));

        const seenThen = resumed.slice(0, second % (resumed.length + 1));
        const { events } = pruneLog(less, prunedLater);
        const again = read(events, seenThen.at(-1)?.seq ?? seen.at(-1)?.seq ?? 0);
        expect(textIn(seen) + textIn(seenThen) + textIn(again)).toBe(textIn(whole));
        expect(again.at(-1)?.kind ?? "ended").toBe("ended");
      },
    ),
    { numRuns: 1_000 },
  );
});

test("items come in the order of their seqs, and only a message that ended early is asked again", () => {
  fc.assert(
    fc.property(steps, (given) => {
      const { events, deltas } = makeRunLog(runId, given);
      for (const log of [events, events.filter(({ seq }) => !deltas.has(seq))]) {
        const items = read(log);
        expect(items.map(({ seq }) => seq)).toEqual(
          items.map(({ seq }) => seq).toSorted(ascending),
        );
        const early = given.slice(0, -1).filter(({ partial }) => partial !== undefined);
        expect(items.filter(({ kind }) => kind === "asked_again")).toHaveLength(early.length);
      }
    }),
  );
});

const ascending = (a: number, b: number): number => a - b;
