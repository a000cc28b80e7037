import { expect, test } from "vitest";

import { decodeEvent, type KnownEvent } from "../events/registry.ts";
import { ids, type MessageId } from "../ids.ts";
import { type AlternativeSet, foldAlternatives, maxAlternatives } from "./alternatives.ts";

function event(seq: number, type: string, data: object): KnownEvent {
  const id = ids.make("event");
  const decoded = decodeEvent({ id, seq, at: 0, type, v: 1, data } as Parameters<
    typeof decodeEvent
  >[0]);
  if (decoded.kind !== "known") throw new Error(`${type} is not known.`);
  return decoded.event;
}

/** One message retried many times: each retry is a cut and the message that replaces the one before. */
function retryOften(times: number): { sets: readonly AlternativeSet[]; last: MessageId } {
  let sets: readonly AlternativeSet[] = [];
  let last = ids.make("message");
  for (let n = 1; n <= times; n += 1) {
    const by = ids.make("message");
    const [seq, cutAt] = [2 * n - 1, 2 * n];
    const before = { ranges: [{ from: seq, to: null }], messageCount: 1, preview: "" };
    const ranges = [{ from: cutAt + 1, to: null }];
    const replaces = { messageId: last, seq, by };
    const cut = { reason: "retry", ranges, messageCount: 0, preview: "", before, replaces };
    sets = foldAlternatives(sets, event(cutAt, "history.cut", cut));
    const message = { messageId: by, parts: [{ type: "text", text: "again" }] };
    sets = foldAlternatives(sets, event(cutAt + 1, "message.user", message));
    last = by;
  }
  return { sets, last };
}

test("[P12] a session remembers a bounded number of versions, the newest ones and the one in view", () => {
  const few = retryOften(5).sets;
  expect(few.map((set) => set.length)).toEqual([6]);
  const { sets, last } = retryOften(maxAlternatives + 20);
  expect(sets.map((set) => set.length)).toEqual([maxAlternatives]);
  expect(sets[0]?.at(-1)).toMatchObject({ messageId: last, seq: 2 * (maxAlternatives + 20) + 1 });
  // 21 of them are dropped: those that were left first.
  expect(sets[0]?.[0]?.left).toBe(2 * 22);
});
