import { webSearchProviders, type WebSearchProvider } from "@holdfast/protocol";
import { createEgress, type EgressAnswer, type EgressDeps } from "../../util/egress/egress.ts";
import { showControls } from "../../util/text/show-controls.ts";
import { brave } from "./brave.ts";
import { exa } from "./exa.ts";
import type {
  RawResult,
  SearchAccount,
  SearchFailure,
  SearchFailureCode,
  SearchOutcome,
  SearchProvider,
  SearchQuery,
  SearchResult,
} from "./search-provider.ts";
import { searxng } from "./searxng.ts";
import { tavily } from "./tavily.ts";

export const providers = { searxng, brave, tavily, exa } as const satisfies Readonly<
  Record<WebSearchProvider, SearchProvider>
>;

export const providerNames = webSearchProviders;

const searchLimits = { bytes: 2 * 1024 * 1024, timeMs: 15_000 };
const maxTitleLength = 200;
const maxSnippetLength = 600;
const maxUrlLength = 1_000;
/** Longer markup is cut before its text is read. */
const maxMarkupLength = 8_000;

export interface AskDeps {
  readonly egress?: Omit<EgressDeps, "allow">;
  readonly now: () => number;
}

/** One search. Nothing that the provider answers makes it throw. */
export async function askProvider(
  { egress = {}, now }: AskDeps,
  account: SearchAccount,
  query: SearchQuery,
  signal?: AbortSignal,
): Promise<SearchOutcome> {
  const provider: SearchProvider = providers[account.provider];
  const { url, method, headers, body } = provider.request(query, account, now());
  // Only an address that the operator has set may be a private one.
  const allow = account.address === provider.address ? [] : [hostWithPort(url)];
  const client = createEgress({ ...egress, allow });
  const response = await client.request(url, {
    method,
    headers: { "user-agent": "Holdfast", ...headers },
    ...(body !== undefined && { body: Buffer.from(body) }),
    mostBytes: searchLimits.bytes,
    timeLimitMs: searchLimits.timeMs,
    follows: "its host",
    ...(signal !== undefined && { signal }),
  });
  if (!response.ok) {
    const { code, message } = response.refusal;
    if (code === "cancelled") return failed("cancelled", "");
    if (code === "too_large")
      return failed(
        "search_too_large",
        `${provider.title} answered with more than ${searchLimits.bytes / 1024 / 1024} MB. Search for something narrower.`,
      );
    return failed(
      "search_unreachable",
      `${provider.title} cannot be reached at ${new URL(url).host}: ${showControls(message)} Try again later, or fetch a page whose address you know.`,
    );
  }
  const { status, bytes } = response.value;
  const text = new TextDecoder().decode(bytes);
  if (status < 200 || status >= 300)
    return { ok: false, failure: failureOf(provider, response.value, text) };
  const found = provider.results(parseOrNull(text));
  if (found === null)
    return failed(
      "search_bad_answer",
      `${provider.title} answered in a form that Holdfast does not know. Check its address in Settings, Tools and approvals.`,
    );
  return { ok: true, results: (await readResults(found)).slice(0, query.count) };
}

function failed(code: SearchFailureCode, message: string): SearchOutcome {
  return { ok: false, failure: { code, message } };
}

function failureOf(
  provider: SearchProvider,
  { status, headers }: EgressAnswer,
  body: string,
): SearchFailure {
  const own = provider.explain?.(status, body) ?? null;
  if (own !== null) return own;
  const { title } = provider;
  switch (status) {
    case 401:
    case 403:
      return {
        code: "search_key_rejected",
        message: `${title} rejects the key. Store the right one in Settings, Tools and approvals.`,
      };
    case 402:
      return {
        code: "search_no_credit",
        message: `The ${title} account has no credit left. Add some, or choose another provider in Settings, Tools and approvals.`,
      };
    case 429: {
      const seconds = Number(headers["retry-after"]);
      const isKnown = Number.isFinite(seconds) && seconds > 0 && seconds <= 86_400;
      const wait = isKnown ? `Wait ${Math.ceil(seconds)} seconds` : "Wait a minute";
      return {
        code: "search_rate_limited",
        message: `${title} got too many searches. ${wait} before the next one.`,
      };
    }
    default:
      return {
        code: "search_failed",
        message: `${title} answered with status ${status}. Try again later.`,
      };
  }
}

/** Leaves out results without a usable address, and repeated pages. */
async function readResults(found: readonly RawResult[]): Promise<readonly SearchResult[]> {
  const results = new Map<string, SearchResult>();
  // An answer of two megabytes can hold thousands.
  for (const { url: written, title, snippet, date } of found.slice(0, 100)) {
    const url = webUrl(written);
    if (url === null || results.has(url)) continue;
    results.set(url, {
      title: (await plainText(title ?? "", maxTitleLength)) || new URL(url).host,
      url,
      snippet: await plainText(snippet ?? "", maxSnippetLength),
      date: dayOf(date ?? ""),
    });
  }
  return [...results.values()];
}

function webUrl(written: string): string | null {
  const url = URL.parse(written);
  if (url === null || !/^https?:$/.test(url.protocol)) return null;
  if (url.username !== "" || url.password !== "" || url.href.length > maxUrlLength) return null;
  return url.href;
}

/** Providers mark what was searched for, and encode entities. */
async function plainText(markup: string, maxLength: number): Promise<string> {
  const { readableHtml } = await import("../../util/text/html.ts");
  const text = readableHtml(
    markup.slice(0, maxMarkupLength),
    "https://example.org",
    maxMarkupLength,
  );
  return showControls(text.replace(/\s+/g, " ").trim()).slice(0, maxLength).toWellFormed();
}

function dayOf(date: string): string | null {
  const at = Date.parse(date.slice(0, 100));
  if (Number.isNaN(at) || at < 0 || at > Date.UTC(2100, 0)) return null;
  return new Date(at).toISOString().slice(0, 10);
}

function hostWithPort(address: string): string {
  const { hostname, port, protocol } = new URL(address);
  return `${hostname}:${port || (protocol === "https:" ? 443 : 80)}`;
}

function parseOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
