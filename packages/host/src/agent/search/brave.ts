import { z } from "zod";
import { type SearchProvider, withoutEndSlash } from "./search-provider.ts";

const answer = z.looseObject({
  type: z.string().optional(),
  /** Absent if nothing was found. */
  web: z
    .looseObject({
      results: z.array(
        z.looseObject({
          url: z.string(),
          title: z.string().nullish(),
          description: z.string().nullish(),
          page_age: z.string().nullish(),
        }),
      ),
    })
    .nullish(),
});

const freshness = { day: "pd", week: "pw", month: "pm", year: "py" } as const;
const maxCount = 20;

export const brave = {
  title: "Brave Search",
  address: "https://api.search.brave.com/res/v1",
  variables: ["HOLDFAST_BRAVE_API_KEY", "BRAVE_API_KEY", "BRAVE_SEARCH_API_KEY"],
  request({ query, since, count }, { address, key }) {
    const url = new URL(`${withoutEndSlash(address)}/web/search`);
    url.searchParams.set("q", query);
    url.searchParams.set("count", String(Math.min(count, maxCount)));
    url.searchParams.set("text_decorations", "false");
    if (since !== undefined) url.searchParams.set("freshness", freshness[since]);
    const headers = { accept: "application/json", "x-subscription-token": key ?? "" };
    return { url: url.href, method: "GET", headers };
  },
  results(body) {
    const parsed = answer.safeParse(body);
    if (!parsed.success) return null;
    return (parsed.data.web?.results ?? []).map(({ url, title, description, page_age: date }) => ({
      url,
      title,
      snippet: description,
      date,
    }));
  },
  // Brave answers 422 for a key that it does not know.
  explain: (status, body) =>
    status === 422 && body.includes("SUBSCRIPTION_TOKEN_INVALID")
      ? {
          code: "search_key_rejected",
          message:
            "Brave Search rejects the key. Store the right one in Settings, Tools and approvals.",
        }
      : null,
} satisfies SearchProvider;
