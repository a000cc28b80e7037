import { z } from "zod";
import type { ModelUsage } from "@holdfast/engine";
import { modelTable, type Price, type TableRow } from "./model-table.ts";

/** Where a provider is served: without a password, a question or a slash at its end, so that the same place is the same text. */
export function parseBaseUrl(text: string): string | null {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return null;
  const isBare = url.username === "" && url.password === "" && url.search === "" && url.hash === "";
  return isBare ? text.replace(/\/+$/, "") : null;
}

/** Who answers. The rehearsal is built in and needs nobody. */
export const providers = ["anthropic", "openai", "google", "openai-compatible", "ollama"] as const;
export type Provider = (typeof providers)[number];

export type ModelName =
  | { readonly provider: "rehearsal" }
  | { readonly provider: Provider; readonly id: string };

export const rehearsal = "rehearsal";

/** What stands in HOLDFAST_MODEL and in a session: `rehearsal`, or a provider and its own name for a model. */
export function parseModelName(name: string): ModelName | null {
  if (name === rehearsal) return { provider: rehearsal };
  const slash = name.indexOf("/");
  const provider = providers.find((each) => each === name.slice(0, slash));
  const id = name.slice(slash + 1);
  return slash === -1 || provider === undefined || id === "" ? null : { provider, id };
}

/** What is known of a model. Without a price its calls cost nobody knows what. */
export type ModelFacts = Omit<TableRow, "name">;

const rate = z.number().nonnegative();
/** What the file may say of a model, or of a family: it goes before the table. */
export const modelOverrides = z.record(
  z.string().min(1),
  z.strictObject({
    window: z.int().min(1_000).optional(),
    output: z.int().min(100).optional(),
    images: z.boolean().optional(),
    /** Who answers in its place; without it, those that answer for any. */
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

/** So much any model takes that is worth talking to. */
const unknownModelFacts: ModelFacts = { window: 32_000, output: 8_000 };

export function factsOf(name: string, overrides: ModelOverrides = {}): ModelFacts {
  const row = modelTable.find((each) => fits(each.name, name));
  const { name: _, ...known } = row ?? { name, ...unknownModelFacts };
  const own = Object.entries(overrides).find(([pattern]) => fits(pattern, name))?.[1];
  if (own === undefined) return known;
  const { window = known.window, output = known.output, images, price } = own;
  const { takes, price: usual, ...rest } = known;
  const seen = images === undefined ? takes : images ? (["images"] as const) : [];
  const paid = price === undefined ? usual : { ...withCacheRates(price), ...defined(price) };
  return { ...rest, window, output, ...(seen && { takes: seen }), ...(paid && { price: paid }) };
}

/** Who answers in a model's place, in this order. Nobody stands in twice, or for itself. */
export function fallbacksOf(
  name: string,
  overrides: ModelOverrides,
  usual: readonly string[],
): readonly string[] {
  const own = Object.entries(overrides).find(
    ([pattern, { fallback }]) => fallback !== undefined && fits(pattern, name),
  )?.[1].fallback;
  return [...new Set(own ?? usual)].filter((other) => other !== name);
}

function fits(pattern: string, name: string): boolean {
  return pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : pattern === name;
}

/** A price that names no rate for the cache is the same with it and without. */
function withCacheRates({ input, output }: { input: number; output: number }): Price {
  return { input, output, cacheRead: input, cacheWrite: input };
}

function defined<T extends object>(values: T): { [K in keyof T]-?: NonNullable<T[K]> } {
  const kept = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(kept) as { [K in keyof T]-?: NonNullable<T[K]> };
}

/** What a call costs, in millionths of a dollar: a dollar for a million tokens is one of them for each. */
export function costOf(usage: ModelUsage, price: Price): number {
  const { input, output, cacheRead = 0, cacheWrite = 0 } = usage;
  const fresh = Math.max(0, input - cacheRead - cacheWrite);
  const long = price.beyond !== undefined && input > price.beyond.inputTokens ? price.beyond : null;
  const asked = fresh * price.input + cacheRead * price.cacheRead + cacheWrite * price.cacheWrite;
  return Math.ceil(asked * (long?.input ?? 1) + output * price.output * (long?.output ?? 1));
}
