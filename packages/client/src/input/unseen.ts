import { type Attachment, formatDollars, formatNumber, type ModelView } from "@holdfast/protocol";

/**
 * What a model does not get of some attachments.
 * - `pictures`: it does not see them. `perhaps_pictures`: it is not known whether it does.
 * - `pdf_pages`: it gets the text of a PDF, not its pages as they look.
 * - `media`: audio and video, which no model gets.
 */
export type Unseen = "pictures" | "perhaps_pictures" | "pdf_pages" | "media";

/** What a message's attachments take of a model's context, as the host estimates it. */
export interface AttachmentCost {
  readonly tokens: number;
  /** In millionths of a dollar; `null` if the price is unknown. */
  readonly costMicros: number | null;
  readonly window: number;
}

/** One sentence for people. */
export function describeAttachmentCost({ tokens, costMicros, window }: AttachmentCost): string {
  const price = costMicros === null ? "" : `, which costs about ${formatDollars(costMicros)} once`;
  const takes = `The attachments take about ${formatNumber(tokens)} tokens${price}.`;
  if (tokens < window) return takes;
  return `${takes} The model's context has room for ${formatNumber(window)} only.`;
}

const manyTokens = 20_000;
const largeShare = 0.25;

/** Whether the attachments are large enough to name their price before they are sent. */
export function isCostly({ tokens, window }: AttachmentCost): boolean {
  return tokens >= manyTokens || tokens >= window * largeShare;
}

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
