import * as fc from "fast-check";
import { expect, test } from "vitest";

import { foldText, snippetText } from "../../shared/search-text/tokens.ts";
import { SearchService } from "./service.ts";
import { openSearchRig, sendMessages } from "@holdfast/testing/stores/search-rig";

const words = [
  ..."the of and to in is that it was for on are with as his they at be this have from or had".split(
    " ",
  ),
  ..."function interface return value string promise résumé naïve façade Ångström ИНДЕКС поиск".split(
    " ",
  ),
  ..."東京 大学 日本語 検索エンジン データ 北京 搜索 数据库 한국어 검색 src/main.ts C++ foo_bar 42 3.14 🎉".split(
    " ",
  ),
];
const word = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...words) },
  { weight: 3, arbitrary: fc.stringMatching(/^[a-z]{2,12}$/) },
  { weight: 1, arbitrary: fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 }) },
);
const message = fc
  .array(fc.tuple(word, fc.constantFrom(" ", " ", " ", ", ", "\n", "-", ": ")), {
    minLength: 1,
    maxLength: 40,
  })
  .map((parts) => parts.flat().join(""));

/** Ways to cut a query out of a text that must then find that text. */
const pickers: Record<string, (folded: string, at: number, length: number) => string> = {
  word: (folded, at) => pick(folded.match(/[\p{L}\p{N}\p{M}]+/gu) ?? [], at),
  phrase: (folded, at, length) => {
    const all = folded.replaceAll('"', " ").split(" ");
    const from = at % all.length;
    return `"${all.slice(from, from + 1 + (length % 4)).join(" ")}"`;
  },
  part: (folded, at, length) => {
    const inner = pick(folded.match(/[a-z0-9]{4,}/g) ?? [], at);
    const from = inner.length < 4 ? 0 : at % (inner.length - 3);
    return inner.slice(from, from + 3 + (length % 3));
  },
  prefix: (folded, at, length) => {
    const whole = pick(folded.match(/[a-z0-9]{2,}/g) ?? [], at);
    return whole === "" ? "" : `${whole.slice(0, 1 + (length % whole.length))}*`;
  },
  "CJK pair": (folded, at) =>
    pick(folded.match(/[\p{Script=Han}\p{Script=Katakana}]{2}/gu) ?? [], at),
};

function pick(found: readonly string[], at: number): string {
  return found[at % Math.max(found.length, 1)] ?? "";
}

/** Whether a folded text contains a query, by plain string search. */
function contains(folded: string, kind: string, query: string): boolean {
  if (kind === "part" || kind === "CJK pair") return folded.includes(query);
  const spaced = ` ${folded.replaceAll(/[^\p{L}\p{N}\p{M}]|\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Hangul}|ー/gu, " ")}`;
  return spaced.includes(` ${query.slice(0, -1)}`);
}

test(
  "every query cut out of 10,000 messages finds the message it came from",
  { timeout: 240_000 },
  async () => {
    await using rig = await openSearchRig();
    const { file, chat } = rig;
    const texts = fc.sample(message, { numRuns: 10_000, seed: 7 });
    for (let from = 0; from < texts.length; from += 1_000)
      await sendMessages(chat, ...texts.slice(from, from + 1_000));
    const folded = texts.map((text) => foldText(snippetText(text)));
    const service = new SearchService(file);
    try {
      while (service.step().status !== "current");
      const find = (text: string): Set<number> => {
        const seqs = new Set<number>();
        for (let cursor: string | undefined; ;) {
          const page = service.search(chat.owner, {
            text,
            limit: 500,
            ...(cursor !== undefined && { cursor }),
          });
          if (page.status !== "ok") throw new Error(page.message);
          for (const hit of page.hits) if (hit.role === "user") seqs.add(hit.seq);
          if (page.next === null) return seqs;
          cursor = page.next;
        }
      };
      for (const [kind, pickFrom] of Object.entries(pickers)) {
        for (let round = 0; round < 30; round += 1) {
          const index = (round * 7_919 + 13) % texts.length;
          const query = pickFrom(folded[index] ?? "", round * 31, round);
          if (!/[\p{L}\p{N}]/u.test(query)) continue;
          const found = find(query);
          expect(found.has(index + 2), `${kind} ${query} in ${texts[index]}`).toBe(true);
          // What exactly is a word or a phrase takes more than a string search; here it only matters that they are
          // found.
          if (kind === "word" || kind === "phrase") continue;
          const expected = folded.flatMap((text, at) =>
            contains(text, kind, query) ? [at + 2] : [],
          );
          expect(
            [...found].toSorted((a, b) => a - b),
            `${kind} ${query}`,
          ).toEqual(expected);
        }
      }
    } finally {
      service.close();
    }
  },
);
