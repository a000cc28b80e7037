import { expect, test } from "vitest";

import { decodeEvent, type EventData, type EventType, newEvent } from "../events/registry.ts";
import { ids, type Seq } from "../ids.ts";
import { type AlternativeSet, foldAlternatives } from "./alternatives.ts";

/** Folds events that follow each other. */
function createFold() {
  let sets: readonly AlternativeSet[] = [];
  return {
    add<T extends EventType>(seq: number, type: T, data: EventData<T>): readonly AlternativeSet[] {
      const event = newEvent(ids.make("event"), type, data);
      const decoded = decodeEvent({ ...event, seq: seq as Seq, at: 0 });
      if (decoded.kind !== "known") throw new Error("The event is not known.");
      return (sets = foldAlternatives(sets, decoded.event));
    },
  };
}

const viewOf = (...ranges: [from: number, to: number | null][]) => ({
  ranges: ranges.map(([from, to]) => ({ from: from as Seq, to: to as Seq | null })),
  messageCount: 1,
  preview: "",
});

test("a version is left by the change that takes it out of view, not by one that leaves it there", () => {
  const fold = createFold();
  const [first, second] = [ids.make("message"), ids.make("message")];
  fold.add(4, "history.cut", {
    reason: "edit",
    ...viewOf([5, null]),
    before: viewOf([1, null]),
    replaces: { messageId: first, seq: 2 as Seq, by: second },
  });
  fold.add(6, "message.user", { messageId: second, parts: [], clientId: "edit" });
  const asLeft = { messageId: first, seq: 2, left: 4 };
  // A later turn is undone: the version above it stays where it is.
  const cut = { ...viewOf([5, 7], [11, null]), before: viewOf([5, null]) };
  expect(fold.add(10, "history.cut", { reason: "undo", ...cut })).toEqual([
    [asLeft, { messageId: second, seq: 6 }],
  ]);
  const restored = { ...viewOf([1, 3], [12, null]), before: viewOf([5, 7], [11, null]) };
  expect(fold.add(12, "history.restored", { ...restored, cause: "switch" })).toEqual([
    [asLeft, { messageId: second, seq: 6, left: 12 }],
  ]);
});
