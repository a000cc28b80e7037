import { makePdf } from "@holdfast/testing/fixtures/make-pdf";
import { type Attachment, blobId } from "@holdfast/protocol";
import { expect, onTestFinished, test } from "vitest";

import { valueOf } from "../../../test/support/api-helpers.ts";
import { openApi } from "../../../test/support/api-rig.ts";

const sonnet = "anthropic/claude-sonnet-5-5";

test("attachments are priced as the model would get them: pages, text or nothing", async () => {
  const rig = openApi([]);
  onTestFinished(() => rig.close());
  const attach = async (bytes: Uint8Array<ArrayBuffer>, mediaType: string): Promise<Attachment> => {
    const { blobId: id, size } = valueOf(await rig.client.putBlob({ body: bytes, mediaType }));
    return mediaType.startsWith("image/")
      ? { type: "image", blobId: id, mediaType }
      : { type: "file", blobId: id, mediaType, name: "a", size };
  };
  const pages = Array.from({ length: 12 }, (_, page) => [`Page ${page}`]);
  const pdf = await attach(new Uint8Array(makePdf(pages)), "application/pdf");
  const text = await attach(new TextEncoder().encode("word ".repeat(4_000)), "text/plain");
  const picture = await attach(new Uint8Array([137, 80, 78, 71]), "image/png");
  const estimate = async (model: string, ...attachments: Attachment[]) =>
    valueOf(await rig.client.estimateAttachments({ body: { attachments, model } }));

  expect(await estimate(sonnet, pdf)).toEqual({
    tokens: 30_000,
    costMicros: 60_000,
    window: 1_000_000,
  });
  // Its text alone.
  const { tokens } = await estimate("rehearsal", pdf);
  expect(tokens).toBeGreaterThan(50);
  expect(tokens).toBeLessThan(1_000);
  const long = await estimate("rehearsal", text);
  expect(long).toMatchObject({ costMicros: null, window: 32_000 });
  expect(long.tokens).toBeGreaterThan(3_500);
  expect((await estimate(sonnet, picture, picture)).tokens).toBe(3_200);
  expect((await estimate("rehearsal", picture)).tokens).toBe(0);
  // Past the pages that a request may have, the text is sent.
  const book = await attach(
    new Uint8Array(makePdf(Array.from({ length: 101 }, () => ["A page"]))),
    "application/pdf",
  );
  expect((await estimate(sonnet, book)).tokens).toBeLessThan(10_000);
  const unknown = { ...pdf, blobId: blobId.parse(`blob_${"f".repeat(64)}`) };
  expect(await rig.client.estimateAttachments({ body: { attachments: [unknown] } })).toMatchObject({
    ok: false,
    error: { code: "blob_not_found" },
  });
});
