import { expect, test } from "vitest";

import { readJsonItems } from "./json-items.ts";

async function itemsOf(source: string, chunkBytes: number, maxBytes = 1_000) {
  const bytes = Buffer.from(source);
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes.length; at += chunkBytes)
      yield await Promise.resolve(bytes.subarray(at, at + chunkBytes));
  }
  const found: string[] = [];
  for await (const item of readJsonItems(chunks(), maxBytes))
    found.push(
      item.kind === "too_large" ? item.kind : `${item.kind} ${item.bytes.toString().trim()}`,
    );
  return found;
}

test.each([1, 2, 3, 7, 1_000])(
  "elements are cut at their ends, in pieces of %i bytes",
  async (size) => {
    const odd = String.raw`{"a":"}]\"\\","b":[1,{"c":"\u005d"}]}`;
    expect(await itemsOf(`\uFEFF [ ${odd} ,\n"x,]", 7,[]]\n`, size)).toEqual([
      `item ${odd}`,
      'item "x,]"',
      "item 7",
      "item []",
    ]);
    expect(await itemsOf(' {"a":[1]} ', size)).toEqual(['item {"a":[1]}']);
    expect(await itemsOf("[]", size)).toEqual([]);
    expect(await itemsOf('[{"a":1},{"b":"', size)).toEqual(['item {"a":1}', 'torn {"b":"']);
    expect(await itemsOf("<html>", size)).toEqual([expect.stringMatching(/^other </)]);
    expect(await itemsOf("[1] and more", size)).toEqual([
      "item 1",
      expect.stringMatching(/^torn a/),
    ]);
    expect(await itemsOf(`["${"x".repeat(2_000)}",1]`, size)).toEqual(["too_large", "item 1"]);
  },
);
