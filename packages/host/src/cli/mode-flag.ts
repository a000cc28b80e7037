import { type SessionMode, sessionMode } from "@holdfast/protocol";
import { type Arguments, textFlag } from "./command.ts";
import { programStrings } from "./strings/program.ts";

export const modeFlag = {
  type: "string",
  value: sessionMode.options.join("|"),
  about: programStrings.flags.mode,
} as const;

export function modeOfFlag(given: Arguments): SessionMode | undefined {
  return sessionMode.safeParse(textFlag(given, "mode")).data;
}

/** What to tell a person who named a mode that there is not, or `null`. */
export function invalidModeText(given: Arguments): string | null {
  if (textFlag(given, "mode") === undefined || modeOfFlag(given) !== undefined) return null;
  return programStrings.invalidMode(sessionMode.options);
}
