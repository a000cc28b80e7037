import { ids, type Seq, type StoredEvent } from "@holdfast/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { makeRunLog, pruneLog, steps } from "../../../test/support/run-log.ts";
import { RunOutputFold } from "../run-output/fold.ts";
import { seqOfNumber } from "./event-numbers.ts";
import { ResponseBuilder, type ResponseEvent } from "./response-builder.ts";

const runId = ids.make("run");
const address = { runId, begun: 0 as Seq, session: ids.make("session"), createdAt: 0 };
const facts = { metadata: {}, background: false, previous: null };

function read(events: readonly StoredEvent[], after = -1): readonly ResponseEvent[] {
  const builder = new ResponseBuilder(address, facts, after);
  const fold = new RunOutputFold(runId, address.begun, seqOfNumber(after));
  const created = builder.created();
  const items = events.flatMap((event) => fold.takeAll(event));
  return [...created, ...items.flatMap((item) => builder.apply(item))];
}

const isDelta = ({ type }: ResponseEvent): boolean => type.endsWith(".delta");
const withoutDeltas = (events: readonly ResponseEvent[]) =>
  events.filter((event) => !isDelta(event));

function textOfItems(events: readonly ResponseEvent[]): Readonly<Record<string, string>> {
  const texts: Record<string, string> = {};
  for (const event of events.filter(isDelta)) {
    const id = String(event["item_id"]);
    texts[id] = (texts[id] ?? "") + String(event["delta"]);
  }
  return texts;
}

const bools = fc.infiniteStream(fc.boolean());

test("[P5] numbers increase, are the same in every replay, and a reader resumes after any of them, whatever was pruned", () => {
  fc.assert(
    fc.property(steps, bools, bools, (given, pruned, prunedLater) => {
      const log = makeRunLog(runId, given);
      const all = read(log.events);
      const numbers = all.map((event) => event.sequence_number);
      expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b));

      const less = pruneLog(log, pruned);
      const replayed = read(less.events);
      expect(withoutDeltas(replayed)).toEqual(withoutDeltas(all));
      expect(textOfItems(replayed)).toEqual(textOfItems(all));
      const known = new Set(all.filter(isDelta).map((event) => event.sequence_number));
      for (const event of replayed.filter(isDelta)) expect(known).toContain(event.sequence_number);

      const later = pruneLog(less, prunedLater);
      for (const [index, { sequence_number }] of all.entries()) {
        const seen = all.slice(0, index + 1);
        const whole = [...seen, ...read(later.events, sequence_number)];
        expect(withoutDeltas(whole)).toEqual(withoutDeltas(all));
        expect(textOfItems(whole)).toEqual(textOfItems(all));
      }
    }),
    { numRuns: 100 },
  );
});
