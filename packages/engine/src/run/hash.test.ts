import { hash } from "node:crypto";

import * as fc from "fast-check";
import { expect, test } from "vitest";

import { hashOf } from "./hash.ts";
import { sha256 } from "./sha256.ts";

test("a value has the SHA-256 of its JSON text, whether it is short or long", async () => {
  for (const length of [0, 1, 4_093, 4_094, 4_095, 4_096, 20_000]) {
    const value = "é".repeat(length % 2) + "x".repeat(length);
    expect(await hashOf(value)).toBe(hash("sha256", JSON.stringify(value)));
  }
});

test("bytes of every length have their SHA-256, also around the end of a block", () => {
  for (let length = 0; length < 200; length += 1) {
    const bytes = new Uint8Array(length).fill(0xa5);
    expect(sha256(bytes)).toBe(hash("sha256", bytes));
  }
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 1_000 }), (bytes) => {
      expect(sha256(bytes)).toBe(hash("sha256", bytes));
    }),
  );
});
