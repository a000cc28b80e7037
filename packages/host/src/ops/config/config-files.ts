import { chmodSync, readFileSync, statSync } from "node:fs";
import { z } from "zod";
import { done, failed, type Outcome, systemCode } from "../../util/outcome.ts";
import { type SettingName, settingNames, settings } from "./settings.ts";

/** A settings file as read. */
export interface ConfigFile {
  readonly path: string;
  readonly values: Readonly<Record<string, unknown>>;
}

/** For editors: names the schema, and sets nothing. */
const schemaKey = "$schema";

export function isSecret(name: SettingName): boolean {
  return settings[name].traits?.includes("secret") === true;
}

/** Whether the text of a settings file has a secret in it; also if nobody can tell. */
export function hasSecretSettings(text: string): boolean {
  const values = parseObject(text);
  return values === undefined || settingNames.some((name) => isSecret(name) && name in values);
}

export function isInFile(name: SettingName): boolean {
  return settings[name].traits?.includes("not-in-file") !== true;
}

export function readPlainFile(path: string): Outcome<ConfigFile> {
  return readFileOf(path, settingNames.filter(isInFile));
}

/** Restricts the file to its owner, in case it was not. */
export function readSecretFile(path: string): Outcome<ConfigFile> {
  const file = readFileOf(path, settingNames.filter(isSecret));
  if (file.ok && Object.keys(file.value.values).length > 0) closeToOthers(path);
  return file;
}

function closeToOthers(path: string): void {
  try {
    if ((statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o600);
  } catch {
    // Another owner's file or a read-only disk: doctor reports it.
  }
}

function readFileOf(path: string, allowed: readonly SettingName[]): Outcome<ConfigFile> {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    const code = systemCode(error);
    // ENOTDIR is a problem of the home itself, reported where the home is created.
    if (code === "ENOENT" || code === "ENOTDIR") return done({ path, values: {} });
    return failed("config.invalid", `The settings in ${path} cannot be read (${code}).`);
  }
  const values = parseObject(text);
  if (values === undefined)
    return failed("config.invalid", `${path} must hold one JSON object, like {"port": 8787}.`);
  for (const name of Object.keys(values)) {
    if (name === schemaKey || allowed.some((known) => known === name)) continue;
    return failed(
      "config.invalid",
      `"${name}" in ${path} is not a setting that the file can hold; it can hold ${allowed.join(", ")}.`,
    );
  }
  return done({ path, values });
}

export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    return z.record(z.string(), z.unknown()).safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
