import type { Json } from "@holdfast/protocol";

/** Characters that need no quotes anywhere, so that a word of them can stand for itself. */
const plainWord = /^[\w@%+=:,./-]+$/;

/** The command of a call as somebody would type it; `null` if the call has none. */
export function commandOf(input: Json): string | null {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return null;
  const { command } = input;
  if (typeof command === "string") return command;
  if (!Array.isArray(command)) return null;
  return command
    .map((word) => quoteWord(typeof word === "string" ? word : JSON.stringify(word)))
    .join(" ");
}

function quoteWord(word: string): string {
  return plainWord.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
