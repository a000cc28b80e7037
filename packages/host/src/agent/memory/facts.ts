import { readdir } from "node:fs/promises";
import { join } from "node:path";

import type { MemoryAnswer, MemorySegment, MemoryHandle, MemoryTurn } from "@holdfast/engine";
import type { OwnerId } from "@holdfast/protocol";
import { z } from "zod";

import { readTextOrEmpty, writeFileAtomically, withFileLock } from "../../util/atomic-file.ts";
import { ownerFolder } from "./owner-folder.ts";
import { openWaitingFacts, type WaitingFact, type WaitingFacts } from "./waiting-facts.ts";

const factSchema = z.looseObject({ text: z.string(), at: z.number() });
const factFile = z.looseObject({ facts: z.array(factSchema), keys: z.array(z.string()) });
type FactFile = z.infer<typeof factFile>;

const maxFactsPerSession = 500;
const maxKeys = 500;
const maxRecalled = 8;
/** Only the newest sessions are searched, so that a message does not wait for the rest. */
const maxSessions = 200;

/**
 * Facts found in what people said, searchable without a model or a network. Each session has its own file, which only
 * the holder of its memory lease writes. A segment's key is written together with its facts, so a segment counts once.
 */
export function openFacts(home: string, owner: MemoryHandle["owner"]): MemoryHandle {
  const folderOf = (ownerId: OwnerId) => factsFolder(home, ownerId);
  const waiting = openWaitingFacts(home);
  return {
    owner,
    commit: (batch, signal) =>
      commitFacts(join(folderOf(batch.owner), `${batch.session}.json`), batch, waiting, signal),
    learn: async ({ owner: ownerId, session, key, texts, taint = [] }, signal) => {
      if (taint.length > 0) {
        const added = texts.map((text) => ({ text, session, at: Date.now(), after: taint }));
        const kept = await waiting.add(ownerId, "facts", added);
        return kept === "busy" ? busy : { status: "committed" };
      }
      // A separate file, because only the holder of the session's memory lease writes the main one.
      const file = join(folderOf(ownerId), `${session}.review.json`);
      const found = texts.map((text) => ({ text, at: Date.now() }));
      const result = await withFileLock(file, () => addFacts(file, { key, found }, signal));
      return result === "busy" ? busy : result;
    },
    async recall({ owner: ownerId, text }, signal) {
      const facts = await readFacts(folderOf(ownerId), signal);
      return rankFacts(facts, text);
    },
    close: async () => {},
  };
}

const busy: MemoryAnswer = {
  status: "failed",
  code: "facts_busy",
  message: "Another process writes these facts.",
};

/** Oldest first: session ids sort by time, and so do their files. */
async function readFacts(folder: string, signal: AbortSignal): Promise<FactFile["facts"]> {
  const files = (await readdir(folder).catch(() => [])).filter((file) => file.endsWith(".json"));
  const facts: FactFile["facts"] = [];
  for (const file of files.toSorted().slice(-maxSessions)) {
    if (signal.aborted) return [];
    facts.push(...(await readFactFile(join(folder, file))).facts);
  }
  return facts;
}

async function readFactFile(file: string): Promise<FactFile> {
  const text = await readTextOrEmpty(file);
  return text === "" ? { facts: [], keys: [] } : factFile.parse(JSON.parse(text));
}

async function commitFacts(
  file: string,
  segment: MemorySegment,
  waiting: WaitingFacts,
  signal: AbortSignal,
): Promise<MemoryAnswer> {
  const { key, owner } = segment;
  const { own, doubtful } = sortFacts(segment);
  if ((await waiting.add(owner, "facts", doubtful)) === "busy") return busy;
  const found = own.map(({ text, at }) => ({ text, at }));
  return addFacts(file, { key, found }, signal);
}

/** Facts from turns in which the model had read a stranger's text wait for a person's yes. */
export function sortFacts({ session, turns }: Pick<MemorySegment, "session" | "turns">) {
  const facts = turns.flatMap((turn) =>
    extractFacts(turn).map((text) => ({ text, session, at: turn.at, after: turn.taint ?? [] })),
  );
  return {
    own: facts.filter(({ after }) => after.length === 0),
    doubtful: facts.filter(({ after }) => after.length > 0),
  };
}

function factsFolder(home: string, owner: OwnerId): string {
  return join(ownerFolder(home, owner), "facts");
}

/** Keeps a fact that a person has approved, in a file of its own: the lease of the session guards the main one. */
export async function keepFact(
  home: string,
  owner: OwnerId,
  { id, text, session, at }: WaitingFact,
): Promise<"kept" | "busy"> {
  const file = join(factsFolder(home, owner), `${session}.approved.json`);
  const { signal } = new AbortController();
  const added = await withFileLock(file, () =>
    addFacts(file, { key: id, found: [{ text, at }] }, signal),
  );
  return added !== "busy" && added.status === "committed" ? "kept" : "busy";
}

async function addFacts(
  file: string,
  { key, found }: { readonly key: string; readonly found: FactFile["facts"] },
  signal: AbortSignal,
): Promise<MemoryAnswer> {
  if (signal.aborted) return { status: "failed", code: "stopped", message: "It was called off." };
  try {
    const known = await readFactFile(file);
    if (known.keys.includes(key)) return { status: "committed" };
    if (found.length === 0) return { status: "committed" };
    const texts = new Set(found.map(({ text }) => text));
    const result = known.facts.filter(({ text }) => !texts.has(text));
    const next: FactFile = {
      ...known,
      facts: [...result, ...found].slice(-maxFactsPerSession),
      keys: [...known.keys, key].slice(-maxKeys),
    };
    await writeFileAtomically(file, JSON.stringify(next));
    return { status: "committed" };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { status: "failed", code: "facts_not_written", message };
  }
}

/** By shared words, where rare words weigh more. The newest first among equals. */
function rankFacts(facts: FactFile["facts"], text: string): { readonly text: string }[] {
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
