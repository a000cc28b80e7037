import { imageTokens, type Reads } from "@holdfast/engine";
import type { Attachment, OwnerId, SessionId } from "@holdfast/protocol";

import { type ModelFacts, pdfPagesFor, tokensPerPdfPage, visionOf } from "../models/model-info.ts";
import { readAttachedTexts } from "./attachment-text.ts";
import type { PdfReader } from "./pdf-reader.ts";

export interface EstimateDeps {
  readonly pdfs: PdfReader;
  readonly reads: Pick<Reads, "blob">;
  /** About how many tokens a text takes. */
  readonly count: (text: string) => number;
}

/** Texts do not depend on a session. */
const anySession = "" as SessionId;

/** About how many tokens attachments take in a request, as this model would get them. */
export async function estimateAttachments(
  { pdfs, reads, count }: EstimateDeps,
  owner: OwnerId,
  attachments: readonly Attachment[],
  facts: ModelFacts,
): Promise<number> {
  const read = readAttachedTexts(pdfs, reads);
  const parts = await read({ owner, session: anySession, text: "", attachments });
  let pages = pdfPagesFor(facts);
  let tokens = 0;
  // The newest documents go as files, as far as they fit.
  for (const part of parts.toReversed()) {
    if (part.type !== "attached") continue;
    if (part.pages !== undefined && part.pages <= pages) {
      pages -= part.pages;
      tokens += part.pages * tokensPerPdfPage;
    } else tokens += count(part.text);
  }
  const pictures = attachments.filter(({ type }) => type === "image").length;
  return tokens + (visionOf(facts) === "no" ? 0 : pictures * imageTokens);
}
