import { type SessionMode, sessionMode } from "@holdfast/protocol";
import { type Arguments, textFlag } from "./command.ts";

export const modeFlag = {
  type: "string",
  value: sessionMode.options.join("|"),
  about: "what runs without asking: see /mode",
} as const;

export function modeOfFlag(given: Arguments): SessionMode | undefined {
  return sessionMode.safeParse(textFlag(given, "mode")).data;
}

/** What to tell a person who named a mode that there is not, or `null`. */
export function invalidModeText(given: Arguments): string | null {
  if (textFlag(given, "mode") === undefined || modeOfFlag(given) !== undefined) return null;
  return `--mode takes one of ${sessionMode.options.join(", ")}.`;
}
