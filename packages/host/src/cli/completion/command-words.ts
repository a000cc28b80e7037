import { z } from "zod";
import { flagOf, type SettingName, settingNames, settings } from "../../ops/config/settings.ts";
import type { Command } from "../command.ts";
import { settingsOf } from "../help.ts";

/** What can be offered in one place of a line: certain words, or what a host or the disk knows. */
export type Offer =
  | { readonly kind: "words"; readonly words: readonly string[] }
  | { readonly kind: "session" | "model" | "file" | "nothing" };

export interface FlagWords {
  readonly name: string;
  readonly about: string;
  /** What stands behind it; `null` where nothing does. */
  readonly takes: Offer | null;
}

/** A command as a shell has to know it. */
export interface CommandWords {
  readonly name: string;
  readonly summary: string;
  readonly flags: readonly FlagWords[];
  /** What may follow the words in the key: `""` the command's name, `"show"` the word behind it. */
  readonly follows: ReadonlyMap<string, Offer>;
}

/** What a label in a usage line or behind a flag stands for. */
const labels: Readonly<Record<string, Offer["kind"]>> = {
  session: "session",
  "id or title": "session",
  model: "model",
  file: "file",
  "backup folder": "file",
};

export function commandWords(name: string, summary: string, command: Command): CommandWords {
  const own = Object.entries(command.flags ?? {}).map(([flag, { type, value, about }]) => ({
    name: flag,
    about,
    takes: type === "boolean" ? null : offerFor(value ?? ""),
  }));
  const shared = settingsOf(command.settings).map((setting) => ({
    name: flagOf(setting),
    about: settings[setting].about,
    takes: settingOffer(setting),
  }));
  const named = new Set(own.map((flag) => flag.name));
  const help = { name: "help", about: "how it is used, by example", takes: null };
  return {
    name,
    summary,
    flags: [...own, ...shared.filter((flag) => !named.has(flag.name)), help],
    follows: followsIn(command.usage, name),
  };
}

function offerFor(label: string): Offer {
  if (label.includes("|")) return { kind: "words", words: label.split("|") };
  const kind = Object.hasOwn(labels, label) ? labels[label] : undefined;
  return kind === undefined || kind === "words" ? { kind: "nothing" } : { kind };
}

function settingOffer(name: SettingName): Offer {
  const { schema } = settings[name];
  if (schema instanceof z.ZodEnum) return { kind: "words", words: schema.options.map(String) };
  if (name === "model") return { kind: "model" };
  return { kind: name === "home" || name === "store" ? "file" : "nothing" };
}

/** Read from the lines that the help shows: `sessions show <session>` offers `show`, and then sessions. */
function followsIn(usage: readonly string[], name: string): Map<string, Offer> {
  const follows = new Map<string, Offer>();
  const acts: string[] = [];
  for (const line of usage) {
    const found = /^\S+ (?:([a-z|]+)(?: |$))?(?:<([^<>]+)>)?/.exec(line);
    const [, act = "", label] = found ?? [];
    for (const each of act === "" ? [] : act.split("|")) {
      acts.push(each);
      if (label !== undefined) follows.set(each, positionOffer(name, label));
    }
    if (act === "" && label !== undefined) follows.set("", positionOffer(name, label));
  }
  if (acts.length > 0) follows.set("", { kind: "words", words: acts });
  return follows;
}

function positionOffer(name: string, label: string): Offer {
  if (name === "config" && label === "name") return { kind: "words", words: settingNames };
  return offerFor(label);
}
