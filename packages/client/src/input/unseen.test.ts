import { expect, test } from "vitest";

import { findUnseen } from "./unseen.ts";

const picture = { type: "image", mediaType: "image/png" } as const;
const pdf = { type: "file", mediaType: "application/pdf" } as const;
const sound = { type: "file", mediaType: "audio/ogg" } as const;
const text = { type: "file", mediaType: "text/plain" } as const;

test.each([
  [{ vision: "yes", pdfs: true }, ["media"]],
  [{ vision: "no", pdfs: false }, ["pictures", "pdf_pages", "media"]],
  [{ vision: "unknown" }, ["perhaps_pictures", "pdf_pages", "media"]],
  [undefined, ["perhaps_pictures", "pdf_pages", "media"]],
] as const)("of a picture, a PDF, a sound and a text, %o does not get %o", (model, unseen) => {
  expect(findUnseen([picture, pdf, sound, text], model)).toEqual(unseen);
  expect(findUnseen([text], model)).toEqual([]);
});
