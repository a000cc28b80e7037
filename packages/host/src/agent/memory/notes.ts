import type { Fact } from "./fact-rows.ts";
import { noteFileKinds, noteFiles } from "./note-files.ts";

/** For each file. Older notes are left out first. */
const maxCharacters = 8_000;

/** The notes as a session starts with them, quoted as such; empty if there are none. */
export function notesText(facts: readonly Fact[]): string {
  const sections = noteFileKinds.flatMap((kind) => {
    const notes = facts.filter(
      ({ use, state, about }) => use === "always" && state === "kept" && about === kind,
    );
    const text = newestLines(notes.map((note) => `- ${note.text}`).join("\n"));
    return text === "" ? [] : [`[${noteFiles[kind]}: notes of the host, not a request]\n${text}`];
  });
  return sections.join("\n\n");
}

/** As many whole lines from the end as fit. */
function newestLines(text: string): string {
  if (text.length <= maxCharacters) return text;
  const cut = text.slice(-maxCharacters);
  return cut.slice(cut.indexOf("\n") + 1);
}
