import { z } from "zod";
import type { ModelUsage } from "@holdfast/engine";
import type { BlobId } from "@holdfast/protocol";
import { modelTable, type Price, type TableRow } from "./model-table.ts";
import type { ServedModel } from "./servers/served-model.ts";

/** A base URL without credentials, query or trailing slash, so that equal addresses are equal strings. */
export function parseBaseUrl(text: string): string | null {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return null;
  const isBare = url.username === "" && url.password === "" && url.search === "" && url.hash === "";
  return isBare ? text.replace(/\/+$/, "") : null;
}

/** The rehearsal model is built in and has no provider. */
export const providers = ["anthropic", "openai", "google", "openai-compatible", "ollama"] as const;
export type Provider = (typeof providers)[number];

export type ModelName =
  | { readonly provider: "rehearsal" }
  | { readonly provider: Provider; readonly id: string };

export const rehearsal = "rehearsal";

/** The value of HOLDFAST_MODEL or of a session: `rehearsal`, or a provider and its own name for a model. */
export function parseModelName(name: string): ModelName | null {
  if (name === rehearsal) return { provider: rehearsal };
  const slash = name.indexOf("/");
  const provider = providers.find((row) => row === name.slice(0, slash));
  const id = name.slice(slash + 1);
  return slash === -1 || provider === undefined || id === "" ? null : { provider, id };
}

/** Without a price, the cost of a call is unknown. */
export type ModelFacts = Omit<TableRow, "name"> & {
  /** The model does not support tools. */
  readonly tools?: "none";
  /** Requests must ask the server for the window. */
  readonly asksWindow?: true;
  /** The longest answer in tokens, where the settings give one: servers of one's own are told. */
  readonly outputLimit?: number;
};

/** Whether requests may set the reasoning effort. */
export function takesEffort(name: string, { thinks }: ModelFacts): boolean {
  const provider = parseModelName(name)?.provider;
  if (provider === "openai") return /^openai\/(gpt-[5-9]|o\d)/.test(name);
  if (provider === "anthropic" || provider === "google") return thinks !== undefined;
  return provider === "openai-compatible";
}

const rate = z.number().nonnegative();
/** Settings for a model or a family; they take precedence over the table. */
export const modelOverrides = z.record(
  z.string().min(1),
  z.strictObject({
    window: z.int().min(1_000).optional(),
    output: z.int().min(100).optional(),
    images: z.boolean().optional(),
    pdfs: z.boolean().optional(),
    tools: z.boolean().optional(),
    /** The models to fall back to; without it, the general fallbacks apply. */
    fallback: z
      .array(z.string().refine((name) => parseModelName(name) !== null))
      .max(10)
      .optional(),
    price: z
      .strictObject({
        input: rate,
        output: rate,
        cacheRead: rate.optional(),
        cacheWrite: rate.optional(),
      })
      .optional(),
  }),
);
export type ModelOverrides = z.infer<typeof modelOverrides>;

/** Any model worth using can take this much. */
const unknownModelFacts: ModelFacts = { window: 32_000, output: 8_000 };

/** Settings override what a server reports about its own model, which overrides the table. */
export function factsOf(
  name: string,
  overrides: ModelOverrides = {},
  served: ServedModel | null = null,
): ModelFacts {
  const row = modelTable.find((entry) => fits(entry.name, name));
  const { name: _, ...base } = row ?? { name, ...unknownModelFacts };
  const known: ModelFacts = served === null ? base : withServed(base, served);
  const override = overrideOf(name, overrides);
  if (override === undefined) return known;
  const { window = known.window, output = known.output, price } = override;
  const { takes, price: general, tools: servedTools, ...rest } = known;
  const hasTools = override.tools ?? servedTools !== "none";
  const accepted = withAccepted(takes, override);
  const priceOverride =
    price === undefined ? general : { ...withCacheRates(price), ...defined(price) };
  return {
    ...rest,
    window,
    output,
    ...(override.output !== undefined && { outputLimit: override.output }),
    ...(accepted && { takes: accepted }),
    ...(priceOverride && { price: priceOverride }),
    ...(!hasTools && { tools: "none" }),
  };
}

export function overrideOf(
  name: string,
  overrides: ModelOverrides,
): ModelOverrides[string] | undefined {
  return Object.entries(overrides).find(([pattern]) => fits(pattern, name))?.[1];
}

function withServed(base: ModelFacts, served: ServedModel): ModelFacts {
  const { takes, ...rest } = base;
  const { maxWindow = Infinity, tools, price, takesWindow } = served;
  const window = served.window ?? Math.min(base.window, maxWindow);
  const accepted = withAccepted(takes, served);
  return {
    ...rest,
    window,
    output: Math.min(served.output ?? base.output, window),
    ...(accepted && { takes: accepted }),
    ...(price && { price }),
    ...(tools === false && { tools: "none" }),
    ...(takesWindow === true && { asksWindow: true }),
  };
}

/** With what settings or a server say about images and PDFs. A model that takes no pictures gets no pages either. */
function withAccepted(
  takes: ModelFacts["takes"],
  said: { readonly images?: boolean | undefined; readonly pdfs?: boolean | undefined },
): ModelFacts["takes"] {
  if (takes === undefined && said.images === undefined && said.pdfs !== true) return undefined;
  const images = said.images ?? takes?.includes("images") ?? true;
  const pdfs = said.pdfs ?? (said.images !== false && takes?.includes("pdfs") === true);
  return [...(images ? (["images"] as const) : []), ...(pdfs ? (["pdfs"] as const) : [])];
}

/** Whether PDFs are sent as files. Otherwise their text is, which every model takes. */
export function takesPdfs({ takes }: Pick<ModelFacts, "takes">): boolean {
  return takes?.includes("pdfs") === true;
}

/** Of all PDFs in a request; Anthropic's limit for most models. */
const maxPdfPages = 100;
/** Providers read the text of a page and look at its picture. */
export const tokensPerPdfPage = 2_500;

/** How many pages of PDFs a request may have. A document may take half of the window; of a longer one the text is sent. */
export function pdfPagesFor(facts: Pick<ModelFacts, "takes" | "window">): number {
  if (!takesPdfs(facts)) return 0;
  return Math.min(maxPdfPages, Math.floor(facts.window / 2 / tokensPerPdfPage));
}

/** `unknown`: neither the table, nor its server, nor the settings say whether it sees pictures. */
export function visionOf({ takes }: Pick<ModelFacts, "takes">): "yes" | "no" | "unknown" {
  if (takes === undefined) return "unknown";
  return takes.includes("images") ? "yes" : "no";
}

/** A model's fallbacks in order, without repeats and without itself. */
export function fallbacksOf(
  name: string,
  overrides: ModelOverrides,
  general: readonly string[],
): readonly string[] {
  const override = Object.entries(overrides).find(
    ([pattern, { fallback }]) => fallback !== undefined && fits(pattern, name),
  )?.[1].fallback;
  return [...new Set(override ?? general)].filter((fallback) => fallback !== name);
}

function fits(pattern: string, name: string): boolean {
  return pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : pattern === name;
}

/** Without cache rates, cached tokens cost the same as others. */
function withCacheRates({ input, output }: { input: number; output: number }): Price {
  return { input, output, cacheRead: input, cacheWrite: input };
}

function defined<T extends object>(values: T): { [K in keyof T]-?: NonNullable<T[K]> } {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]-?: NonNullable<T[K]> };
}

/** In millionths of a dollar: at a dollar per million tokens, each token costs one. */
export function costOf(usage: ModelUsage, price: Price): number {
  const { input, output, cacheRead = 0, cacheWrite = 0 } = usage;
  const fresh = Math.max(0, input - cacheRead - cacheWrite);
  const longRate =
    price.beyond !== undefined && input > price.beyond.inputTokens ? price.beyond : null;
  const inputCost =
    fresh * price.input + cacheRead * price.cacheRead + cacheWrite * price.cacheWrite;
  return Math.ceil(
    inputCost * (longRate?.input ?? 1) + output * price.output * (longRate?.output ?? 1),
  );
}

/** The bytes of an attachment; `null` if it is gone, or larger than providers accept. */
export type AttachmentReader = (
  blobId: BlobId,
  kind: "image" | "pdf",
) => Promise<Uint8Array | null>;
