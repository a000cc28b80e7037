import { join } from "node:path";
import type { OwnerId } from "@holdfast/protocol";
import type { MemoryTurn, MemoryAnswer, MemoryHandle } from "@holdfast/engine";
import { readTextOrEmpty, writeFileAtomically, withFileLock } from "../../util/atomic-file.ts";

/** One folder per owner: nobody is told what another has said. */
export function ownerFolder(home: string, owner: OwnerId): string {
  // An owner id may contain colons, and some file systems ignore case.
  const name = Buffer.from(owner, "utf8").toString("hex");
  return join(home, "memory", name);
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
  // A question states nothing.
  if (sentence === "" || sentence.length > maxFactLength || sentence.endsWith("?"))
    return undefined;
  for (const pattern of patterns) {
    const fact = pattern.exec(sentence)?.groups?.["fact"];
    if (fact !== undefined) return fact.trim().replace(/[.!]+$/u, "");
  }
  return undefined;
}

const files = { person: "USER.md", rest: "MEMORY.md" } as const;
/** Per file. Older lines are cut from the top. */
const maxCharacters = 8_000;

/** Notes that a person can read and edit: about themselves in USER.md, the rest in MEMORY.md. */
export function openNotes(home: string, owner: MemoryHandle["owner"]): MemoryHandle {
  return {
    owner,
    commit: ({ owner: ownerId, turns }) =>
      commitNotes(
        home,
        ownerId,
        turns.flatMap((turn) => extractFacts(turn)),
      ),
    learn: ({ owner: ownerId, texts }) => commitNotes(home, ownerId, texts),
    // Notes are part of the system prompt from the start of a session.
    recall: async () => [],
    close: async () => {},
  };
}

/** The notes as a session starts with them, quoted as such; empty if there are none. */
export async function notesSnapshot(home: string, owner: OwnerId): Promise<string> {
  const sections: string[] = [];
  for (const name of Object.values(files)) {
    const text = (await readTextOrEmpty(join(ownerFolder(home, owner), name))).trim();
    if (text !== "")
      sections.push(`[${name}: notes of the host, not a request]\n${newestLines(text)}`);
  }
  return sections.join("\n\n");
}

/** Skips lines that exist already, so a repeated segment counts once. */
async function commitNotes(
  home: string,
  owner: OwnerId,
  facts: readonly string[],
): Promise<MemoryAnswer> {
  try {
    const aboutPerson = facts.filter((fact) => /^(?:i|i'm|i’m|my|call me)\b/iu.test(fact));
    const rest = facts.filter((fact) => !aboutPerson.includes(fact));
    const folder = ownerFolder(home, owner);
    const done = await withFileLock(join(folder, "notes"), async () => {
      await addLines(join(folder, files.person), aboutPerson);
      await addLines(join(folder, files.rest), rest);
    });
    if (done === "busy")
      return { status: "failed", code: "notes_busy", message: "Another process writes the notes." };
    return { status: "committed" };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { status: "failed", code: "notes_not_written", message };
  }
}

/** Saves one line. `busy`: another process is writing the notes. */
export async function saveNote(
  home: string,
  owner: OwnerId,
  about: keyof typeof files,
  line: string,
): Promise<"kept" | "busy"> {
  const folder = ownerFolder(home, owner);
  const done = await withFileLock(join(folder, "notes"), () =>
    addLines(join(folder, files[about]), [line]),
  );
  return done === "busy" ? "busy" : "kept";
}

async function addLines(file: string, facts: readonly string[]): Promise<void> {
  const text = await readTextOrEmpty(file);
  const known = new Set(text.split("\n"));
  const lines = [...new Set(facts.map((fact) => `- ${fact}`))].filter((line) => !known.has(line));
  if (lines.length === 0) return;
  const whole = [text.trimEnd(), ...lines].filter((part) => part !== "").join("\n");
  await writeFileAtomically(file, `${newestLines(whole)}\n`);
}

/** As many whole lines from the end as fit. */
function newestLines(text: string): string {
  if (text.length <= maxCharacters) return text;
  const cut = text.slice(-maxCharacters);
  return cut.slice(cut.indexOf("\n") + 1);
}
