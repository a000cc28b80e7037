import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { createIds, type IdKind, idPrefixes, ids, messageId, sessionId, timeOf } from "./ids.ts";

const kinds = Object.keys(idPrefixes) as IdKind[];
/** 48 bits of milliseconds, minus a margin so that a full counter may move ahead. */
const time = fc.nat({ max: 2 ** 48 - 1_000_000 });

function bitsOf(id: string): bigint {
  const digits = "0123456789abcdefghjkmnpqrstvwxyz";
  let bits = 0n;
  for (const digit of id.slice(id.indexOf("_") + 1))
    bits = bits * 32n + BigInt(digits.indexOf(digit));
  return bits;
}

describe("an id", () => {
  test("sorts as text in order of creation, even if the clock steps back", () => {
    fc.assert(
      fc.property(fc.array(time, { minLength: 2, maxLength: 30 }), (clock) => {
        let turn = 0;
        const source = createIds(() => clock[turn++ % clock.length]!);
        const made = clock.map(() => source.make("event") as string);
        expect(made.toSorted()).toStrictEqual(made);
        expect(new Set(made).size).toBe(made.length);
      }),
      { numRuns: 1_000 },
    );
  });

  test("is greater than the previous one within the same millisecond", () => {
    const source = createIds(() => 1_000);
    const made = Array.from({ length: 10_000 }, () => source.make("message") as string);
    expect(made.toSorted()).toStrictEqual(made);
  });

  test("returns the millisecond at which it was created", () => {
    fc.assert(
      fc.property(time, fc.constantFrom(...kinds), (now, kind) => {
        expect(timeOf(createIds(() => now).make(kind))).toBe(now);
      }),
      { numRuns: 1_000 },
    );
  });

  test("contains the 128 bits of a UUIDv7: time, version, variant and every random bit", () => {
    fc.assert(
      fc.property(time, fc.nat({ max: 0xffffffff }), (now, word) => {
        const id = createIds(() => now, { nextUint32: () => word }).make("run");
        const bits = bitsOf(id);
        expect(bits >> 80n).toBe(BigInt(now));
        expect((bits >> 76n) & 0xfn).toBe(7n);
        expect((bits >> 62n) & 0b11n).toBe(0b10n);
        expect(bits & 0xffffffffn).toBe(BigInt(word));
      }),
      { numRuns: 1_000 },
    );
  });

  test("is never created twice", () => {
    const made = new Set<string>();
    for (let n = 0; n < 100_000; n++) made.add(ids.make("event"));
    expect(made.size).toBe(100_000);
  });

  test("is of one kind and accepted as no other", () => {
    const made = ids.make("session");
    expect(sessionId.safeParse(made).success).toBe(true);
    expect(messageId.safeParse(made).success).toBe(false);
    for (const invalid of [
      made.toUpperCase(),
      `${made}0`,
      made.slice(0, -1),
      made.replace("_0", "_8"),
      ` ${made}`,
      `${made}\n`,
    ])
      expect(sessionId.safeParse(invalid).success).toBe(false);
  });
});
