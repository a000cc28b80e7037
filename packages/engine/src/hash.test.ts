import { hash } from "node:crypto";

import { expect, test } from "vitest";

import { hashOf } from "./run-hash.ts";

test.each(["", "é", "x".repeat(20_000)])(
  "a value has the SHA-256 of its JSON text",
  async (value) => {
    expect(await hashOf(value)).toBe(hash("sha256", JSON.stringify(value)));
  },
);
