import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import * as fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";

import { createTokenCounter, estimateTokens } from "./token-counter.ts";
import { splitForTokenizer } from "./token-pieces.ts";

const asText = { disallowedSpecial: new Set<string>() };
const exactly = (text: string): number =>
  [...splitForTokenizer(text)].reduce((sum, piece) => sum + countTokens(piece, asText), 0);

const natural: readonly (readonly [string, string])[] = [
  [
    "English",
    "It was a dark and stormy night; the rain fell in torrents, except at occasional intervals.",
  ],
  [
    "German",
    "Die Würde des Menschen ist unantastbar. Sie zu schützen ist Verpflichtung aller Gewalt.",
  ],
  ["French", "Tous les êtres humains naissent libres et égaux en dignité et en droits."],
  ["Polish", "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw."],
  ["Vietnamese", "Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền lợi."],
  ["Russian", "Все люди рождаются свободными и равными в своем достоинстве и правах."],
  ["Greek", "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια."],
  ["Arabic", "يولد جميع الناس أحرارا متساوين في الكرامة والحقوق."],
  ["Hebrew", "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם."],
  ["Hindi", "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता प्राप्त है।"],
  ["Thai", "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ"],
  ["Chinese", "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心。"],
  [
    "Japanese",
    "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。",
  ],
  ["Korean", "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다."],
  ["Amharic", "የሰው ልጅ ሁሉ ሲወለድ ነጻና በክብርና በመብትም እኩልነት ያለው ነው።"],
  ["Georgian", "ყველა ადამიანი იბადება თავისუფალი და თანასწორი თავისი ღირსებითა."],
  ["Tibetan", "འགྲོ་བ་མིའི་རིགས་རྒྱུད་ཡོངས་ལ་སྐྱེས་ཙམ་ཉིད་ནས་"],
  ["emoji", "😀🎉👩‍👩‍👧‍👦🏳️‍🌈🔥💯🚀"],
  [
    "code",
    "export const isWord = (run: string): boolean => run.length <= 14 && /^[a-z]+$/.test(run);\n",
  ],
  ["JSON", '{"name":"holdfast","version":"0.1.0","list":[1,2.5,null],"nested":{"ok":true}}'],
  ["a path", "/home/ada/projects/holdfast/packages/host/src/agent/models/token-counter.ts:42:17"],
  ["hexadecimal", "3f9a0c77e1b24d5f8a6e9c0d1b2a3f4e5d6c7b8a99887766554433221100ffee"],
  ["base64", "q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJCrze8SNFZ4kKvN7xI0VniQ"],
  ["numbers", "3.14159265358979, 2718281828459045, 0.5772156649, 1618033988749894"],
  ["capitals", "THE QUICK BROWN FOX JUMPS OVER THE LAZY DOG AND RUNS AWAY"],
  ["indented", "        return value;\n        }\n\n            if (done) break;\n"],
];

const alphabets = [
  "abcdefghijklmnopqrstuvwxyz",
  "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
  "0123456789",
  "+/=ABCxyz0189",
  " \n\t",
  "{}[]();:,.\"'<>=!?#$%&*-_|\\/~^",
  "àéîõüßñçłśźžđ",
  "абвгдежзийклмнопрстуфхц",
  "αβγδεζηθικλμνξοπ",
  "אבגדהוזחטיכלמ",
  "ابتثجحخدذرزسش",
  "कखगघचछजझटठडढ",
  "กขคงจฉชซญฎฏฐ",
  "的一是不了人我在有他这",
  "あいうえおカキクケコ",
  "가나다라마바사아자차",
  "龘靐齉爩鱻麤龗",
  "😀🎉🔥💯🚀👩",
];

describe("the estimate", () => {
  test.each(natural)("of %s is at least four fifths of the real count", (_, text) => {
    const repeated = text.repeat(20);
    for (const each of [text, repeated])
      expect(estimateTokens(each)).toBeGreaterThanOrEqual(exactly(each) * 0.8);
    expect(estimateTokens(repeated)).toBeLessThanOrEqual(exactly(repeated) * 4);
  });

  test("is at least half the real count for any text", () => {
    const letters = fc.constantFrom(...alphabets);
    const run = fc
      .tuple(letters, fc.array(fc.nat(), { minLength: 1, maxLength: 40 }))
      .map(([from, picks]) => {
        const characters = Array.from(from);
        return picks.map((pick) => characters[pick % characters.length]).join("");
      });
    const text = fc.array(run, { minLength: 1, maxLength: 12 }).map((parts) => parts.join(" "));
    fc.assert(
      fc.property(fc.oneof(text, fc.string({ unit: "binary" }), fc.base64String()), (any) => {
        expect(estimateTokens(any) * 2 + 2).toBeGreaterThanOrEqual(exactly(any));
      }),
      { numRuns: 100 },
    );
  });

  test("of a long text is extrapolated from samples", () => {
    const text = natural
      .map(([, each]) => each)
      .join("\n")
      .repeat(200);
    const ratio = estimateTokens(text) / exactly(text.slice(0, 20_000)) / (text.length / 20_000);
    expect(ratio).toBeGreaterThan(0.8);
    expect(ratio).toBeLessThan(3);
  });

  test("of one repeated letter is never too low", () => {
    for (const letter of ["a", "A", "0", "-", " ", "\n", "的", "😀"])
      for (const times of [1, 10, 1_000, 100_000])
        expect(estimateTokens(letter.repeat(times))).toBeGreaterThanOrEqual(
          letter === " " && times < 100_000
            ? 0
            : exactly(letter.repeat(Math.min(times, 1_000))) / 2,
        );
  });
});

describe("the tokenizer", () => {
  test("splits a text losslessly into pieces short enough to be fast", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 3_000 }), (text) => {
        const pieces = [...splitForTokenizer(text)];
        expect(pieces.join("")).toBe(text);
        expect(pieces.every((piece) => piece.length <= 401)).toBe(true);
      }),
    );
  });

  test("gives exact counts once the worker has counted, and estimates until then", async () => {
    const counter = createTokenCounter();
    onTestFinished(() => counter.close());
    const texts = natural.map(([, text]) => text.repeat(10));
    const marked = "<|endoftext|> is a text like any other. ".repeat(20);
    const run = "a".repeat(100_000);
    expect(counter.count(run)).toBe(estimateTokens(run));
    await counter.preload([...texts, marked, run, "short"], 60_000);
    for (const text of [...texts, marked, run]) expect(counter.count(text)).toBe(exactly(text));
    expect(counter.count("short")).toBe(estimateTokens("short"));
  });

  test("gives estimates to a caller that does not wait, and works again after being closed", async () => {
    const counter = createTokenCounter();
    onTestFinished(() => counter.close());
    const text = "Nobody waits for this. ".repeat(50);
    await counter.preload([text], 0);
    await counter.close();
    await counter.preload([`${text}!`], 60_000);
    expect(counter.count(`${text}!`)).toBe(exactly(`${text}!`));
  });

  test("does not keep the process alive if it is not closed", async () => {
    const folder = mkdtempSync(join(tmpdir(), "holdfast-tokens-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const program = join(folder, "learn.mjs");
    const counter = JSON.stringify(new URL("./token-counter.ts", import.meta.url).href);
    writeFileSync(
      program,
      `import { createTokenCounter } from ${counter};
      await createTokenCounter().preload(["Counted, and left. ".repeat(50)], 60_000);`,
    );
    const child = spawn(process.execPath, [program], { stdio: ["ignore", "ignore", "inherit"] });
    onTestFinished(() => void child.kill("SIGKILL"));
    expect(await once(child, "exit")).toEqual([0, null]);
  });
});
