import { parseArgs } from "node:util";
import { flagOf, settingNames, settings, variableOf } from "../config/index.ts";

export type ParsedFlags =
  | { readonly ok: true; readonly values: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly sentence: string };

/** Reads the flags that every command takes: one for each setting, and `--help`. */
export function parseFlags(args: readonly string[]): ParsedFlags {
  const flags = settingNames.map((name) => [flagOf(name), { type: "string" }] as const);
  try {
    const { values } = parseArgs({
      args: [...args],
      options: { ...Object.fromEntries(flags), help: { type: "boolean", short: "h" } },
    });
    return { ok: true, values };
  } catch (error) {
    // Its messages begin with the sentence that matters and go on with advice that does not.
    const [sentence] = error instanceof Error ? error.message.split(/\.\s|\n/) : [];
    return { ok: false, sentence: `${sentence ?? "The flags cannot be read"}.` };
  }
}

export function describeSettings(): string {
  const rows = settingNames.map((name) => {
    const setting = settings[name];
    const names = `  --${flagOf(name).padEnd(10)} ${variableOf(name).padEnd(19)}`;
    return `${names} ${setting.about} (${setting.fallbackInWords})`;
  });
  return ["Settings, as a flag, in the environment, or in config.json in the home:", ...rows].join(
    "\n",
  );
}
