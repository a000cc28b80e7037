import type { MemoryTurn } from "@holdfast/engine";

const maxFactsPerTurn = 20;
const longestFact = 300;

/** What a person says of themselves, and what they ask to be kept. Everything else is talk. */
const patterns = [
  /^(?:please )?(?:remember|note|keep in mind)(?: that|:)? (?<fact>.{3,})$/iu,
  /^(?<fact>my [\p{L} '-]{2,40} (?:is|are|was) .{1,})$/iu,
  /^(?<fact>(?:i|we) (?:am|are|prefer|like|love|hate|live|work|use|need|want|have|always|never) .{2,})$/iu,
  /^(?<fact>(?:call me|i'm|i’m) .{2,})$/iu,
] as const;

/** Facts in a turn, found by rule: the same turn gives the same facts, and no model is asked. */
export function extractFacts({ messages }: Pick<MemoryTurn, "messages">): readonly string[] {
  const facts = new Set<string>();
  for (const { role, text } of messages) {
    if (role !== "user") continue;
    for (const sentence of sentencesOf(text)) {
      const fact = factIn(sentence);
      if (fact !== undefined && facts.size < maxFactsPerTurn) facts.add(fact);
    }
  }
  return [...facts];
}

function* sentencesOf(text: string): Generator<string> {
  for (const line of text.split("\n")) {
    for (const sentence of line.split(/(?<=[.!?])\s+/u)) yield sentence.trim();
  }
}

function factIn(sentence: string): string | undefined {
  // A question says nothing.
  if (sentence === "" || sentence.length > longestFact || sentence.endsWith("?")) return undefined;
  for (const pattern of patterns) {
    const fact = pattern.exec(sentence)?.groups?.["fact"];
    if (fact !== undefined) return fact.trim().replace(/[.!]+$/u, "");
  }
  return undefined;
}
