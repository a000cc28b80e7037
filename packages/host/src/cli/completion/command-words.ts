import { z } from "zod";
import { flagOf, type SettingName, settingNames, settings } from "../../ops/config/settings.ts";
import type { Command } from "../command.ts";
import { settingsOf } from "../help.ts";

/** What can be offered in one place of a line: certain words, or what a host or the disk knows. */
export type CompletionSource =
  | { readonly kind: "words"; readonly words: readonly string[] }
  | { readonly kind: "session" | "model" | "file" | "nothing" };

export interface FlagSpec {
  readonly name: string;
  readonly about: string;
  /** What stands behind it; `null` where nothing does. */
  readonly source: CompletionSource | null;
}

/** A command as a shell has to know it. */
export interface CommandCompletion {
  readonly name: string;
  readonly summary: string;
  readonly flags: readonly FlagSpec[];
  /** What may follow the words in the key: `""` the command's name, `"show"` the word behind it. */
  readonly positions: ReadonlyMap<string, CompletionSource>;
}

/** What a label in a usage line or behind a flag stands for. */
const labelSources: Readonly<Record<string, CompletionSource["kind"]>> = {
  session: "session",
  "id or title": "session",
  model: "model",
  file: "file",
  "backup folder": "file",
};

export function completionOf(name: string, summary: string, command: Command): CommandCompletion {
  const own = Object.entries(command.flags ?? {}).map(([flag, { type, value, about }]) => ({
    name: flag,
    about,
    source: type === "boolean" ? null : sourceForLabel(value ?? ""),
  }));
  const shared = settingsOf(command.settings).map((setting) => ({
    name: flagOf(setting),
    about: settings[setting].about,
    source: sourceForSetting(setting),
  }));
  const named = new Set(own.map((flag) => flag.name));
  const help = { name: "help", about: "how it is used, by example", source: null };
  return {
    name,
    summary,
    flags: [...own, ...shared.filter((flag) => !named.has(flag.name)), help],
    positions: positionsIn(command.usage, name),
  };
}

function sourceForLabel(label: string): CompletionSource {
  if (label.includes("|")) return { kind: "words", words: label.split("|") };
  const kind = Object.hasOwn(labelSources, label) ? labelSources[label] : undefined;
  return kind === undefined || kind === "words" ? { kind: "nothing" } : { kind };
}

function sourceForSetting(name: SettingName): CompletionSource {
  const { schema } = settings[name];
  if (schema instanceof z.ZodEnum) return { kind: "words", words: schema.options.map(String) };
  if (name === "model") return { kind: "model" };
  return { kind: name === "home" || name === "store" ? "file" : "nothing" };
}

/** Read from the lines that the help shows: `sessions show <session>` offers `show`, and then sessions. */
function positionsIn(usage: readonly string[], name: string): Map<string, CompletionSource> {
  const follows = new Map<string, CompletionSource>();
  const acts: string[] = [];
  for (const line of usage) {
    const found = /^\S+ (?:([a-z|]+)(?: |$))?(?:<([^<>]+)>)?/.exec(line);
    const [, act = "", label] = found ?? [];
    for (const each of act === "" ? [] : act.split("|")) {
      acts.push(each);
      if (label !== undefined) follows.set(each, sourceForPosition(name, label));
    }
    if (act === "" && label !== undefined) follows.set("", sourceForPosition(name, label));
  }
  if (acts.length > 0) follows.set("", { kind: "words", words: acts });
  return follows;
}

function sourceForPosition(name: string, label: string): CompletionSource {
  if (name === "config" && label === "name") return { kind: "words", words: settingNames };
  return sourceForLabel(label);
}
