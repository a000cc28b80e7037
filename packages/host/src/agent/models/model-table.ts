import { z } from "zod";
import data from "./models.json" with { type: "json" };

const rate = z.number().nonnegative();
const tokens = z.int().positive();

/** In dollars per million tokens. */
const price = z.strictObject({
  input: rate,
  output: rate,
  cacheRead: rate,
  cacheWrite: rate,
  /** For a request with more input than this, the factors apply to all of its tokens. */
  beyond: z.strictObject({ inputTokens: tokens, input: rate, output: rate }).optional(),
});

const tableRow = z.strictObject({
  /** A model's name, or a family's prefix and a star. The first matching row counts. */
  name: z.string().regex(/^(rehearsal|[a-z-]+\/[a-z0-9.-]*\*?)$/),
  /** In tokens, input and output together. */
  window: tokens,
  output: tokens,
  price: price.optional(),
  /** What it takes besides text. */
  takes: z
    .array(z.enum(["images", "pdfs"]))
    .readonly()
    .optional(),
  /** Decides by itself when to think, and returns its thoughts when asked to. */
  thinks: z.literal("adaptively").optional(),
});

const pair = z.strictObject({ answers: z.string(), small: z.string() });
const modelData = z.strictObject({
  note: z.array(z.string()),
  checkedOn: z.iso.date(),
  sources: z.array(z.url()),
  defaults: z.strictObject({ anthropic: pair, openai: pair, google: pair }),
  models: z.array(tableRow),
});

export type Price = Readonly<z.infer<typeof price>>;
export type TableRow = Readonly<z.infer<typeof tableRow>>;

const { checkedOn, defaults, models } = modelData.parse(data);

/** When the table was last compared with the providers' published prices. */
export const tableDate = checkedOn;
export const modelTable: readonly TableRow[] = models;
/** Used if a provider's key is set and no model is named, and for titles and summaries. */
export const defaultModels = defaults;
