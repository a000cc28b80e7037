import { createHash } from "node:crypto";

/** What was fetched from an address, cut into the parts that the model can ask for. */
export interface FetchedPage {
  readonly url: string;
  readonly status: number;
  readonly title: string;
  readonly parts: readonly string[];
  /** What is missing from the parts, if anything. */
  readonly missing: string | null;
}

export interface FetchedPages {
  /** What was fetched from there a moment ago; `null` if it has to be fetched again. */
  read(session: string, url: string): FetchedPage | null;
  keep(session: string, url: string, page: FetchedPage): void;
}

const maxAgeMs = 15 * 60_000;
const maxPages = 32;
/** In characters of all pages. */
const maxLength = 4_000_000;

/**
 * Keeps pages for a while, so that the parts of one come from the same fetch. Sessions share none: one of them may not
 * have been allowed to fetch it.
 */
export function createFetchedPages(now: () => number): FetchedPages {
  const pages = new Map<string, { readonly at: number; readonly page: FetchedPage }>();
  const keyOf = (session: string, url: string): string =>
    createHash("sha256").update(`${session} ${url}`).digest("hex");

  function drop(): void {
    let length = [...pages.values()].reduce((sum, { page }) => sum + lengthOf(page), 0);
    for (const [oldest, { at, page }] of pages) {
      const isOld = now() - at > maxAgeMs;
      if (!isOld && pages.size <= maxPages && length <= maxLength) return;
      pages.delete(oldest);
      length -= lengthOf(page);
    }
  }

  return {
    read(session, url) {
      drop();
      return pages.get(keyOf(session, url))?.page ?? null;
    },
    keep(session, url, page) {
      const key = keyOf(session, url);
      pages.delete(key);
      pages.set(key, { at: now(), page });
      drop();
    },
  };
}

function lengthOf({ parts }: FetchedPage): number {
  return parts.reduce((sum, { length }) => sum + length, 0);
}

/** In characters. */
const partLength = 40_000;
/** A part ends at a paragraph, a line or a word, if there is one in its last fifth. */
const shortestPart = 32_000;

/** The same text always gives the same parts, and the parts together are the text. */
export function splitParts(text: string): readonly string[] {
  const parts: string[] = [];
  let rest = text;
  while (rest.length > partLength) {
    const end = endOfPart(rest.slice(0, partLength));
    parts.push(rest.slice(0, end));
    rest = rest.slice(end);
  }
  return rest === "" && parts.length > 0 ? parts : [...parts, rest];
}

function endOfPart(text: string): number {
  for (const boundary of ["\n\n", "\n", " "]) {
    const at = text.lastIndexOf(boundary);
    if (at >= shortestPart) return at + boundary.length;
  }
  // Never between the halves of a character.
  return /[\ud800-\udbff]$/.test(text) ? text.length - 1 : text.length;
}

/** Whole pages of a document as long as they fit a part; a longer page has parts of its own. */
export function partsOfPages(pages: readonly string[]): readonly string[] {
  const parts: string[] = [];
  let open = "";
  pages.forEach((page, index) => {
    const text = `[Page ${index + 1}]\n${page.trim()}\n\n`;
    if (open !== "" && open.length + text.length > partLength) {
      parts.push(open);
      open = "";
    }
    open += text;
    if (open.length <= partLength) return;
    const pieces = splitParts(open);
    parts.push(...pieces.slice(0, -1));
    open = pieces.at(-1) ?? "";
  });
  return open === "" ? parts : [...parts, open];
}
