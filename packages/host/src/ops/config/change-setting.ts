import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { done, failed, type Outcome } from "../../util/outcome.ts";
import { writeFileAtomically } from "../../util/atomic-file.ts";
import { isInFile, isSecret, parseObject } from "./config-files.ts";
import { plainFile, secretFile } from "./read-config.ts";
import type { Setting } from "./setting.ts";
import { type SettingName, settings } from "./settings.ts";

/** Sets or removes (`undefined`) a setting in the file it belongs in, and returns that file's path. */
export async function changeSetting(
  home: string,
  name: SettingName,
  input: string | undefined,
): Promise<Outcome<string>> {
  if (!isInFile(name))
    return failed("config.invalid", `${name} cannot stand in a file: set it in the environment.`);
  const value = input === undefined ? done(undefined) : check(name, input);
  if (!value.ok) return value;
  const secret = isSecret(name);
  const path = join(home, secret ? secretFile : plainFile);
  const written = await write(path, name, value.value);
  if (!written.ok) return written;
  // A secret must not stay in the readable file.
  if (secret && existsSync(join(home, plainFile))) {
    const removed = await write(join(home, plainFile), name, undefined);
    if (!removed.ok) return removed;
  }
  return done(path);
}

function check(name: SettingName, input: string): Outcome<unknown> {
  const setting: Setting<unknown> = settings[name];
  const parsed = setting.schema.safeParse(input);
  if (parsed.success) return done(parsed.data);
  return failed("config.invalid", `${name} must be ${setting.allowed}.`);
}

async function write(path: string, name: string, value: unknown): Promise<Outcome<undefined>> {
  const values = existsSync(path) ? parseObject(readFileSync(path, "utf8")) : {};
  if (values === undefined)
    return failed("config.invalid", `${path} does not hold one JSON object; mend it by hand.`);
  if (value === undefined && !Object.hasOwn(values, name)) return done(undefined);
  const { [name]: _, ...others } = values;
  const next = value === undefined ? others : { ...others, [name]: value };
  await writeFileAtomically(path, `${JSON.stringify(next, null, 2)}\n`);
  return done(undefined);
}
