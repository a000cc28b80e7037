import { join } from "node:path";

import { readTextOrEmpty } from "../util/atomic-file.ts";

const defaultPersona = "You are a helpful assistant.";
const maxCharacters = 16_000;

/** Who the agent is: `persona.md` in the home, or a plain sentence. */
export async function readPersona(home: string): Promise<string> {
  const text = (await readTextOrEmpty(join(home, "persona.md"))).trim().slice(0, maxCharacters);
  return text === "" ? defaultPersona : text;
}
