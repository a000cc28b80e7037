import { join } from "node:path";
import { z } from "zod";

import { readTextOrEmpty, writeFileAtomically } from "../../util/atomic-file.ts";

export const noteFiles = { person: "USER.md", rest: "MEMORY.md" } as const;
export type NoteFile = keyof typeof noteFiles;
export const noteFileKinds = ["person", "rest"] as const satisfies readonly NoteFile[];

/** A longer line stays in its file and is no note. */
const maxNoteCharacters = 4_000;

/** The note on a line; `null` for headings, empty lines and rules. */
function noteOn(line: string): string | null {
  const text = line
    .trim()
    .replace(/^[-*+]\s+/u, "")
    .trim();
  const isNote = /[\p{L}\p{N}]/u.test(text) && !/^#{1,6}\s/u.test(text);
  return isNote && text.length <= maxNoteCharacters ? text : null;
}

export function notesIn(text: string): readonly string[] {
  return [...new Set(text.split("\n").flatMap((line) => noteOn(line) ?? []))];
}

/** Whether a text is read back as one note if it is written on a line of its own. A heading is not, nor a lone sign. */
export function fitsLine(text: string): boolean {
  const [read, ...rest] = notesIn(lineOf(text));
  return read === text && rest.length === 0;
}

function lineOf(text: string): string {
  return `- ${text}`;
}

/** A note with the texts that it had before. */
export interface WrittenNote {
  readonly text: string;
  readonly versions: readonly { readonly text: string }[];
}

/** The file with exactly these notes; headings, order and spacing of what stays are kept. */
export function withNotes(file: string, notes: readonly WrittenNote[]): string {
  const wanted = new Set(notes.map(({ text }) => text));
  const present = new Set(notesIn(file).filter((note) => wanted.has(note)));
  const renamed = new Map<string, string>();
  for (const { text, versions } of notes)
    if (!present.has(text)) for (const older of versions) renamed.set(older.text, text);
  const lines = file.split("\n").flatMap((line) => {
    const note = noteOn(line);
    if (note === null || wanted.has(note)) return [line];
    const text = renamed.get(note);
    if (text === undefined || present.has(text)) return [];
    present.add(text);
    const changed = line.replace(note, () => text);
    return [noteOn(changed) === text ? changed : lineOf(text)];
  });
  const added = notes.filter(({ text }) => !present.has(text)).map(({ text }) => lineOf(text));
  const whole = [lines.join("\n").trimEnd(), ...added].filter((part) => part !== "").join("\n");
  return whole === "" ? "" : `${whole}\n`;
}

const syncedNotes = z.looseObject({
  person: z.array(z.string()),
  rest: z.array(z.string()),
});
export type SyncedNotes = Readonly<Record<NoteFile, readonly string[]>>;

const syncedFile = "synced.json";

/** The notes that the files had when the host last read or wrote them; `null` if it never did. */
export async function readSynced(folder: string): Promise<SyncedNotes | null> {
  const text = await readTextOrEmpty(join(folder, syncedFile));
  return text === "" ? null : syncedNotes.parse(JSON.parse(text));
}

export async function writeSynced(folder: string, notes: SyncedNotes): Promise<void> {
  await writeFileAtomically(join(folder, syncedFile), `${JSON.stringify(notes, null, 2)}\n`);
}
