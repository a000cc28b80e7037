import { hash } from "node:crypto";

import { expect, test } from "vitest";

import { sha256OfJson } from "./hash.ts";

test.each(["", "é", "x".repeat(20_000)])(
  "a value has the SHA-256 of its JSON text",
  async (value) => {
    expect(await sha256OfJson(value)).toBe(hash("sha256", JSON.stringify(value)));
  },
);
