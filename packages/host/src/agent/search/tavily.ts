import { z } from "zod";
import { type SearchProvider, withoutEndSlash } from "./search-provider.ts";

const answer = z.looseObject({
  results: z.array(
    z.looseObject({
      url: z.string(),
      title: z.string().nullish(),
      content: z.string().nullish(),
      published_date: z.string().nullish(),
    }),
  ),
});

const maxCount = 20;
/** Tavily's own: the plan's limit, and the limit that the account's owner has set. */
const spentStatuses: ReadonlySet<number> = new Set([432, 433]);

export const tavily = {
  title: "Tavily",
  address: "https://api.tavily.com",
  variables: ["HOLDFAST_TAVILY_API_KEY", "TAVILY_API_KEY"],
  request({ query, since, count }, { address, key }) {
    const body = {
      query,
      max_results: Math.min(count, maxCount),
      ...(since !== undefined && { time_range: since }),
    };
    return {
      url: `${withoutEndSlash(address)}/search`,
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${key ?? ""}` },
      body: JSON.stringify(body),
    };
  },
  results: (body) =>
    answer.safeParse(body).data?.results.map(({ url, title, content, published_date: date }) => ({
      url,
      title,
      snippet: content,
      date,
    })) ?? null,
  explain: (status) =>
    spentStatuses.has(status)
      ? {
          code: "search_no_credit",
          message:
            "The Tavily plan's searches are used up. Raise its limit at tavily.com, or choose another provider in Settings, Tools and approvals.",
        }
      : null,
} satisfies SearchProvider;
