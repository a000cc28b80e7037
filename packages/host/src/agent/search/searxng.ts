import { z } from "zod";
import { type SearchProvider, withoutEndSlash } from "./search-provider.ts";

const answer = z.looseObject({
  results: z.array(
    z.looseObject({
      url: z.string(),
      title: z.string().nullish(),
      content: z.string().nullish(),
      publishedDate: z.string().nullish(),
    }),
  ),
});

/** A metasearch engine that people run themselves. It takes no key. */
export const searxng = {
  title: "SearXNG",
  address: null,
  variables: [],
  request({ query, since }, { address }) {
    const url = new URL(`${withoutEndSlash(address)}/search`);
    url.searchParams.set("q", query);
    url.searchParams.set("format", "json");
    if (since !== undefined) url.searchParams.set("time_range", since);
    return { url: url.href, method: "GET", headers: { accept: "application/json" } };
  },
  results: (body) =>
    answer.safeParse(body).data?.results.map(({ url, title, content, publishedDate }) => ({
      url,
      title,
      snippet: content,
      date: publishedDate,
    })) ?? null,
  explain: (status) =>
    status === 403
      ? {
          code: "search_json_off",
          message:
            "SearXNG does not answer in JSON. Add json to search.formats in its settings.yml, and restart it.",
        }
      : null,
} satisfies SearchProvider;
