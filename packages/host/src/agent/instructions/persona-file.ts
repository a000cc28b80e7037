import { join } from "node:path";
import { maxPersonaCharacters } from "@holdfast/protocol";
import { z } from "zod";

import { readTextOrEmpty, writeFileAtomically } from "../../util/atomic-file.ts";
import { tidyText } from "./text-rows.ts";

const syncedText = z.looseObject({ text: z.string() });
const maxFileCharacters = 16_000;

/** What `persona.md` says, compared with what the host last read or wrote there. */
export type PersonaFileState =
  /** There is none, or it is empty. */
  | { readonly kind: "missing" }
  | { readonly kind: "same"; readonly text: string }
  | { readonly kind: "edited"; readonly text: string }
  /** Too long for a row: used as it is. */
  | { readonly kind: "long"; readonly text: string };

export interface PersonaFile {
  read(): Promise<PersonaFileState>;
  /** The host and the file agree on this text. Written last: until then, reading it is repeated. */
  settle(text: string): Promise<void>;
  write(text: string): Promise<void>;
}

/** `persona.md` of the home, for those who edit it by hand. */
export function openPersonaFile(home: string): PersonaFile {
  const file = join(home, "persona.md");
  const synced = join(home, "persona-synced.json");

  async function readSynced(): Promise<string | null> {
    const text = await readTextOrEmpty(synced);
    return text === "" ? null : syncedText.parse(JSON.parse(text)).text;
  }

  return {
    async read() {
      const text = tidyText(await readTextOrEmpty(file)).slice(0, maxFileCharacters);
      if (text === "") return { kind: "missing" };
      if (text.length > maxPersonaCharacters) return { kind: "long", text };
      return { kind: (await readSynced()) === text ? "same" : "edited", text };
    },
    async settle(text) {
      if ((await readSynced()) !== text)
        await writeFileAtomically(synced, `${JSON.stringify({ text })}\n`);
    },
    write: (text) => writeFileAtomically(file, `${text}\n`),
  };
}
