import { z } from "zod";
import { type SearchAge, type SearchProvider, withoutEndSlash } from "./search-provider.ts";

const answer = z.looseObject({
  results: z.array(
    z.looseObject({
      url: z.string(),
      title: z.string().nullish(),
      publishedDate: z.string().nullish(),
      highlights: z.array(z.string()).nullish(),
      text: z.string().nullish(),
    }),
  ),
});

const dayMs = 24 * 60 * 60_000;
const ages: Readonly<Record<SearchAge, number>> = {
  day: dayMs,
  week: 7 * dayMs,
  month: 31 * dayMs,
  year: 366 * dayMs,
};

export const exa = {
  title: "Exa",
  address: "https://api.exa.ai",
  variables: ["HOLDFAST_EXA_API_KEY", "EXA_API_KEY"],
  request({ query, since, count }, { address, key }, now) {
    const body = {
      query,
      numResults: count,
      contents: { highlights: true },
      ...(since !== undefined && {
        startPublishedDate: new Date(now - ages[since]).toISOString(),
      }),
    };
    return {
      url: `${withoutEndSlash(address)}/search`,
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": key ?? "" },
      body: JSON.stringify(body),
    };
  },
  results: (body) =>
    answer.safeParse(body).data?.results.map(({ url, title, publishedDate, highlights, text }) => ({
      url,
      title,
      snippet: highlights?.slice(0, 3).join(" … ") ?? text,
      date: publishedDate,
    })) ?? null,
} satisfies SearchProvider;
