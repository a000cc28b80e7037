import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { ids, type Json, ownerId } from "@holdfast/protocol";
import { makePdf } from "@holdfast/testing/fixtures/make-pdf";
import { expect, onTestFinished, test } from "vitest";

import { createPdfReader } from "../documents/pdf-reader.ts";
import { createReadFile } from "./read-file.ts";

function open() {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-read-file-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const workspaces = {
    folderFor: async () => folder,
    placeFor: async () => ({ folder, workspace: folder }),
  };
  const tool = createReadFile({ workspaces, pdfs: createPdfReader() });
  const read = (input: Json) =>
    tool.run(
      {
        owner: ownerId.parse("owner"),
        session: ids.make("session"),
        runId: ids.make("run"),
        callId: ids.make("call"),
        input,
      },
      { signal: new AbortController().signal, write: () => {} },
    );
  const put = (name: string, bytes: Uint8Array) => writeFileSync(join(folder, name), bytes);
  return { read, put };
}

test("a PDF is read by its pages, from any page on", async () => {
  const { read, put } = open();
  put("bill.pdf", makePdf([["Bill"], ["Total: 42"], ["Thanks"]]));
  expect(await read({ path: "bill.pdf" })).toEqual({
    outcome: "ok",
    output: "[page 1 of 3]\nBill\n\n[page 2 of 3]\nTotal: 42\n\n[page 3 of 3]\nThanks",
  });
  expect(await read({ path: "bill.pdf", from: 2, lines: 1 })).toEqual({
    outcome: "ok",
    output: "[page 2 of 3]\nTotal: 42\n\n[Page 3 is left out: read_file shows it, from: 3.]",
  });
  expect(await read({ path: "bill.pdf", from: 9 })).toEqual({
    outcome: "ok",
    output: "[The PDF has 3 pages.]",
  });
});

test("a PDF with a password is refused with a sentence that says so", async () => {
  const { read, put } = open();
  put("locked.pdf", makePdf([["x"]], { encrypted: true }));
  expect(await read({ path: "locked.pdf" })).toEqual({
    outcome: "failed",
    output: "The PDF is protected by a password. Send a copy without one.",
  });
});
