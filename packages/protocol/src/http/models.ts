import { z } from "zod";

import { reasoningEffort } from "../events/session.ts";
import { attachment } from "../parts.ts";
import { sessionMode } from "../rights/session-mode.ts";
import { defineRoute } from "./define.ts";

const rate = z.number().nonnegative();

/** In dollars per million tokens. */
const priceView = z.looseObject({
  input: rate,
  output: rate,
  cacheRead: rate,
  cacheWrite: rate,
});

export const modelView = z.looseObject({
  /** The name a session uses for it. */
  name: z.string(),
  /** As its provider writes it, like "Claude Opus 5.5". */
  title: z.string().optional(),
  provider: z.string(),
  /** In tokens. */
  window: z.int(),
  output: z.int(),
  /** `null`: unknown price. */
  price: priceView.nullable(),
  images: z.boolean(),
  /** Whether it sees pictures. `unknown`: they are sent, and its server may refuse them. */
  vision: z.enum(["yes", "no", "unknown"]).optional(),
  /** Whether it gets PDFs as files; otherwise it gets their text. */
  pdfs: z.boolean().optional(),
  /** Whether it supports tools. */
  tools: z.boolean().optional(),
  /** The reasoning efforts that can be chosen for it, and the chosen one. */
  efforts: z.array(reasoningEffort).optional(),
  effort: reasoningEffort.optional(),
  /** Whether it is fully configured. The provider itself has not been asked. */
  usable: z.boolean(),
  /** What to know before choosing it, such as that spend limits cannot count its cost. */
  warning: z.string().optional(),
});
export type ModelView = z.infer<typeof modelView>;

export const providerView = z.looseObject({
  provider: z.string(),
  title: z.string(),
  usable: z.boolean(),
  baseUrl: z.string().nullable(),
  /** Where the key came from; the key itself is never shown. */
  key: z.looseObject({
    from: z.enum(["environment", "stored", "none"]),
    name: z.string().optional(),
  }),
  /** What to do if it is not usable. */
  problem: z.string().optional(),
  /** What the provider said about the key, or whether the server answered. */
  check: z
    .looseObject({
      state: z.enum(["verified", "rejected", "unreachable", "unverified"]),
      detail: z.string().optional(),
    })
    .optional(),
});
export type ProviderView = z.infer<typeof providerView>;

const provider = z.strictObject({
  provider: z.enum(["anthropic", "openai", "google", "openai-compatible", "ollama"]),
});

export const modelRoutes = {
  listModels: defineRoute({
    method: "GET",
    path: "/api/models",
    summary: "The models that can be chosen, and what is set for their providers",
    access: "principal",
    answer: {
      media: "json",
      status: 200,
      schema: z.looseObject({
        /** The model for sessions that choose none. */
        usual: z.string(),
        /** The mode of sessions that are begun without one. */
        usualMode: sessionMode.optional(),
        /** When windows and prices were last compared with the providers' published figures. */
        tableDate: z.string(),
        models: z.array(modelView),
        providers: z.array(providerView),
      }),
    },
    problems: [],
    repeat: "safe",
  }),
  putSecret: defineRoute({
    method: "PUT",
    path: "/api/secrets/:provider",
    summary:
      "Store a provider's key, for one address only, unless the provider rejects it; it is never read back",
    access: "principal",
    params: provider,
    body: z.strictObject({
      key: z.string().regex(/^[\x21-\x7e]{1,1000}$/, "expected 1 to 1000 printable characters"),
      /** By default the provider's own. */
      baseUrl: z.string().max(2_000).optional(),
    }),
    example: { key: "the-key-that-the-provider-gave" },
    answer: { media: "none", status: 204 },
    problems: ["key_rejected"],
    repeat: "safe",
  }),
  estimateAttachments: defineRoute({
    method: "POST",
    path: "/api/models/estimate",
    summary:
      "Estimate how many tokens a message's attachments use, and what sending them once costs",
    access: "principal",
    body: z.strictObject({
      attachments: z.array(attachment).max(50),
      /** By default the model for sessions that choose none. */
      model: z.string().max(200).optional(),
    }),
    example: { attachments: [] },
    answer: {
      media: "json",
      status: 200,
      schema: z.looseObject({
        tokens: z.int().nonnegative(),
        /** In millionths of a dollar; `null` if the price is unknown. */
        costMicros: z.int().nonnegative().nullable(),
        /** How many tokens fit into the model's context. */
        window: z.int(),
      }),
    },
    problems: ["blob_not_found"],
    repeat: "safe",
  }),
  checkProvider: defineRoute({
    method: "PUT",
    path: "/api/models/:provider/check",
    summary: "Ask a provider whether it accepts the key that is set for it",
    access: "principal",
    params: provider,
    answer: { media: "json", status: 200, schema: z.looseObject({ provider: providerView }) },
    problems: [],
    repeat: "safe",
  }),
  deleteSecret: defineRoute({
    method: "DELETE",
    path: "/api/secrets/:provider",
    summary: "Forget a provider's stored key",
    access: "principal",
    params: provider,
    answer: { media: "none", status: 204 },
    problems: [],
    repeat: "safe",
  }),
} as const;
