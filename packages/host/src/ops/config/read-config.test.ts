import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type ConfigSources, readConfig } from "./read-config.ts";
import { settingNames } from "./settings.ts";

function makeHome(file?: string): string {
  const home = mkdtempSync(join(tmpdir(), "holdfast-config-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  if (file !== undefined) writeFileSync(join(home, "config.json"), file);
  return home;
}

function read(sources: Partial<ConfigSources>) {
  return readConfig({ flags: {}, environment: {}, personFolder: "/people/ada", ...sources });
}

function sentenceFor(sources: Partial<ConfigSources>): string {
  const config = read(sources);
  return config.ok ? "no failure" : config.failure.message;
}

test("by default the host listens on loopback and keeps its data in the user's folder", () => {
  const config = read({});
  expect(config).toMatchObject({
    ok: true,
    value: {
      home: { value: "/people/ada/.holdfast", source: { from: "default" } },
      host: { value: "127.0.0.1" },
      port: { value: 8787 },
      token: { value: undefined },
      basePath: { value: "" },
    },
  });
});

test("a flag wins over the environment, which wins over the file, and each value knows its source", () => {
  const home = makeHome(`{"port": 1001, "basePath": "/file/", "host": "::1"}`);
  const config = read({
    flags: { "base-path": "/flag" },
    environment: {
      HOLDFAST_HOME: home,
      HOLDFAST_PORT: "1002",
      HOLDFAST_BASE_PATH: "/environment",
    },
  });
  expect(config).toMatchObject({
    ok: true,
    value: {
      basePath: { value: "/flag", source: { from: "flag", name: "--base-path" } },
      port: { value: 1002, source: { from: "environment", name: "HOLDFAST_PORT" } },
      host: { value: "::1", source: { from: "file", path: join(home, "config.json") } },
    },
  });
});

test("an empty variable counts as unset", () => {
  expect(read({ environment: { HOLDFAST_PORT: "" } })).toMatchObject({
    value: { port: { value: 8787, source: { from: "default" } } },
  });
});

test.each(["abc", "-1", "65536", "80.5", "0x50", " 80"])("the port %j is refused", (port) => {
  expect(sentenceFor({ environment: { HOLDFAST_PORT: port } })).toBe(
    `The environment variable HOLDFAST_PORT is ${JSON.stringify(port)}; it must be a port number from 0 to 65535 (0 takes any free port).`,
  );
});

test.each(["holdfast", "/a b", "//evil.example", "/../x?"])(
  "the base path %j is refused",
  (path) => {
    expect(sentenceFor({ flags: { "base-path": path } })).toMatch(/^The flag --base-path is /);
  },
);

test.each(["holdfast.example.org", "https://holdfast.example.org/", "ftp://holdfast.example.org"])(
  "the origin %j is refused",
  (origin) => {
    expect(sentenceFor({ flags: { origin } })).toMatch(/it must be an origin like/);
  },
);

test("a refused token is not printed", () => {
  const sentence = sentenceFor({ environment: { HOLDFAST_TOKEN: "two words" } });
  expect(sentence).toContain("HOLDFAST_TOKEN");
  expect(sentence).not.toContain("two words");
});

test("a misspelt name in the file is refused with the valid names", () => {
  const home = makeHome(`{"prot": 1}`);
  const names = settingNames.filter((name) => name !== "home").join(", ");
  expect(sentenceFor({ flags: { home } })).toBe(
    `"prot" in ${home}/config.json is not a setting that the file can hold; it can hold ${names}.`,
  );
});

test("the file cannot move the home that contains it", () => {
  expect(sentenceFor({ flags: { home: makeHome(`{"home": "/elsewhere"}`) } })).toMatch(
    /^"home" in /,
  );
});

test.each(["", "[]", "{", "null"])("a file containing %j is refused with one sentence", (text) => {
  expect(sentenceFor({ flags: { home: makeHome(text) } })).toMatch(
    /config\.json must hold one JSON object/,
  );
});

test("a store address with an unknown scheme is refused rather than used as a file name", () => {
  expect(read({ flags: { store: "mysql://db/x" } })).toMatchObject({ ok: false });
  expect(read({ flags: { store: "postgre://db/x" } })).toMatchObject({ ok: false });
  expect(read({ flags: { store: "postgres://db/x" } })).toMatchObject({ ok: true });
});
