import type { Message } from "./corpus.ts";

/** The search terms. A kind that the corpus doesn't have is absent. */
export interface Terms {
  readonly common?: string;
  readonly rare?: string;
  readonly phrase?: string;
  /** Two ideographs. */
  readonly cjk2?: string;
  /** The inside of a word. */
  readonly substring?: string;
}

/** Takes the terms from the messages themselves, so that any corpus can be searched. */
export function pickTerms(messages: Iterable<Message>): Terms {
  const inMessages = new Map<string, number>();
  let phrase: string | undefined;
  let cjk2: string | undefined;
  let count = 0;
  for (const { content } of messages) {
    count += 1;
    const words = content.toLowerCase().match(/[a-z]{3,}/g) ?? [];
    for (const word of new Set(words)) inMessages.set(word, (inMessages.get(word) ?? 0) + 1);
    // From somewhere in the middle, neither the newest nor the oldest messages.
    if (count % 1_000 === 500 || phrase === undefined) phrase = phraseIn(content) ?? phrase;
    cjk2 ??= /\p{Script=Han}{2}/u.exec(content)?.[0];
  }
  const ranked = [...inMessages].toSorted(([, a], [, b]) => b - a);
  const rare = ranked.findLast(([word]) => word.length >= 7)?.[0];
  return definedOnly({
    common: ranked[0]?.[0],
    rare,
    phrase,
    cjk2,
    substring: rare?.slice(1, -1),
  });
}

function phraseIn(content: string): string | undefined {
  const pair = /[a-z]{4,} [a-z]{4,}/.exec(content)?.[0];
  return pair && `"${pair}"`;
}

function definedOnly(terms: Record<keyof Terms, string | undefined>): Terms {
  return Object.fromEntries(Object.entries(terms).filter(([, term]) => term !== undefined));
}
