import { expect, test } from "vitest";

import { retryAfterMs } from "./provider-failure.ts";

test.each([
  [{ "retry-after": "12.5" }, "", 12_500],
  [{ "retry-after": "Thu, 01 Jan 1970 00:01:00 GMT" }, "", 30_000],
  [{ "retry-after": "Thu, 01 Jan 1970 00:00:01 GMT" }, "", 0],
  [{ "retry-after": "soon" }, "", null],
  [{ "retry-after": "999999" }, "", 600_000],
  [{}, "Please try again in 20s.", 20_000],
  [{}, "Please try again in 523ms.", 523],
  [{}, "", null],
])("%j %j is a delay of %j ms", (headers, message, expected) => {
  expect(retryAfterMs(headers as Record<string, string>, message, 30_000)).toBe(expected);
});
