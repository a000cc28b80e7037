import { join } from "node:path";
import { done, failed, type Outcome } from "../../util/outcome.ts";
import { type ConfigFile, readPlainFile, readSecretFile } from "./config-files.ts";
import type { Setting, DefaultContext } from "./setting.ts";
import {
  type Config,
  flagOf,
  type SettingName,
  settingNames,
  type ConfigValue,
  settings,
  type Source,
  variableOf,
} from "./settings.ts";

export interface ConfigSources extends DefaultContext {
  /** By flag name, without the dashes. */
  readonly flags: Readonly<Record<string, unknown>>;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

interface FoundValue {
  readonly raw: unknown;
  readonly source: Source;
}

/** Both are in the home. A secret may be in either; `config set` writes it to the one only its owner can read. */
export const plainFile = "config.json";
export const secretFile = "config.secret.json";

/** Reads and validates all settings once, before anything starts. */
export function readConfig(sources: ConfigSources): Outcome<Config> {
  const home = parseSetting("home", findGiven("home", sources, []), sources);
  if (!home.ok) return home;
  const secret = readSecretFile(join(String(home.value.value), secretFile));
  if (!secret.ok) return secret;
  const plain = readPlainFile(join(String(home.value.value), plainFile));
  if (!plain.ok) return plain;
  const files = [secret.value, plain.value];

  const config: Partial<Record<SettingName, ConfigValue<unknown>>> = {};
  for (const name of settingNames) {
    const settled = parseSetting(name, findGiven(name, sources, files), sources);
    if (!settled.ok) return settled;
    config[name] = settled.value;
  }
  // The loop covered every name, and each value passed its own schema.
  return done(config as Config);
}

function findGiven(
  name: SettingName,
  { flags, environment }: ConfigSources,
  files: readonly ConfigFile[],
): FoundValue {
  const flag = flags[flagOf(name)];
  if (flag !== undefined) return { raw: flag, source: { from: "flag", name: `--${flagOf(name)}` } };
  const variable = environment[variableOf(name)];
  // In a shell, an empty variable means an unset one.
  if (variable !== undefined && variable !== "") {
    return { raw: variable, source: { from: "environment", name: variableOf(name) } };
  }
  for (const { values, path } of files)
    if (Object.hasOwn(values, name))
      return { raw: values[name], source: { from: "file", name, path } };
  return { raw: undefined, source: { from: "default" } };
}

function parseSetting(
  name: SettingName,
  { raw: given, source }: FoundValue,
  surroundings: DefaultContext,
): Outcome<ConfigValue<unknown>> {
  const setting: Setting<unknown> = settings[name];
  if (source.from === "default" || source.from === "page")
    return done({ value: setting.fallback(surroundings), source });
  const parsed = setting.schema.safeParse(given);
  if (parsed.success) return done({ value: parsed.data, source });
  const described = setting.traits?.includes("secret") ? "not usable" : JSON.stringify(given);
  return failed(
    "config.invalid",
    `${describeSource(source)} is ${described}; it must be ${setting.allowed}.`,
  );
}

function describeSource(source: Exclude<Source, { from: "default" | "page" }>): string {
  switch (source.from) {
    case "flag":
      return `The flag ${source.name}`;
    case "environment":
      return `The environment variable ${source.name}`;
    case "file":
      return `"${source.name}" in ${source.path}`;
  }
}
