import { mkdtempSync, readFileSync, rmSync, utimesSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { importUploadBytes } from "@holdfast/protocol";
import { expect, onTestFinished, test } from "vitest";

import { ImportUploads, type UploadPiece } from "./uploads.ts";

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-uploads-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test("pieces that are sent twice or cut off make the same file, and gaps are refused", async () => {
  const folder = join(makeFolder(), "uploads");
  const uploads = new ImportUploads(folder);
  const send = (at: number, text: string, more: Partial<UploadPiece> = {}) =>
    uploads.receive({
      id: "12345678",
      name: "../my chats.ZIP",
      at,
      bytes: Buffer.from(text),
      ...more,
    });
  const path = join(folder, "12345678.zip");
  expect(await send(0, "one ")).toEqual({ path, bytes: 4 });
  expect(await send(4, "tw")).toEqual({ path, bytes: 6 });
  expect(await send(4, "two")).toEqual({ path, bytes: 7 });
  expect(await send(9, "gap")).toBe("import_upload_gap");
  expect(await send(importUploadBytes - 1, "xx")).toBe("import_upload_too_large");
  expect(readFileSync(path, "utf8")).toBe("one two");
  const other = await send(0, "x", { id: "87654321", name: "no/../ending" });
  expect(other).toEqual({ path: join(folder, "87654321"), bytes: 1 });
  await uploads.removeIfUpload(path);
  await uploads.removeIfUpload(join(folder, "..", "uploads", "..", "other"));
  expect(readdirSync(folder)).toEqual(["87654321"]);
});

test("an upload that nobody imported is removed after a day", async () => {
  const folder = join(makeFolder(), "uploads");
  const uploads = new ImportUploads(folder);
  const bytes = Buffer.from("x");
  await uploads.receive({ id: "old-file", name: "a", at: 0, bytes });
  utimesSync(join(folder, "old-file"), 1, 1);
  await uploads.receive({ id: "new-file", name: "a", at: 0, bytes });
  expect(readdirSync(folder)).toEqual(["new-file"]);
});
