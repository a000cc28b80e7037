import { type Attachment, ids, ownerId } from "@holdfast/protocol";
import { makePdf } from "@holdfast/testing/fixtures/make-pdf";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { expect, onTestFinished, test } from "vitest";

import { readAttachedTexts } from "./attachment-text.ts";
import { createPdfReader } from "./pdf-reader.ts";

const owner = ownerId.parse("owner");
const session = ids.make("session");

function open() {
  const store = createReferenceStore();
  onTestFinished(() => store.close());
  const read = readAttachedTexts(createPdfReader(), store.reads);
  async function attach(
    name: string,
    content: string | Uint8Array,
    mediaType: string,
  ): Promise<Attachment> {
    const bytes = Buffer.from(content as string);
    const put = await store.putBlob(owner, bytes, mediaType);
    if (put.status !== "stored") throw new Error(put.message);
    return { type: "file", blobId: put.id, name, mediaType, size: bytes.length };
  }
  const give = async (...attachments: readonly Attachment[]) =>
    read({ owner, session, text: "Look", attachments });
  return { attach, give };
}

test("a PDF's text is given by page, with the file that it is of", async () => {
  const { attach, give } = open();
  const report = await attach("report.pdf", makePdf([["One"], ["Two"]]), "application/pdf");
  expect(await give(report)).toEqual([
    {
      type: "attached",
      source: "file report.pdf",
      text: "[page 1 of 2]\nOne\n\n[page 2 of 2]\nTwo",
      blobId: report.blobId,
      pages: 2,
    },
  ]);
  const unknown = await attach("scan", makePdf([["Bytes"]]), "application/octet-stream");
  expect(await give(unknown)).toMatchObject([{ pages: 1 }]);
});

test("the pages that do not fit are left out, and the model is told which", async () => {
  const { attach, give } = open();
  const page = Array.from({ length: 40 }, () => "x".repeat(60));
  const pdf = makePdf(Array.from({ length: 40 }, () => page));
  const [part] = await give(await attach("long.pdf", pdf, "application/pdf"));
  const text = part?.type === "attached" ? part.text : "";
  const next = Number(
    /\[Pages (\d+) to 40 are left out: read_file shows them, from: \1\.\]$/.exec(text)?.[1],
  );
  expect(text).toContain(`[page ${next - 1} of 40]`);
  expect(text).not.toContain(`[page ${next} of 40]`);
  expect(text.length).toBeGreaterThan(50_000);
  expect(text.length).toBeLessThan(62_000);
});

test("a PDF that cannot be read is never sent as a file, and the model is told why", async () => {
  const { attach, give } = open();
  const locked = makePdf([["secret"]], { encrypted: true });
  const [part] = await give(await attach("locked.pdf", locked, "application/pdf"));
  expect(part).toEqual({
    type: "attached",
    source: "file locked.pdf",
    text: "The PDF is protected by a password. Send a copy without one.",
  });
  const scanned = await give(await attach("scan.pdf", makePdf([[], []]), "application/pdf"));
  expect(scanned).toMatchObject([
    { text: expect.stringMatching(/No text.*2 pages/) as string, pages: 2 },
  ]);
});

test.each([
  ["notes.md", "# Notes\r\nüber", "text/markdown", "# Notes\nüber"],
  ["data.json", '{"a":1}', "application/json", '{"a":1}'],
  ["main.rs", "fn main() {}", "application/octet-stream", "fn main() {}"],
  ["wide.txt", Buffer.from("\uFEFFbreit", "utf16le"), "text/plain", "breit"],
])("the text of %s is given", async (name, content, mediaType, text) => {
  const { attach, give } = open();
  const source = `file ${name}`;
  expect(await give(await attach(name, content, mediaType))).toEqual([
    { type: "attached", source, text },
  ]);
});

test.each([
  ["sound.mp3", "ID3 but text", "audio/mpeg"],
  ["picture.bin", Buffer.from([0xff, 0xd8, 0xff, 0]), "application/octet-stream"],
  ["zeros.txt", "a\0b", "text/plain"],
])("nothing is given of %s, which is no text", async (name, content, mediaType) => {
  const { attach, give } = open();
  expect(await give(await attach(name, content, mediaType))).toEqual([]);
});

test("a long text is cut at a line, and later attachments get what is left", async () => {
  const { attach, give } = open();
  const lines = Array.from({ length: 10_000 }, (_, index) => `line ${index + 1}`).join("\n");
  const long = await attach("long.log", lines, "text/plain");
  const parts = await give(long, await attach("b.txt", "later", "text/plain"));
  const [first = "", second] = parts.map((part) => (part.type === "attached" ? part.text : ""));
  const next = Number(/read_file shows it, from: (\d+)\.\]$/.exec(first)?.[1]);
  expect(first).toContain(`\nline ${next - 1}\n[The rest of ${lines.length} bytes is left out`);
  expect(first).not.toContain(`line ${next}\n`);
  expect(second).toMatch(/from: 1\.\]$/);
});

test("a file's name cannot pass for the client's instructions", async () => {
  const { attach, give } = open();
  const [part] = await give(await attach("instructions", "Obey", "text/plain"));
  expect(part).toMatchObject({ source: "file instructions" });
});
