import type { Attachment, ModelView } from "@holdfast/protocol";

/**
 * What a model does not get of some attachments.
 * - `pictures`: it does not see them. `perhaps_pictures`: it is not known whether it does.
 * - `pdf_pages`: it gets the text of a PDF, not its pages as they look.
 * - `media`: audio and video, which no model gets.
 */
export type Unseen = "pictures" | "perhaps_pictures" | "pdf_pages" | "media";

/** What to say before sending. A model that is not listed may see pictures or not. */
export function findUnseen(
  attachments: readonly Pick<Attachment, "type" | "mediaType">[],
  model: Pick<ModelView, "vision" | "pdfs"> | undefined,
): readonly Unseen[] {
  const { vision = "unknown", pdfs = false } = model ?? {};
  const has = (pattern: RegExp): boolean =>
    attachments.some(({ mediaType }) => pattern.test(mediaType));
  const hasPictures = attachments.some(({ type }) => type === "image");
  return [
    ...(hasPictures && vision === "no" ? (["pictures"] as const) : []),
    ...(hasPictures && vision === "unknown" ? (["perhaps_pictures"] as const) : []),
    ...(has(/^application\/pdf\b/) && !pdfs ? (["pdf_pages"] as const) : []),
    ...(has(/^(?:audio|video)\//) ? (["media"] as const) : []),
  ];
}
