import { foldStep } from "@holdfast/engine";
import { type EventType, ids, newEvent, type Seq, type StoredEvent } from "@holdfast/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { RunOutputFold } from "./fold.ts";
import type { RunOutputItem } from "./item.ts";

const runId = ids.make("run");

const delta = fc.record({
  part: fc.nat({ max: 2 }),
  text: fc.string({ maxLength: 6 }),
  /** Something that is not of the run comes before it. */
  isInterrupted: fc.boolean(),
});
const steps = fc.array(
  fc.record({
    deltas: fc.array(delta, { minLength: 1, maxLength: 8 }),
    spilled: fc.string({ maxLength: 6 }),
    partial: fc.constantFrom(undefined, "failed" as const, "interrupted" as const),
  }),
  { minLength: 1, maxLength: 4 },
);

type Steps = typeof steps extends fc.Arbitrary<infer T> ? T : never;

/** The log of one run, and which of its seqs are settled deltas. */
function logOf(given: Steps): { events: StoredEvent[]; deltas: Set<number> } {
  const events: StoredEvent[] = [];
  const deltas = new Set<number>();
  function add(type: EventType, data: object, isOfRun = true): StoredEvent {
    const event = newEvent(ids.make("event"), type, data as never, isOfRun ? runId : undefined);
    const stored: StoredEvent = { ...event, seq: (events.length + 1) as Seq, at: 0 };
    events.push(stored);
    return stored;
  }
  add("run.state", { state: "claimed" });
  for (const [index, { deltas: written, spilled, partial }] of given.entries()) {
    add("step.started", { step: index + 1, model: "m" });
    const messageId = ids.make("message");
    const journal = written
      .toSorted((a, b) => a.part - b.part)
      .map(({ part, text, isInterrupted }) => {
        if (isInterrupted) add("session.changed", { pinned: true }, false);
        const kind = part === 0 ? "reasoning" : "text";
        const stored = add("message.delta", { messageId, text, kind, part });
        deltas.add(stored.seq);
        return stored;
      });
    const last = journal.at(-1)?.data["part"] as number;
    const more = newEvent(ids.make("event"), "message.delta", {
      messageId,
      text: spilled,
      kind: last === 0 ? "reasoning" : "text",
      part: last,
    });
    add("message.assistant", { ...foldStep(journal, [more]).message, ...(partial && { partial }) });
  }
  add("run.state", { state: "completed" });
  return { events, deltas };
}

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
      steps,
      fc.infiniteStream(fc.boolean()),
      fc.infiniteStream(fc.boolean()),
      fc.nat(),
      fc.nat(),
      (given, pruned, prunedLater, first, second) => {
        const { events, deltas } = logOf(given);
        const prune = (log: readonly StoredEvent[], isPruned: Iterator<boolean>) =>
          log.filter(({ seq }) => !deltas.has(seq) || isPruned.next().value !== true);
        const whole = read(events);
        const written = given.flatMap(({ deltas: of, spilled }) => [
          ...of.toSorted((a, b) => a.part - b.part).map(({ text }) => text),
          spilled,
        ]);
        expect(textIn(whole)).toBe(written.join(""));

        const seen = whole.slice(0, first % (whole.length + 1));
        const log = prune(events, pruned);
        const resumed = read(log, seen.at(-1)?.seq ?? 0);
        expect(textIn(seen) + textIn(resumed)).toBe(textIn(whole));

        const seenThen = resumed.slice(0, second % (resumed.length + 1));
        const again = read(prune(log, prunedLater), seenThen.at(-1)?.seq ?? seen.at(-1)?.seq ?? 0);
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
      const { events, deltas } = logOf(given);
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
