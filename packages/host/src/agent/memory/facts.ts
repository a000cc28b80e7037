import type { MemoryAnswer, MemoryHandle, MemorySegment, MemoryTurn } from "@holdfast/engine";
import type { FactUse } from "@holdfast/protocol";

import type { NewFact } from "./fact-rows.ts";
import type { FactStore } from "./fact-store.ts";

const maxRecalled = 8;

/**
 * Keeps the facts that are found in what people said, by rules and without a model. `use` says when sessions get them:
 * when they fit a message, or always.
 */
export function openFacts(
  facts: FactStore,
  owner: MemoryHandle["owner"],
  use: FactUse,
): MemoryHandle {
  return {
    owner,
    commit: (segment, signal) =>
      keepFacts(() => facts.add(segment.owner, factsIn(segment, use)), signal),
    learn: ({ owner: ownerId, session, texts, taint = [] }, signal) => {
      const source = { kind: "review", sessionId: session } as const;
      const found = texts.map((text) => ({ text, use, source, at: Date.now(), after: taint }));
      return keepFacts(() => facts.add(ownerId, found), signal);
    },
    async recall({ owner: ownerId, text }, signal) {
      const known = await facts.list(ownerId);
      if (signal.aborted) return [];
      // The others are part of the system prompt.
      return rankFacts(
        known.filter((fact) => fact.state === "kept" && fact.use === "when_it_fits"),
        text,
      );
    },
    close: async () => {},
  };
}

async function keepFacts(keep: () => Promise<void>, signal: AbortSignal): Promise<MemoryAnswer> {
  if (signal.aborted) return { status: "failed", code: "stopped", message: "It was called off." };
  try {
    await keep();
    return { status: "committed" };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { status: "failed", code: "facts_not_written", message };
  }
}

/** Facts from turns in which the model had read a stranger's text wait for a person's yes. */
function factsIn({ session, turns }: MemorySegment, use: FactUse): readonly NewFact[] {
  const source = { kind: "said", sessionId: session } as const;
  return turns.flatMap((turn) =>
    extractFacts(turn).map((text) => ({ text, use, source, at: turn.at, after: turn.taint ?? [] })),
  );
}

/** By shared words, where rare words weigh more. The newest first among equals. */
function rankFacts(
  facts: readonly { readonly text: string }[],
  text: string,
): { readonly text: string }[] {
  const queryWords = new Set(searchWords(text));
  const seen = new Map<string, number>();
  for (const fact of facts)
    for (const word of new Set(searchWords(fact.text))) seen.set(word, (seen.get(word) ?? 0) + 1);
  return facts
    .map((fact, index) => {
      const shared = new Set(searchWords(fact.text).filter((word) => queryWords.has(word)));
      let weight = 0;
      for (const word of shared) weight += 1 / (seen.get(word) ?? 1);
      return { text: fact.text, weight, index };
    })
    .filter(({ weight }) => weight > 0)
    .toSorted((a, b) => b.weight - a.weight || b.index - a.index)
    .slice(0, maxRecalled)
    .map((fact) => ({ text: fact.text }));
}

/** Short words are too common to search by. */
function searchWords(text: string): string[] {
  return (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).filter((word) => word.length > 3);
}

const maxFactsPerTurn = 20;
const maxFactLength = 300;

/** What people say about themselves, and what they ask to have remembered. */
const patterns = [
  /^(?:please )?(?:remember|note|keep in mind)(?: that|:)? (?<fact>.{3,})$/iu,
  /^(?<fact>my [\p{L} '-]{2,40} (?:is|are|was) .{1,})$/iu,
  /^(?<fact>(?:i|we) (?:am|are|prefer|like|love|hate|live|work|use|need|want|have|always|never) .{2,})$/iu,
  /^(?<fact>(?:call me|i'm|i’m) .{2,})$/iu,
] as const;

/** Finds facts in a turn by rules: deterministic, and without a model. */
export function extractFacts({ messages }: Pick<MemoryTurn, "messages">): readonly string[] {
  const facts = new Set<string>();
  for (const { role, text } of messages) {
    if (role !== "user") continue;
    for (const sentence of sentencesOf(withoutPastedText(text))) {
      const fact = factIn(sentence);
      if (fact !== undefined && facts.size < maxFactsPerTurn) facts.add(fact);
    }
  }
  return [...facts];
}

const mailHeader = /^(?:from|to|cc|subject|date|sent|reply-to):\s/iu;
const forwardMarks =
  /^(?:-{3,} ?(?:forwarded|original) message|begin forwarded message:|on .{5,120} wrote:$)/iu;
const minMailHeaders = 2;

/**
 * The person's own lines, as far as the text shows: without quotes, code, and everything from a forwarded or pasted mail
 * on. What the client marked as quoted is gone already.
 */
function withoutPastedText(text: string): string {
  const own: string[] = [];
  let isCode = false;
  const lines = text.split("\n");
  for (const [index, raw] of lines.entries()) {
    const line = raw.trim();
    if (forwardMarks.test(line) || isMailHead(lines.slice(index))) break;
    if (line.startsWith("```")) isCode = !isCode;
    else if (!isCode && !line.startsWith(">")) own.push(line);
  }
  return own.join("\n");
}

/** Several header lines in a row begin a mail. */
function isMailHead(lines: readonly string[]): boolean {
  return (
    lines.length >= minMailHeaders &&
    lines.slice(0, minMailHeaders).every((line) => mailHeader.test(line.trim()))
  );
}

function* sentencesOf(text: string): Generator<string> {
  for (const line of text.split("\n")) {
    for (const sentence of line.split(/(?<=[.!?])\s+/u)) yield sentence.trim();
  }
}

function factIn(sentence: string): string | undefined {
  // A question states nothing.
  if (sentence === "" || sentence.length > maxFactLength || sentence.endsWith("?"))
    return undefined;
  for (const pattern of patterns) {
    const fact = pattern.exec(sentence)?.groups?.["fact"];
    if (fact !== undefined) return fact.trim().replace(/[.!]+$/u, "");
  }
  return undefined;
}
