export interface CommandFlag {
  readonly name: string;
  readonly takes: "a value" | "nothing";
}

/** All commands and their flags, from the completion script for fish. */
export function commandsIn(script: string): Map<string, CommandFlag[]> {
  const flag = /^complete .*__fish_seen_subcommand_from (\S+)' -l (\S+) -d .*?'(?: (-x|-r).*)?$/gm;
  const commands = new Map<string, CommandFlag[]>();
  for (const [, command = "", name = "", value] of script.matchAll(flag)) {
    const takes = value === undefined ? "nothing" : "a value";
    commands.set(command, [...(commands.get(command) ?? []), { name, takes }]);
  }
  return commands;
}

/** The usage lines of a help text, without the names of placeholders. */
export function usagesIn(help: string): string[] {
  const [usage = ""] = help.split("\n\n");
  return [...usage.matchAll(/holdfast (.+)$/gm)].map(([, line = ""]) =>
    line.replaceAll(/<[^<>]+>/g, "<>").replaceAll(/\[\w+\]/g, "[]"),
  );
}

export interface SettingRow {
  readonly key: string;
  readonly variable: string;
  readonly flag: string;
}

/** The rows of the settings table. */
export function settingsIn(table: string): SettingRow[] {
  const row = /^\| (.+?) \| `(\w+)` \| `--(\S+)` \|/gm;
  return [...table.matchAll(row)].map(([, key = "", variable = "", flag = ""]) => ({
    key: key.replaceAll("`", ""),
    variable,
    flag,
  }));
}
