import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

export interface Message {
  readonly role: "user" | "assistant";
  readonly content: string;
}

/** An endless supply of messages: the same number gives the same message in every run. */
export interface Corpus {
  /** Identifies the content, so that stores filled with it can be kept between runs. */
  readonly key: string;
  at(index: number): Message;
}

export function openCorpus(file: string | undefined): Corpus {
  return file === undefined ? generatedCorpus() : fileCorpus(file);
}

function fileCorpus(file: string): Corpus {
  const text = readFileSync(file, "utf8");
  const messages = text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line, index) => readMessage(line, index + 1));
  if (messages.length === 0) throw new Error(`${file} has no messages.`);
  return {
    key: createHash("sha256").update(text).digest("hex").slice(0, 12),
    at: (index) => messages[index % messages.length]!,
  };
}

function readMessage(line: string, number: number): Message {
  const value: unknown = JSON.parse(line);
  if (typeof value === "object" && value !== null && "role" in value && "content" in value) {
    const { role, content } = value;
    if (typeof content === "string")
      return { role: role === "assistant" ? "assistant" : "user", content };
  }
  throw new Error(`Line ${number} of the corpus is not {"role", "content"}.`);
}

const vocabularySize = 8_000;
const ideographs = Array.from(
  "会议记录明天上午城市交通安全数据系统恢复文件学习语言问题答案时间工作",
);

/** Questions of a line, answers of a paragraph; word frequencies as in a language; some Chinese. */
function generatedCorpus(): Corpus {
  const vocabulary = makeVocabulary();
  return {
    key: "generated-2",
    at(index) {
      const random = randomFrom(index + 1);
      const role = index % 2 === 0 ? "user" : "assistant";
      const length = role === "user" ? 8 + random() * 24 : 40 + random() * 120;
      const words = Array.from({ length }, () => pickWord(vocabulary, random()));
      if (index % 20 < 2) words.push(pickIdeographs(random));
      // A word that only a few of many messages have.
      if (index % 20_000 === 100) words.push("quetzalcoatl");
      return { role, content: `${words.join(" ")}.` };
    },
  };
}

function makeVocabulary(): readonly string[] {
  const random = randomFrom(7);
  const pick = (from: string) => from[Math.floor(random() * from.length)] ?? "";
  const words = new Set<string>();
  while (words.size < vocabularySize) {
    const syllables = 1 + Math.floor(random() * 4);
    words.add(
      Array.from(
        { length: syllables },
        () => pick("bcdfghklmnprstvwz") + pick("aeiou") + pick("nrslt "),
      )
        .join("")
        .replaceAll(" ", ""),
    );
  }
  return [...words];
}

/** Zipf's law: the n-th word occurs about 1/n as often as the first. */
function pickWord(vocabulary: readonly string[], chance: number): string {
  return vocabulary[Math.floor(vocabulary.length ** chance) - 1] ?? "";
}

function pickIdeographs(random: () => number): string {
  return Array.from(
    { length: 12 },
    () => ideographs[Math.floor(random() * ideographs.length)] ?? "",
  ).join("");
}

/** Mulberry32: small, and the same everywhere. */
function randomFrom(seed: number): () => number {
  let state = Math.imul(seed, 0x9e3779b1);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
