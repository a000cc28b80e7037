import { describe, expect, test } from "vitest";

import { blobsOf, json, jsonObject, part, type Part, textOf } from "./parts.ts";
import { testId } from "@holdfast/testing/session-logs/write-log";

const blob = `blob_${"a".repeat(64)}`;
const callId = testId("call", 1);
const samples: unknown[] = [
  { type: "text", text: "words" },
  { type: "reasoning", text: "thought", opaque: { signature: "s" } },
  { type: "tool_call", callId, name: "terminal", input: { command: ["ls", null, 1.5] } },
  { type: "tool_result", callId, name: "terminal", outcome: "ok", output: "out", blobId: blob },
  { type: "file", blobId: blob, name: "a.txt", mediaType: "text/plain", size: 3 },
  { type: "image", blobId: blob, mediaType: "image/png", width: 1, height: 1 },
  { type: "notice", kind: "interrupted", text: "note" },
];
const parts: Part[] = samples.map((sample) => part.parse(sample));

describe("a part", () => {
  test("of every kind passes with fields that only a newer version knows", () => {
    for (const sample of samples) {
      const newer = { ...(sample as object), later: { deep: [1, null] } };
      expect(part.parse(newer)).toStrictEqual(newer);
    }
  });

  test("of an unknown kind, or without a required field, is refused", () => {
    for (const invalid of [
      { type: "hologram" },
      { type: "text" },
      { type: "tool_result", callId, name: "x", outcome: "maybe", output: "" },
    ])
      expect(part.safeParse(invalid).success).toBe(false);
  });
});

describe("plain JSON", () => {
  test("is passed on as the same object, with every key that JSON can hold", () => {
    const value: unknown = JSON.parse(
      '{"b":{"__proto__":{"x":1},"constructor":null},"__proto__":[1]}',
    );
    expect(jsonObject.parse(value)).toBe(value);
    expect(json.parse(value)).toBe(value);
  });

  test("excludes everything that JSON would change or drop", () => {
    for (const invalid of [
      undefined,
      Number.NaN,
      Infinity,
      1n,
      new Date(),
      new Map(),
      [undefined],
      { a: () => 1 },
    ])
      expect(json.safeParse(invalid).success).toBe(false);
    for (const invalid of [null, [], "x", 1])
      expect(jsonObject.safeParse(invalid).success).toBe(false);
  });

  test("that is too deep is refused instead of throwing", () => {
    const deep: unknown = JSON.parse("[".repeat(50_000) + "]".repeat(50_000));
    expect(json.safeParse(deep).success).toBe(false);
  });
});

test("the text of a message is its texts, results and notices, not its reasoning", () => {
  expect(textOf(parts)).toBe("words\nout\nnote");
});

test("the blobs of a message are found in every part that may contain one", () => {
  expect(blobsOf(parts)).toStrictEqual([blob, blob, blob]);
  const [file, whole] = [`blob_${"b".repeat(64)}`, blob];
  const details = { files: [{ blobId: file, mediaType: "image/png", size: 1 }] };
  const result = { type: "tool_result", callId, name: "draw", outcome: "ok", output: "" };
  expect(blobsOf([part.parse({ ...result, blobId: whole, details })])).toStrictEqual([whole, file]);
  expect(blobsOf([part.parse({ ...result, details })])).toStrictEqual([file]);
});
