import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { done, failed, type Outcome, systemCode } from "../failure.ts";
import type { Setting, Surroundings } from "./setting.ts";
import {
  type Config,
  flagOf,
  type SettingName,
  settingNames,
  type Settled,
  settings,
  type Source,
  variableOf,
} from "./settings.ts";

export interface ConfigSources extends Surroundings {
  /** By flag name, without the dashes. */
  readonly flags: Readonly<Record<string, unknown>>;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

interface ConfigFile {
  readonly path: string;
  readonly values: Readonly<Record<string, unknown>>;
}

interface Found {
  readonly given: unknown;
  readonly source: Source;
}

/** Everything is read and checked here, once, before anything starts. */
export function readConfig(sources: ConfigSources): Outcome<Config> {
  const home = settle("home", findGiven("home", sources, undefined), sources);
  if (!home.ok) return home;
  const file = readConfigFile(join(String(home.value.value), "config.json"));
  if (!file.ok) return file;

  const config: Partial<Record<SettingName, Settled<unknown>>> = {};
  for (const name of settingNames) {
    const settled = settle(name, findGiven(name, sources, file.value), sources);
    if (!settled.ok) return settled;
    config[name] = settled.value;
  }
  // The loop went over every name, and each value passed its own schema.
  return done(config as Config);
}

function findGiven(
  name: SettingName,
  { flags, environment }: ConfigSources,
  file: ConfigFile | undefined,
): Found {
  const flag = flags[flagOf(name)];
  if (flag !== undefined)
    return { given: flag, source: { from: "flag", name: `--${flagOf(name)}` } };
  const variable = environment[variableOf(name)];
  // An empty variable is the shell's way of not setting one.
  if (variable !== undefined && variable !== "") {
    return { given: variable, source: { from: "environment", name: variableOf(name) } };
  }
  if (file !== undefined && Object.hasOwn(file.values, name)) {
    return { given: file.values[name], source: { from: "file", name, path: file.path } };
  }
  return { given: undefined, source: { from: "default" } };
}

function settle(
  name: SettingName,
  { given, source }: Found,
  surroundings: Surroundings,
): Outcome<Settled<unknown>> {
  const setting: Setting<unknown> = settings[name];
  if (source.from === "default") return done({ value: setting.fallback(surroundings), source });
  const parsed = setting.schema.safeParse(given);
  if (parsed.success) return done({ value: parsed.data, source });
  const shown = setting.traits?.includes("secret") ? "not usable" : JSON.stringify(given);
  return failed("config.invalid", `${inWords(source)} is ${shown}; it must be ${setting.allowed}.`);
}

function inWords(source: Exclude<Source, { from: "default" }>): string {
  switch (source.from) {
    case "flag":
      return `The flag ${source.name}`;
    case "environment":
      return `The environment variable ${source.name}`;
    case "file":
      return `"${source.name}" in ${source.path}`;
  }
}

function readConfigFile(path: string): Outcome<ConfigFile> {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    const code = systemCode(error);
    // ENOTDIR is the home's own trouble, and is told where the home is made.
    if (code === "ENOENT" || code === "ENOTDIR") return done({ path, values: {} });
    return failed("config.invalid", `The settings in ${path} cannot be read (${code}).`);
  }
  const values = parseObject(text);
  if (values === undefined) {
    return failed("config.invalid", `${path} must hold one JSON object, like {"port": 8787}.`);
  }
  for (const name of Object.keys(values)) {
    const sentence = objectionTo(name, path);
    if (sentence !== undefined) return failed("config.invalid", sentence);
  }
  return done({ path, values });
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    return z.record(z.string(), z.unknown()).safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

function objectionTo(name: string, path: string): string | undefined {
  const inFile = settingNames.filter((known) => !settings[known].traits?.includes("not-in-file"));
  if (inFile.some((known) => known === name)) return undefined;
  return `"${name}" in ${path} is not a setting that the file can hold; it can hold ${inFile.join(", ")}.`;
}
