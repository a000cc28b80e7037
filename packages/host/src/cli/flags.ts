import { parseArgs } from "node:util";
import { flagOf, settingNames } from "../ops/config/settings.ts";
import type { Arguments, Command } from "./command.ts";

export type ParsedFlags =
  | { readonly ok: true; readonly given: Arguments }
  | { readonly ok: false; readonly sentence: string };

/** Reads what stands behind a command's name: its own flags, one for each setting, `--help`, and words. */
export function parseFlags(
  args: readonly string[],
  command: Pick<Command, "flags" | "usage">,
): ParsedFlags {
  const settings = settingNames.map((name) => [flagOf(name), { type: "string" }] as const);
  const own = Object.entries(command.flags ?? {}).map(
    ([name, { type }]) => [name, { type }] as const,
  );
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: {
        ...Object.fromEntries(settings),
        ...Object.fromEntries(own),
        help: { type: "boolean", short: "h" },
      },
      allowPositionals: takesPositionals(command),
    });
    return { ok: true, given: { words: positionals, flags: values } };
  } catch (error) {
    // Its messages begin with the sentence that matters and go on with advice that does not.
    const [sentence] = error instanceof Error ? error.message.split(/\.\s|\n/) : [];
    return { ok: false, sentence: `${sentence ?? "The flags cannot be read"}.` };
  }
}

/** Whether anything but flags may stand behind its name. */
function takesPositionals({ usage }: Pick<Command, "usage">): boolean {
  return usage.some((line) => line.includes(" "));
}
