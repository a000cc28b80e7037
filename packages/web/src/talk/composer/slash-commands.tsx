import { findCommand, commandUsage } from "@holdfast/protocol";
import { completeInput } from "@holdfast/client";

export interface Suggestion {
  /** The whole text that it would make. */
  readonly text: string;
  readonly usage: string;
  readonly help: string;
}

const maxSuggestions = 8;

/** How what is being typed may go on, while it looks like a command. */
export function suggestionsFor(typed: string): readonly Suggestion[] {
  if (!typed.startsWith("/") || typed.includes("\n")) return [];
  const values = completeInput(typed).values.filter((text) => text !== typed);
  return values.slice(0, maxSuggestions).map((text) => {
    const command = findCommand(text.slice(1).split(/\s/, 1)[0] ?? "");
    const usage = command === undefined ? text : commandUsage(command);
    const takesMore = command !== undefined && command.takes.kind !== "nothing";
    const isWhole = text.includes(" ") || !takesMore;
    return { text: isWhole ? text : `${text} `, usage, help: command?.help ?? "" };
  });
}
