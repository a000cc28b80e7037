import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { changeSetting } from "./change-setting.ts";
import { configSchema } from "./describe-settings.ts";
import { readConfig } from "./read-config.ts";
import { settingNames, settings } from "./settings.ts";

function makeHome(files: Record<string, string> = {}): string {
  const home = mkdtempSync(join(tmpdir(), "holdfast-change-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(home, name), text);
  return home;
}

const read = (home: string) =>
  readConfig({ flags: { home }, environment: {}, personFolder: "/people/ada" });

test("a setting is written with its type, beside existing ones, and read back", async () => {
  const home = makeHome({ "config.json": `{"$schema": "./x.json", "host": "::1"}` });
  expect(await changeSetting(home, "port", "9000")).toEqual({
    ok: true,
    value: join(home, "config.json"),
  });
  await changeSetting(home, "proxies", "10.0.0.7, fd00::/8");
  const file: unknown = JSON.parse(readFileSync(join(home, "config.json"), "utf8"));
  expect(file).toEqual({
    $schema: "./x.json",
    host: "::1",
    port: 9000,
    proxies: ["10.0.0.7", "fd00::/8"],
  });
  expect(read(home)).toMatchObject({ value: { port: { value: 9000 }, host: { value: "::1" } } });
  await changeSetting(home, "port", undefined);
  expect(read(home)).toMatchObject({ value: { port: { value: 8787 } } });
});

test("a secret goes to a file readable by its owner only, and leaves the shared one", async () => {
  const home = makeHome({ "config.json": `{"token": "in-the-open", "port": 1}` });
  await changeSetting(home, "token", "kept-apart");
  const secret = join(home, "config.secret.json");
  expect(statSync(secret).mode & 0o777).toBe(0o600);
  expect(readFileSync(join(home, "config.json"), "utf8")).not.toContain("token");
  expect(read(home)).toMatchObject({
    value: { token: { value: "kept-apart", source: { from: "file", path: secret } } },
  });
});

test("a secrets file readable by others gets its permissions fixed, and contains only secrets", () => {
  const home = makeHome({ "config.secret.json": `{"token": "t"}` });
  expect(read(home)).toMatchObject({ ok: true });
  expect(statSync(join(home, "config.secret.json")).mode & 0o777).toBe(0o600);
  expect(read(makeHome({ "config.secret.json": `{"port": 1}` }))).toMatchObject({ ok: false });
});

test("an invalid setting is refused with a message and not written", async () => {
  const home = makeHome();
  for (const [name, value] of [
    ["port", "eighty"],
    ["home", "/elsewhere"],
    ["resume", "maybe"],
  ] as const)
    expect(await changeSetting(home, name, value)).toMatchObject({ ok: false });
  expect(existsSync(join(home, "config.json"))).toBe(false);
  writeFileSync(join(home, "config.json"), "{ torn");
  expect(await changeSetting(home, "port", "1")).toMatchObject({ ok: false });
  expect(readFileSync(join(home, "config.json"), "utf8")).toBe("{ torn");
});

const shape = z.object({
  properties: z.record(z.string(), z.looseObject({ description: z.string().optional() })),
  additionalProperties: z.literal(false),
});

test("the schema contains every setting the file can hold, with its description", () => {
  const { properties } = shape.parse(configSchema());
  const inFile = settingNames.filter((name) => name !== "home");
  expect(Object.keys(properties)).toEqual(["$schema", ...inFile]);
  for (const name of inFile) expect(properties[name]?.description).toContain(settings[name].about);
});
