import { deflateSync } from "node:zlib";

import { makePdf } from "@holdfast/testing/fixtures/make-pdf";
import { expect, test } from "vitest";

import { createPdfReader, pdfLimits } from "./pdf-reader.ts";

test("a PDF is read page by page, from any page on", async () => {
  const reader = createPdfReader();
  const pdf = makePdf([["First line", "second (line)"], ["Page two"], ["Page three"]]);
  expect(await reader.read(pdf)).toEqual({
    status: "read",
    pages: 3,
    texts: ["First line\nsecond (line)", "Page two", "Page three"],
  });
  expect(await reader.read(pdf, { from: 3 })).toEqual({
    status: "read",
    pages: 3,
    texts: ["Page three"],
  });
});

test("only as many pages and characters are read as fit", async () => {
  const pdf = makePdf([["a".repeat(80)], ["b".repeat(80)], ["c".repeat(80)]]);
  const fewPages = createPdfReader({ ...pdfLimits, pages: 2 });
  expect(await fewPages.read(pdf)).toMatchObject({ pages: 3, texts: [/^a/, /^b/].map(matching) });
  const short = createPdfReader({ ...pdfLimits, length: 100 });
  expect(await short.read(pdf)).toMatchObject({ texts: ["a".repeat(80), "b".repeat(20)] });
});

const matching = (pattern: RegExp): unknown => expect.stringMatching(pattern);

test.each([
  ["with a password", makePdf([["secret"]], { encrypted: true }), "pdf_encrypted", "password"],
  ["that is no PDF", Buffer.from("%PDF-1.7 and nothing else"), "pdf_damaged", "damaged"],
  ["that is cut", makePdf([["cut"]]).subarray(0, 40), "pdf_damaged", "damaged"],
])("a file %s is refused with a sentence that says why", async (_, bytes, code, word) => {
  const read = await createPdfReader().read(bytes);
  expect(read).toMatchObject({ status: "unreadable", code, message: matching(RegExp(word)) });
});

test("a page that expands without end is stopped at the memory limit", async () => {
  const bomb = makePdf([], { deflated: deflateSync(Buffer.alloc(256 * 1024 * 1024, " ")) });
  const reader = createPdfReader({
    ...pdfLimits,
    timeMs: 600_000,
    memoryBytes: 64 * 1024 * 1024,
  });
  expect(await reader.read(bomb)).toMatchObject({ code: "pdf_too_large" });
}, 120_000);

test("a PDF that takes too long is stopped, and the next one is read", async () => {
  const endless = Buffer.from(`BT /F1 12 Tf ${"(a) Tj T* ".repeat(2_000_000)} ET`);
  const limits = { ...pdfLimits, length: 100_000_000, memoryBytes: Infinity, timeMs: 1 };
  const reader = createPdfReader(limits);
  const slow = reader.read(makePdf([], { deflated: deflateSync(endless) }));
  expect(await slow).toMatchObject({ status: "unreadable", code: "pdf_too_slow" });
  expect(await createPdfReader().read(makePdf([["quick"]]))).toMatchObject({ texts: ["quick"] });
});

test("a file that is too large is not even opened", async () => {
  const reader = createPdfReader({ ...pdfLimits, bytes: 100 });
  expect(await reader.read(makePdf([["long"]]))).toMatchObject({ code: "pdf_too_large" });
});

test("the same file is read once", async () => {
  const reader = createPdfReader();
  const first = await reader.read(makePdf([["once"]]));
  expect(await reader.read(makePdf([["once"]]))).toBe(first);
  expect(await reader.read(makePdf([["other"]]))).not.toBe(first);
});
