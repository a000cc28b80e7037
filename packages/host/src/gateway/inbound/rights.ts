import { parseTyped, type Typed } from "@holdfast/client";

import type { Rights } from "./chat-access.ts";

export function mayUse({ commands }: Rights, name: string): boolean {
  return commands === "all" || commands.includes(name);
}

/**
 * What a text is from somebody with these rights. A command that they may not use is no command: what a program passes on may be
 * anybody's words, and they reach the model just as they are.
 */
export function typedBy(rights: Rights, text: string): Typed {
  if (text.trim() !== "" && rights.commands.length === 0) return { kind: "message", text };
  const typed = parseTyped(text);
  const name = nameOf(typed);
  return name === null || mayUse(rights, name) ? typed : { kind: "message", text };
}

function nameOf(typed: Typed): string | null {
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
