import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";

import { sessionLog } from "@holdfast/testing/session-logs/session-log";
import { testId } from "@holdfast/testing/session-logs/write-log";
import { defineEvent, indexDefinitions } from "./define.ts";
import {
  decodeEvent,
  eventDefinitions,
  roleOf,
  type StoredEvent,
  storedEvent,
} from "./registry.ts";

const envelope = { seq: 1, id: testId("event", 1), v: 1, at: 5 };
const known = { messageId: testId("message", 1), text: "t" };
/** With the keys that a copy would lose. */
const json = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc
    .constantFrom("__proto__", "constructor")
    .map((key): unknown => JSON.parse(`{"${key}":{"a":1}}`)),
);
const extras = fc.dictionary(
  fc.string().map((key) => `x${key}`),
  json,
  { noNullPrototype: true },
);

describe("the manifest of events", () => {
  test("refuses a second definition of a name", () => {
    const twice = defineEvent("message.delta", 1, "delta", z.looseObject({}));
    expect(() => indexDefinitions([...eventDefinitions, twice])).toThrow(
      "message.delta.1 is defined twice",
    );
  });

  test("takes another version of a name", () => {
    const newer = defineEvent("message.delta", 2, "delta", z.looseObject({}));
    expect(indexDefinitions([...eventDefinitions, newer]).get("message.delta.2")).toBe(newer);
  });

  test("gives every event a name that the envelope accepts", () => {
    const names = eventDefinitions.map(({ type, v }) => ({ ...envelope, type, v, data: {} }));
    for (const name of names) expect(storedEvent.safeParse(name).success).toBe(true);
  });
});

describe("an event", () => {
  test("of an unknown type is carried through byte for byte, and counts as passing", () => {
    fc.assert(
      fc.property(extras, fc.integer({ min: 1, max: 9 }), (data, v) => {
        const text = JSON.stringify({ ...envelope, type: "later.invention", v, data });
        const decoded = decodeEvent(storedEvent.parse(JSON.parse(text)));
        expect(decoded.kind).toBe("foreign");
        expect(roleOf(decoded.event)).toBe("passing");
        expect(JSON.stringify(decoded.event.data)).toBe(JSON.stringify(data));
      }),
    );
  });

  test("of a known type keeps its unknown fields, byte for byte", () => {
    fc.assert(
      fc.property(extras, extras, (before, after) => {
        const data = { ...before, ...known, ...after };
        const text = JSON.stringify({ ...envelope, type: "message.delta", data });
        const decoded = decodeEvent(storedEvent.parse(JSON.parse(text)));
        expect(decoded.kind).toBe("known");
        expect(JSON.stringify(decoded.event.data)).toBe(JSON.stringify(data));
      }),
    );
  });

  test("in an unknown version is foreign, not invalid", () => {
    const event = storedEvent.parse({ ...envelope, type: "message.delta", v: 99, data: {} });
    expect(decodeEvent(event)).toStrictEqual({ kind: "foreign", event });
  });

  test("whose data does not match is reported with its reason, and nothing is thrown", () => {
    fc.assert(
      fc.property(fc.constantFrom(...eventDefinitions), json, ({ type, v }, text) => {
        const data = {
          messageId: text,
          state: text,
          callId: text,
          step: "x",
          noticeId: 1,
          lane: 1,
          ranges: 1,
          title: 1,
          epoch: "x",
          approvalId: 1,
          model: 1,
        };
        const event = storedEvent.parse({ ...envelope, type, v, data }) satisfies StoredEvent;
        const decoded = decodeEvent(event);
        expect(["invalid", "known"]).toContain(decoded.kind);
        expect(decoded.kind !== "invalid" || decoded.reason.length > 0).toBe(true);
        expect(decoded.event).toBe(event);
      }),
    );
    const invalid = storedEvent.parse({
      ...envelope,
      type: "run.state",
      data: { state: "asleep" },
    });
    const decoded = decodeEvent(invalid);
    expect(decoded.kind === "invalid" && decoded.reason).toContain("state");
  });

  test("keeps envelope fields that only a newer version knows", () => {
    const newer = { ...envelope, type: "message.delta", data: known, later: [1] };
    expect(storedEvent.parse(newer)).toStrictEqual(newer);
  });

  test("of any generated log matches its envelope", () => {
    fc.assert(
      fc.property(sessionLog, (log) => {
        for (const event of log) expect(storedEvent.parse(event)).toStrictEqual(event);
      }),
      { numRuns: 50 },
    );
  });
});
