import {
  flagOf,
  type SettingName,
  settingNames,
  settings,
  variableOf,
} from "../ops/config/settings.ts";
import type { Command } from "./command.ts";

/** What leads a command to a host, or makes one here. */
const connectionSettings: readonly SettingName[] = ["home", "store", "url", "token", "model"];

/** How a command is used, by example. */
export function describeCommand(command: Command): string {
  const { usage, about, flags = {}, examples } = command;
  const own = Object.entries(flags).map(([name, { value, about: meaning }]) => {
    const typed = value === undefined ? `--${name}` : `--${name} <${value}>`;
    return `  ${typed.padEnd(24)} ${meaning}`;
  });
  return [
    ...usage.map((line, index) => `${index === 0 ? "Usage: " : "       "}holdfast ${line}`),
    "",
    about,
    ...section("Flags:", own),
    ...section("Examples:", examples.flatMap(showExample)),
    ...section(settingsTitle(command.settings), settingRows(command.settings)),
  ].join("\n");
}

function section(title: string, rows: readonly string[]): string[] {
  return rows.length === 0 ? [] : ["", title, ...rows];
}

function showExample([typed, meaning]: readonly [string, string]): string[] {
  return [`  ${typed}`, `      ${meaning}`];
}

function settingsTitle(which: Command["settings"]): string {
  const where = "as a flag, in the environment, or in config.json in the home:";
  return which === "host" ? `Settings, ${where}` : `Where the host is, ${where}`;
}

/** The settings that a command's help lists. */
export function settingsOf(which: Command["settings"]): readonly SettingName[] {
  if (which === "none") return [];
  return which === "host" ? settingNames : connectionSettings;
}

function settingRows(which: Command["settings"]): string[] {
  const names = settingsOf(which);
  const widest = Math.max(...names.map((name) => flagOf(name).length));
  const widestVariable = Math.max(...names.map((name) => variableOf(name).length));
  return names.map((name) => {
    const { about, fallbackInWords } = settings[name];
    const flag = `--${flagOf(name).padEnd(widest)}`;
    return `  ${flag} ${variableOf(name).padEnd(widestVariable)}  ${about} (${fallbackInWords})`;
  });
}
