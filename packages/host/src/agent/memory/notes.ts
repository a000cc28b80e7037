import { join } from "node:path";
import type { OwnerId } from "@holdfast/protocol";
import type { MemoryAnswer, MemoryHandle } from "@holdfast/engine";
import { readTextOrEmpty, writeFileAtomically, withFileLock } from "../../util/atomic-file.ts";
import { sortFacts } from "./facts.ts";
import { ownerFolder } from "./owner-folder.ts";
import { openWaitingFacts } from "./waiting-facts.ts";

const files = { person: "USER.md", rest: "MEMORY.md" } as const;
/** Per file. Older lines are cut from the top. */
const maxCharacters = 8_000;

/** Notes that a person can read and edit: about themselves in USER.md, the rest in MEMORY.md. */
export function openNotes(home: string, owner: MemoryHandle["owner"]): MemoryHandle {
  const waiting = openWaitingFacts(home);
  return {
    owner,
    async commit(segment) {
      const { own, doubtful } = sortFacts(segment);
      if ((await waiting.add(segment.owner, "notes", doubtful)) === "busy") return busy;
      return commitNotes(
        home,
        segment.owner,
        own.map(({ text }) => text),
      );
    },
    async learn({ owner: ownerId, session, texts, taint = [] }) {
      if (taint.length === 0) return commitNotes(home, ownerId, texts);
      const added = texts.map((text) => ({ text, session, at: Date.now(), after: taint }));
      const kept = await waiting.add(ownerId, "notes", added);
      return kept === "busy" ? busy : { status: "committed" };
    },
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
    return done === "busy" ? busy : { status: "committed" };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { status: "failed", code: "notes_not_written", message };
  }
}

const busy: MemoryAnswer = {
  status: "failed",
  code: "notes_busy",
  message: "Another process writes the notes.",
};

/** Keeps a note that a person has approved. */
export async function keepNote(
  home: string,
  owner: OwnerId,
  text: string,
): Promise<"kept" | "busy"> {
  const { status } = await commitNotes(home, owner, [text]);
  return status === "committed" ? "kept" : "busy";
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
