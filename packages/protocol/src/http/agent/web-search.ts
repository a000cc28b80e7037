import { z } from "zod";

import { defineRoute } from "../define.ts";
import { providerView } from "../models.ts";

/** In the order in which they are tried where nobody has chosen one. */
export const webSearchProviders = ["searxng", "brave", "tavily", "exa"] as const;
export const webSearchProvider = z.enum(webSearchProviders);
export type WebSearchProvider = z.infer<typeof webSearchProvider>;

export const webSearchProviderView = providerView
  .pick({ key: true, check: true, usable: true, title: true })
  .extend({
    provider: webSearchProvider,
    /** Searches go here. */
    used: z.boolean(),
  });
export type WebSearchProviderView = z.infer<typeof webSearchProviderView>;

const params = z.strictObject({ provider: webSearchProvider });
/** Of a provider that takes a key: SearXNG has an address, which is a setting. */
const keyParams = z.strictObject({ provider: webSearchProvider.exclude(["searxng"]) });
const list = z.looseObject({ providers: z.array(webSearchProviderView) });

export const webSearchRoutes = {
  listSearchProviders: defineRoute({
    method: "GET",
    path: "/api/web-search",
    summary: "The providers that can search the web, and what is set for them",
    access: "principal",
    answer: { media: "json", status: 200, schema: list },
    problems: [],
    repeat: "safe",
  }),
  putSearchKey: defineRoute({
    method: "PUT",
    path: "/api/web-search/:provider/key",
    summary:
      "Store a search provider's key, unless one search with it is rejected; it is never read back",
    access: "principal",
    params: keyParams,
    body: z.strictObject({
      key: z.string().regex(/^[\x21-\x7e]{1,1000}$/, "expected 1 to 1000 printable characters"),
    }),
    example: { key: "the-key-that-the-provider-gave" },
    answer: { media: "none", status: 204 },
    problems: ["key_rejected"],
    repeat: "safe",
  }),
  deleteSearchKey: defineRoute({
    method: "DELETE",
    path: "/api/web-search/:provider/key",
    summary: "Forget a search provider's stored key",
    access: "principal",
    params: keyParams,
    answer: { media: "none", status: 204 },
    problems: [],
    repeat: "safe",
  }),
  checkSearchProvider: defineRoute({
    method: "PUT",
    path: "/api/web-search/:provider/check",
    summary: "Search once, to see whether a provider answers",
    access: "principal",
    params,
    answer: { media: "json", status: 200, schema: list },
    problems: [],
    repeat: "safe",
  }),
} as const;
