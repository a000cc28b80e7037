import { join } from "node:path";

import { readText } from "../util/atomic-file.ts";

const usual = "You are a helpful assistant.";
const mostCharacters = 16_000;

/** Who the agent is: `persona.md` in the home, or a plain sentence. */
export async function readPersona(home: string): Promise<string> {
  const text = (await readText(join(home, "persona.md"))).trim().slice(0, mostCharacters);
  return text === "" ? usual : text;
}
