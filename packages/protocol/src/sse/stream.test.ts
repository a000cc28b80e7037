import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import type { StoredEvent } from "../events/registry.ts";
import type { Seq } from "../ids.ts";
import { sessionLog } from "@holdfast/testing/session-logs/session-log";
import { testId } from "@holdfast/testing/session-logs/write-log";
import {
  decodeCursors,
  encodeCursors,
  maxWatchedSessions,
  decodeSseFrame,
  encodeEventSseFrame,
  encodeListSseFrame,
  encodeResyncSseFrame,
  encodeStatusSseFrame,
  encodeWatchedSseFrame,
} from "./stream.ts";
import { createSseDecoder, type SseFrame } from "./frames.ts";

function frameOf(text: string): SseFrame {
  const [item] = createSseDecoder().push(new TextEncoder().encode(text));
  if (item?.kind !== "frame") throw new Error("expected a frame");
  return item.frame;
}

const event: StoredEvent = {
  seq: 12 as Seq,
  id: testId("event", 1),
  type: "message.delta",
  v: 1,
  at: 5,
  runId: testId("run", 2),
  data: { messageId: testId("message", 3), text: "line\nline" },
};

describe("a frame of the stream", () => {
  test("carries an event under its seq and its type", () => {
    expect(frameOf(encodeEventSseFrame(event))).toStrictEqual({
      id: "12",
      event: "message.delta",
      data: JSON.stringify(event),
    });
  });

  test("round-trips any event of any log, known or not", () => {
    fc.assert(
      fc.property(sessionLog, (log) => {
        for (const sent of log)
          expect(decodeSseFrame(frameOf(encodeEventSseFrame(sent)))).toStrictEqual({
            kind: "event",
            event: sent,
          });
      }),
      { numRuns: 50 },
    );
  });

  test("names the session and every cursor on a tab's stream", () => {
    const [a, b] = [testId("session", 1), testId("session", 2)];
    const cursors = new Map([
      [a, 12 as Seq],
      [b, 0 as Seq],
    ]);
    const frame = frameOf(encodeWatchedSseFrame(a, event, cursors));
    expect(frame.id).toBe(`${a}:12,${b}:0`);
    expect(decodeSseFrame(frame)).toMatchObject({ kind: "event", sessionId: a, event });
  });

  test("without an id is a message of the stream itself and never an event", () => {
    const resync = { reason: "behind" as const, seq: 9 as Seq };
    const status = { code: "store_unavailable", text: "later" };
    const hint = { sessionId: testId("session", 1), session: null };
    expect(frameOf(encodeResyncSseFrame(resync)).id).toBeUndefined();
    expect(decodeSseFrame(frameOf(encodeResyncSseFrame(resync)))).toStrictEqual({
      kind: "resync",
      resync,
    });
    expect(decodeSseFrame(frameOf(encodeStatusSseFrame(status)))).toStrictEqual({
      kind: "status",
      status,
    });
    expect(decodeSseFrame(frameOf(encodeListSseFrame(hint)))).toStrictEqual({ kind: "list", hint });
    expect(decodeSseFrame({ event: "message.delta", data: JSON.stringify(event) })).toBeNull();
  });

  test("that cannot be understood is skipped", () => {
    expect(decodeSseFrame({ id: "1", event: "x", data: "{" })).toBeNull();
    expect(decodeSseFrame({ event: "resync", data: "{}" })).toBeNull();
    expect(decodeSseFrame({ event: "later", data: "{}" })).toBeNull();
  });
});

describe("a cursor map", () => {
  test("round-trips through its text", () => {
    const pair = fc.tuple(
      fc.nat({ max: 60 }).map((n) => testId("session", n)),
      fc.maxSafeNat().map((n) => n as Seq),
    );
    fc.assert(
      fc.property(fc.array(pair, { maxLength: 20 }), (pairs) => {
        const cursors = new Map(pairs);
        expect([...(decodeCursors(encodeCursors(cursors)) ?? [])]).toStrictEqual([...cursors]);
      }),
    );
  });

  test("is refused if it is anything else", () => {
    const a = testId("session", 1);
    const tooMany = Array.from(
      { length: maxWatchedSessions + 1 },
      (_, n) => `${testId("session", n)}:0`,
    );
    for (const text of [
      "x",
      a,
      `${a}:`,
      `${a}:-1`,
      `${a}:1.5`,
      `${a}:01`,
      `${a}:1:2`,
      `${a}:1,`,
      `${a}:1,${a}:2`,
      "run_1:1",
    ])
      expect({ text, cursors: decodeCursors(text) }).toStrictEqual({ text, cursors: null });
    expect(decodeCursors(tooMany.join(","))).toBeNull();
  });
});
