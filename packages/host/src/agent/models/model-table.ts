/** In dollars per million tokens. */
export interface Price {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  /** A request with more input than this costs more, all of it. */
  readonly beyond?: {
    readonly inputTokens: number;
    readonly input: number;
    readonly output: number;
  };
}

export interface TableRow {
  /** A model's name, or a family's prefix and a star. The first matching row counts. */
  readonly name: string;
  /** In tokens, input and output together. */
  readonly window: number;
  readonly output: number;
  readonly price?: Price;
  readonly takes?: readonly "images"[];
  /** Decides by itself when to think, and returns its thoughts when asked to. */
  readonly thinks?: "adaptively" | undefined;
}

/** When the figures below were last checked against the providers' published prices. */
export const tableDate = "2026-11-15";

function price(input: number, output: number, rest: Partial<Price> = {}): Price {
  return { input, output, cacheRead: input / 10, cacheWrite: input * 1.25, ...rest };
}

/** OpenAI: a long request costs twice as much for input and half as much again for output. */
function longAt(inputTokens: number): Pick<Price, "beyond"> {
  return { beyond: { inputTokens, input: 2, output: 1.5 } };
}

const images = ["images"] as const;
const claude = { window: 1_000_000, output: 128_000, takes: images, thinks: "adaptively" } as const;
const olderClaude = { window: 200_000, output: 64_000, takes: images } as const;
const gpt6 = { window: 1_050_000, output: 128_000, takes: images } as const;
const gpt5 = { window: 400_000, output: 128_000, takes: images } as const;
const gemini = {
  window: 1_048_576,
  output: 65_536,
  takes: images,
  thinks: "adaptively",
} as const;
const free = { cacheWrite: 0 };
/** Google: cache storage is billed by the hour, which is not counted here. */
const longAt200 = { ...free, ...longAt(200_000) };

export const modelTable: readonly TableRow[] = [
  { name: "rehearsal", window: 32_000, output: 32_000 },

  { name: "anthropic/claude-fable-5-1*", ...claude, price: price(10, 50, { cacheRead: 0.25 }) },
  { name: "anthropic/claude-fable-5*", ...claude, price: price(10, 50) },
  { name: "anthropic/claude-opus-5-5*", ...claude, price: price(4, 20, { cacheRead: 0.2 }) },
  { name: "anthropic/claude-opus-5*", ...claude, price: price(5, 25) },
  { name: "anthropic/claude-sonnet-5-5*", ...claude, price: price(2, 10, { cacheRead: 0.1 }) },
  { name: "anthropic/claude-sonnet-5*", ...claude, price: price(2, 10) },
  {
    name: "anthropic/claude-haiku-5-5*",
    ...claude,
    price: price(0.1, 0.5, { beyond: { inputTokens: 100_000, input: 5, output: 5 } }),
  },
  { name: "anthropic/claude-opus-4-8*", ...claude, price: price(5, 25) },
  { name: "anthropic/claude-opus-4-7*", ...claude, price: price(5, 25) },
  {
    name: "anthropic/claude-opus-4-6*",
    ...claude,
    window: 200_000,
    price: price(5, 25),
  },
  { name: "anthropic/claude-opus-4-5*", ...olderClaude, price: price(5, 25) },
  { name: "anthropic/claude-opus-4*", ...olderClaude, output: 32_000, price: price(15, 75) },
  { name: "anthropic/claude-sonnet-4-6*", ...claude, window: 200_000, price: price(3, 15) },
  { name: "anthropic/claude-sonnet-4*", ...olderClaude, price: price(3, 15) },
  { name: "anthropic/claude-haiku-4-5*", ...olderClaude, price: price(1, 5) },
  { name: "anthropic/*", window: 200_000, output: 32_000, takes: images },

  { name: "openai/gpt-6-astra*", ...gpt6, price: price(10, 50, longAt(272_000)) },
  {
    name: "openai/gpt-6.1-sol*",
    ...gpt6,
    price: price(2, 10, { cacheRead: 0.1, ...longAt(272_000) }),
  },
  { name: "openai/gpt-6-sol*", ...gpt6, price: price(2, 10, longAt(272_000)) },
  { name: "openai/gpt-6-luna*", ...gpt6, price: price(0.1, 0.5, longAt(272_000)) },
  { name: "openai/gpt-6*", ...gpt6 },
  { name: "openai/gpt-5.6-terra*", ...gpt5, price: price(2.5, 15, longAt(272_000)) },
  { name: "openai/gpt-5.6-luna*", ...gpt5, price: price(1, 6, longAt(272_000)) },
  { name: "openai/gpt-5.6*", ...gpt5, price: price(5, 30, longAt(272_000)) },
  { name: "openai/gpt-5.5-pro*", ...gpt5, price: price(30, 180, free) },
  { name: "openai/gpt-5.5*", ...gpt5, price: price(5, 30, free) },
  { name: "openai/gpt-5.4-nano*", ...gpt5, price: price(0.2, 1.25, free) },
  { name: "openai/gpt-5.4-mini*", ...gpt5, price: price(0.75, 4.5, free) },
  { name: "openai/gpt-5.4", ...gpt5, price: price(2.5, 15, free) },
  { name: "openai/gpt-5.2", ...gpt5, price: price(1.75, 14, free) },
  { name: "openai/gpt-5.1", ...gpt5, price: price(1.25, 10, free) },
  { name: "openai/gpt-5-mini*", ...gpt5, price: price(0.25, 2, free) },
  { name: "openai/gpt-5-nano*", ...gpt5, price: price(0.05, 0.4, free) },
  { name: "openai/gpt-5", ...gpt5, price: price(1.25, 10, free) },
  { name: "openai/gpt-5*", ...gpt5 },
  {
    name: "openai/gpt-4.1-mini*",
    window: 1_047_576,
    output: 32_768,
    takes: images,
    price: price(0.4, 1.6, { cacheRead: 0.1, ...free }),
  },
  {
    name: "openai/gpt-4.1-nano*",
    window: 1_047_576,
    output: 32_768,
    takes: images,
    price: price(0.1, 0.4, { cacheRead: 0.025, ...free }),
  },
  {
    name: "openai/gpt-4.1*",
    window: 1_047_576,
    output: 32_768,
    takes: images,
    price: price(2, 8, { cacheRead: 0.5, ...free }),
  },
  {
    name: "openai/gpt-4o-mini*",
    window: 128_000,
    output: 16_384,
    takes: images,
    price: price(0.15, 0.6, { cacheRead: 0.075, ...free }),
  },
  {
    name: "openai/gpt-4o*",
    window: 128_000,
    output: 16_384,
    takes: images,
    price: price(2.5, 10, { cacheRead: 1.25, ...free }),
  },
  { name: "openai/*", window: 128_000, output: 16_384, takes: images },

  { name: "google/gemini-3.1-pro*", ...gemini, price: price(2, 12, longAt200) },
  { name: "google/gemini-3-pro*", ...gemini, price: price(2, 12, longAt200) },
  { name: "google/gemini-3-flash*", ...gemini, price: price(0.5, 3, free) },
  { name: "google/gemini-3.1-flash-lite*", ...gemini, price: price(0.25, 1.5, free) },
  { name: "google/gemini-2.5-pro*", ...gemini, price: price(1.25, 10, longAt200) },
  { name: "google/gemini-2.5-flash-lite*", ...gemini, price: price(0.1, 0.4, free) },
  { name: "google/gemini-2.5-flash*", ...gemini, price: price(0.3, 2.5, free) },
  { name: "google/gemini-2.0*", ...gemini, output: 8_192, thinks: undefined },
  { name: "google/gemini-*", ...gemini },
  { name: "google/*", window: 128_000, output: 8_192 },

  { name: "openai-compatible/*", window: 32_000, output: 8_000 },
  // The real window depends on how the server was started, and it silently drops what does not fit.
  { name: "ollama/*", window: 32_000, output: 8_000, price: price(0, 0) },
];

/** Used if a provider's key is set and no model is named, and for titles and summaries. */
export const defaultModels = {
  anthropic: { answers: "anthropic/claude-sonnet-5-5", small: "anthropic/claude-haiku-5-5" },
  openai: { answers: "openai/gpt-6.1-sol", small: "openai/gpt-6-luna" },
  google: { answers: "google/gemini-pro-latest", small: "google/gemini-flash-lite-latest" },
} as const;
