import { nearestName } from "./nearest.ts";
import {
  type CommandName,
  findCommand,
  commandNames,
  type commands,
  commandUsage,
} from "@holdfast/protocol";

/** A command with what stands behind it: trimmed, and checked as far as its own shape goes. */
export interface Invocation {
  readonly name: CommandName;
  readonly argument: string;
}

/** What a typed text is. */
export type ParsedInput =
  | { readonly kind: "nothing" }
  | { readonly kind: "message"; readonly text: string }
  | { readonly kind: "command"; readonly invocation: Invocation }
  /** It looks like a command and is none: `nearest` may have been meant. */
  | { readonly kind: "unknown"; readonly name: string; readonly nearest: CommandName }
  | { readonly kind: "misused"; readonly name: CommandName; readonly sentence: string };

/**
 * A text that begins with a slash is a command; `//text` is the message `/text`. Anything else is a message, just as
 * it was typed.
 */
export function parseInput(text: string): ParsedInput {
  if (text.trim() === "") return { kind: "nothing" };
  if (!text.startsWith("/")) return { kind: "message", text };
  if (text.startsWith("//")) return { kind: "message", text: text.slice(1) };
  const [, typed = "", argument = ""] = /^\/(\S*)\s*([\s\S]*)$/.exec(text) ?? [];
  const command = findCommand(typed);
  if (command === undefined)
    return { kind: "unknown", name: typed, nearest: nearestCommand(typed) };
  return checkArgument(command, argument.trim());
}

/** The text that is sent as this message, whatever it begins with. */
export function escapeMessage(message: string): string {
  return message.startsWith("/") ? `/${message}` : message;
}

function nearestCommand(typed: string): CommandName {
  const name = nearestName(typed, commandNames) ?? "";
  return findCommand(name)?.name ?? "help";
}

function checkArgument(command: (typeof commands)[number], argument: string): ParsedInput {
  const { name, takes } = command;
  const done: ParsedInput = { kind: "command", invocation: { name, argument } };
  const misused = (why: string): ParsedInput => ({
    kind: "misused",
    name,
    sentence: `${why} It is used like this: ${commandUsage(command)}`,
  });
  switch (takes.kind) {
    case "nothing":
      return argument === "" ? done : misused(`/${name} takes nothing behind it.`);
    case "words":
      return takes.required && argument === "" ? misused(`/${name} needs words.`) : done;
    case "count": {
      const isCount = /^[1-9]\d{0,8}$/.test(argument) && Number(argument) <= takes.most;
      if (argument === "" || isCount) return done;
      return misused(`/${name} takes a number from 1 to ${takes.most}.`);
    }
    case "choice": {
      const choice = argument.toLowerCase();
      if (choice === "" || takes.choices.includes(choice))
        return { kind: "command", invocation: { name, argument: choice } };
      return misused(`/${name} takes one of ${takes.choices.join(", ")}.`);
    }
  }
}
