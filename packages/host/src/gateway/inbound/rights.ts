import { parseInput, type ParsedInput } from "@holdfast/client";

import type { AccessRights } from "./chat-access.ts";

export function mayUseCommand({ commands }: AccessRights, name: string): boolean {
  return commands === "all" || commands.includes(name);
}

/**
 * What a text is from somebody with these rights. A command that they may not use is no command: what a program passes on may be
 * anybody's words, and they reach the model just as they are.
 */
export function parseAllowedInput(rights: AccessRights, text: string): ParsedInput {
  if (text.trim() !== "" && rights.commands.length === 0) return { kind: "message", text };
  const typed = parseInput(text);
  const name = commandNameOf(typed);
  return name === null || mayUseCommand(rights, name) ? typed : { kind: "message", text };
}

function commandNameOf(typed: ParsedInput): string | null {
  switch (typed.kind) {
    case "nothing":
    case "message":
      return null;
    case "command":
      return typed.invocation.name;
    case "unknown":
    case "misused":
      return typed.name.toLowerCase();
  }
}
