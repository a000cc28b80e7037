import { commandNamed, usageOf } from "@holdfast/protocol";
import { completeTyped } from "@holdfast/client";

export interface Suggestion {
  /** The whole text that it would make. */
  readonly text: string;
  readonly usage: string;
  readonly help: string;
}

const most = 8;

/** How what is being typed may go on, while it looks like a command. */
export function suggestionsFor(typed: string): readonly Suggestion[] {
  if (!typed.startsWith("/") || typed.includes("\n")) return [];
  const values = completeTyped(typed).values.filter((text) => text !== typed);
  return values.slice(0, most).map((text) => {
    const command = commandNamed(text.slice(1).split(/\s/, 1)[0] ?? "");
    const usage = command === undefined ? text : usageOf(command);
    const takesMore = command !== undefined && command.takes.kind !== "nothing";
    const isWhole = text.includes(" ") || !takesMore;
    return { text: isWhole ? text : `${text} `, usage, help: command?.help ?? "" };
  });
}
