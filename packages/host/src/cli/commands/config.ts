import { nearestName, similarNames } from "@holdfast/client";
import { changeSetting } from "../../ops/config/change-setting.ts";
import {
  type Config,
  type SettingName,
  settingNames,
  settings,
  type Source,
} from "../../ops/config/settings.ts";
import { configSchema, settingsTable } from "../../ops/config/describe-settings.ts";
import { isSecret } from "../../ops/config/config-files.ts";
import { readConfig } from "../../ops/config/read-config.ts";
import { type Command, exit, hasFlag, type Terminal } from "../command.ts";
import { cleanJson, cleanLine } from "../screen/text.ts";
import { padTo, widthOf } from "../screen/width.ts";
import { createPaint } from "../screen/paint.ts";
import { configStrings as texts } from "../strings/host.ts";
import { programStrings } from "../strings/program.ts";

export const config: Command = {
  usage: [
    "config",
    "config get <name>",
    "config set <name> <value>",
    "config unset <name>",
    "config schema",
    "config table",
  ],
  about: texts.about,
  flags: { json: { type: "boolean", about: texts.flags.json } },
  examples: [
    ["holdfast config", texts.examples.show],
    ["holdfast config set model anthropic/claude-sonnet-4-5", texts.examples.set],
    ["holdfast config set token a-long-word", texts.examples.secret],
    ["holdfast config schema > config.schema.json", texts.examples.schema],
  ],
  settings: "none",
  async run(given, terminal) {
    const [action = "show", name, ...value] = given.words;
    if (action === "schema" || action === "table") {
      const table = settingsTable().join("\n");
      terminal.print(action === "table" ? table : JSON.stringify(configSchema(), null, 2));
      return exit.done;
    }
    const loaded = readConfig({ ...terminal, flags: given.flags });
    if (!loaded.ok) {
      terminal.printError(loaded.failure.message);
      return exit.failed;
    }
    if (action === "show")
      return show(loaded.value, terminal, hasFlag(given, "json") ? "json" : "table");
    if (action !== "get" && action !== "set" && action !== "unset")
      return misuse(
        terminal,
        programStrings.unknownAction(
          "config",
          cleanLine(action),
          similarNames(action, actionNames),
          actionNames,
        ),
      );
    if (name === undefined) return misuse(terminal, texts.settingMissing(action));
    const setting = findSetting(name);
    if (setting === undefined) {
      const nearest = nearestName(name, settingNames) ?? "model";
      return misuse(terminal, texts.unknownSetting(cleanLine(name), nearest));
    }
    if (action === "get") {
      terminal.print(formatValue(loaded.value, setting));
      return exit.done;
    }
    if (action === "set" && value.length === 0)
      return misuse(terminal, texts.mustBe(setting, settings[setting].allowed));
    const text = action === "set" ? value.join(" ") : undefined;
    const changed = await changeSetting(loaded.value.home.value, setting, text);
    if (!changed.ok) return misuse(terminal, changed.failure.message);
    terminal.print(texts.changed[action](setting, changed.value));
    return exit.done;
  },
};

const actionNames = ["get", "set", "unset", "schema", "table"];

function findSetting(name: string): SettingName | undefined {
  return settingNames.find((candidate) => candidate === name);
}

function misuse(terminal: Terminal, sentence: string): number {
  terminal.printError(sentence);
  return exit.misuse;
}

/** A value as it may be shown. */
function formatValue(values: Config, name: SettingName): string {
  const { value, source } = values[name];
  if (source.from === "default" && value === undefined) return settings[name].fallbackInWords;
  if (isSecret(name) && source.from !== "default") return texts.hidden;
  return typeof value === "string" ? cleanLine(value) : cleanJson(value);
}

function formatSource(source: Source): string {
  switch (source.from) {
    case "default":
    case "page":
      return source.from;
    case "flag":
    case "environment":
      return source.name;
    case "file":
      return source.path;
  }
}

function show(values: Config, terminal: Terminal, style: "json" | "table"): number {
  const rows = settingNames.map((name) => ({
    name,
    value: formatValue(values, name),
    source: formatSource(values[name].source),
  }));
  if (style === "json") {
    terminal.print(cleanJson(rows));
    return exit.done;
  }
  const paint = createPaint(terminal.output, terminal.environment);
  const widthOfColumn = (column: "name" | "source"): number =>
    Math.max(...rows.map((row) => widthOf(row[column])));
  const [nameWidth, sourceWidth] = [widthOfColumn("name"), widthOfColumn("source")];
  // Values can be long, so they come last.
  for (const { name, value, source } of rows)
    terminal.print(
      `${padTo(name, nameWidth)}  ${paint("dim", padTo(source, sourceWidth))}  ${value}`,
    );
  return exit.done;
}
