import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import {
  createSseDecoder,
  encodeSseComment,
  encodeSseFrame,
  encodeSseRetry,
  type SseFrame,
  type SseItem,
} from "./frames.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);

function decodeAll(pieces: Iterable<Uint8Array>): SseItem[] {
  const decoder = createSseDecoder();
  return [...pieces].flatMap((piece) => decoder.push(piece));
}

/** Cuts anywhere, even inside a character and between CR and LF, and may yield empty pieces. */
function cutUp(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const cutPoints = cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b);
  return [0, ...cutPoints].map((from, index) =>
    bytes.subarray(from, cutPoints[index] ?? bytes.length),
  );
}

const cuts = fc.array(fc.nat(), { maxLength: 20 });
const line = fc.string({
  unit: fc.oneof(
    fc.constantFrom("i", "d", ":", "a", "t", " ", "0", "\0"),
    fc.constantFrom("é", "語", "🙂", "\u2028", "\uFEFF"),
  ),
});
const stream = fc
  .array(
    fc.tuple(
      fc.oneof(
        line,
        fc.constantFrom("", "", "data: x", "data", "id: 7", ": hi", "event: a", "retry: 50"),
      ),
      fc.constantFrom("\n", "\r", "\r\n"),
    ),
  )
  .map((lines) => lines.flat().join(""))
  .chain((text) => fc.constantFrom("", "\uFEFF", "\uFEFF\uFEFF").map((marks) => marks + text));
const oneLine = fc.string({ unit: "grapheme" }).filter((text) => !/[\r\n\0]/.test(text));
const frame: fc.Arbitrary<SseFrame> = fc.record(
  {
    event: oneLine.filter((text) => text !== ""),
    data: fc.string({ unit: "grapheme" }).map((text) => text.replaceAll("\r", "\n")),
    id: oneLine,
  },
  { requiredKeys: ["event", "data"], noNullPrototype: true },
);

/** A direct implementation of the standard's rules over the whole text at once. */
function referenceDecode(text: string): SseItem[] {
  const items: SseItem[] = [];
  const lines = text
    .replace(/^\uFEFF/, "")
    .replaceAll(/\r\n?/g, "\n")
    .split("\n");
  let block: [string, string][] = [];
  for (const row of lines.slice(0, -1)) {
    const [, name = "", value = ""] = /^([^:]*):? ?([^]*)$/.exec(row) ?? [];
    if (row === "") {
      const data = block.filter(([key]) => key === "data").map((pair) => pair[1]);
      const event = block.findLast(([key]) => key === "event")?.[1] || "message";
      const id = block.findLast((pair) => pair[0] === "id" && !pair[1].includes("\0"))?.[1];
      if (data.length > 0)
        items.push({
          kind: "frame",
          frame: { event, data: data.join("\n"), ...(id !== undefined && { id }) },
        });
      block = [];
    } else if (name === "") items.push({ kind: "comment", text: value });
    else if (name === "retry" && /^\d+$/.test(value))
      items.push({ kind: "retry", ms: Number(value) });
    else block.push([name, value]);
  }
  return items;
}

describe("an event stream", () => {
  test("decodes the same however it is split into pieces", () => {
    fc.assert(
      fc.property(stream, cuts, (text, cutPoints) => {
        const bytes = bytesOf(text);
        const whole = referenceDecode(text);
        expect(decodeAll(cutUp(bytes, cutPoints))).toStrictEqual(whole);
        expect(decodeAll([...bytes].map((byte) => Uint8Array.of(byte)))).toStrictEqual(whole);
      }),
      { numRuns: 3_000 },
    );
  });

  test("returns every frame, comment and retry that was encoded", () => {
    const item: fc.Arbitrary<SseItem> = fc.oneof(
      frame.map((value): SseItem => ({ kind: "frame", frame: value })),
      oneLine.map((text): SseItem => ({ kind: "comment", text })),
      fc.nat().map((ms): SseItem => ({ kind: "retry", ms })),
    );
    fc.assert(
      fc.property(fc.array(item), cuts, (items, cutPoints) => {
        const text = items.map(encodeItem).join("");
        expect(decodeAll(cutUp(bytesOf(text), cutPoints))).toStrictEqual(items);
      }),
      { numRuns: 1_000 },
    );
  });

  test("reports nothing of an unfinished block", () => {
    expect(decodeAll([bytesOf("data: whole\n\ndata: half\n")])).toHaveLength(1);
  });

  test("refuses to write a field that would break its line", () => {
    expect(() => encodeSseFrame({ event: "a\nb", data: "" })).toThrow("one line");
  });
});

function encodeItem(item: SseItem): string {
  if (item.kind === "frame") return encodeSseFrame(item.frame);
  return item.kind === "comment" ? encodeSseComment(item.text) : encodeSseRetry(item.ms);
}
