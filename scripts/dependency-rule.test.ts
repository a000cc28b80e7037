import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { createFolder } from "@holdfast/testing/process/folder";
import { checkDependencies } from "./dependency-rule.ts";

const manifests = {
  "package.json": { dependencies: { vite: "1" }, devDependencies: { knip: "1" } },
  "packages/protocol/package.json": { exports: { ".": "./src/index.ts" } },
  "packages/client/package.json": { exports: { ".": "./src/index.ts" } },
  "packages/engine/package.json": { exports: { ".": "./src/index.ts" } },
  "packages/testing/package.json": { exports: { "./*": "./src/*.ts" } },
  "packages/store/package.json": { exports: { ".": "./src/index.ts" } },
  "packages/host/package.json": {
    exports: { ".": "./src/index.ts" },
    bin: { holdfast: "./src/main.ts" },
    dependencies: { hono: "1" },
  },
  "packages/web/package.json": { dependencies: { react: "1" }, devDependencies: { jsdom: "1" } },
};

function plant(files: Record<string, string>): string {
  const packages = Object.entries(manifests).map(([path, text]) => [path, JSON.stringify(text)]);
  return createFolder({ ...Object.fromEntries(packages), ...files });
}

function complaints(files: Record<string, string>): string[] {
  const { violations } = checkDependencies(plant(files));
  return violations.map(({ file, line, rule }) => `${file}:${line} ${rule}`);
}

const allowed: Record<string, string> = {
  "packages/protocol/src/index.ts": `import { z } from "zod"; export * from "./ids.ts";`,
  "packages/protocol/src/ids.ts": `import "uuidv7";`,
  "packages/client/src/index.ts": `import "@holdfast/protocol";`,
  "packages/engine/src/index.ts": `export * from "./log/commit.ts"; import "@holdfast/protocol";`,
  "packages/engine/src/log/commit.ts": `import type { Seq } from "@holdfast/protocol"; import "../ports/store.ts"; import "./fold.ts";`,
  "packages/engine/src/log/fold.ts": ``,
  "packages/engine/src/log/commit.test.ts": `import "vitest"; import "@holdfast/testing/fakes/clock"; import "node:fs";`,
  "packages/engine/src/ports/store.ts": ``,
  "packages/engine/contracts/leases.suite.test.ts": `import "@holdfast/testing/fakes/clock"; import "../src/log/commit.ts";`,
  "packages/engine/contracts/leases.pg.test.ts": `import "@holdfast/testing/databases/all"; import "./leases.suite.test.ts";`,
  "packages/store/src/index.ts": `import "@holdfast/engine"; import "pg"; import "node:sqlite"; new URL("./worker.ts", import.meta.url);`,
  "packages/store/src/worker.ts": ``,
  "packages/store/test/faults.ts": `import "../src/worker.ts"; import "@holdfast/testing/fakes/clock";`,
  "packages/host/src/main.ts": `import "hono/streaming"; const later = () => import("./server/http.ts");`,
  "packages/host/src/server/http.ts": `import "@holdfast/store"; import "@holdfast/client"; new URL("../../../web/dist/", import.meta.url);`,
  "packages/host/src/sandbox/launch.ts": `import "node:child_process";`,
  "packages/host/test/rig.ts": `import "vitest"; import "../src/server/http.ts";`,
  "packages/web/src/main.tsx": `import "react"; import "./page.css"; import "@holdfast/client";`,
  "packages/web/vite.config.ts": `import "vite"; import "node:path";`,
  "packages/testing/src/databases/all.ts": `import "./sqlite.ts";`,
  "packages/testing/src/databases/sqlite.ts": `import "@holdfast/store";`,
  "packages/testing/src/fakes/clock.ts": `import "@holdfast/engine"; import "fast-check"; import "node:assert";`,
  "examples/embed/main.ts": `import "@holdfast/engine"; import "@holdfast/testing/fakes/clock"; import "node:fs"; import "./model.ts";`,
  "examples/embed/model.ts": ``,
  "test/whole.test.ts": `import "../packages/host/test/rig.ts"; import "@holdfast/host"; new URL("../packages/host/src/main.ts", import.meta.url);`,
};

test("a tree that obeys the rule passes, and every file and reference in it is counted", () => {
  const report = checkDependencies(plant(allowed));
  expect(report.violations).toEqual([]);
  expect(report.files).toBe(Object.keys(allowed).length);
  expect(report.references).toBe(47);
});

test.each([
  ["protocol imports engine", "protocol/src/a.ts", `import "@holdfast/engine";`, "direction"],
  ["engine imports store", "engine/src/a.ts", `export * from "@holdfast/store";`, "direction"],
  ["store imports host", "store/src/a.ts", `export { x } from "@holdfast/host";`, "direction"],
  [
    "web imports engine",
    "web/src/a.tsx",
    `import type { X } from "@holdfast/engine";`,
    "direction",
  ],
  [
    "a type names another package",
    "web/src/a.ts",
    `type X = import("@holdfast/store").X;`,
    "direction",
  ],
  ["a late import", "web/src/a.ts", `await import("@holdfast/host");`, "direction"],
  ["a required module", "protocol/src/a.ts", `import x = require("@holdfast/host");`, "direction"],
  ["a call of require", "protocol/src/a.ts", `require("@holdfast/host");`, "direction"],
  ["a resolved module", "protocol/src/a.ts", `import.meta.resolve("@holdfast/host");`, "direction"],
  ["an import nobody can read", "host/src/a.ts", `await import(name);`, "computed"],
  ["engine reads files", "engine/src/a.ts", `import "node:fs";`, "outside"],
  [
    "engine reads the environment",
    "engine/src/a.ts",
    `import { env } from "node:process";`,
    "outside",
  ],
  ["engine takes a driver", "engine/src/a.ts", `import "pg";`, "outside"],
  ["protocol takes a built-in", "protocol/src/a.ts", `import "fs";`, "outside"],
  ["host takes what it does not list", "host/src/a.ts", `import "express";`, "outside"],
  ["host starts processes", "host/src/a.ts", `import "node:child_process";`, "spawn"],
  ["host starts them late", "host/src/a.ts", `await import("node:child_process");`, "spawn"],
  ["the page takes a tool", "web/src/a.ts", `import "vite";`, "outside"],
  ["a build takes what tests need", "web/vite.config.ts", `import "knip";`, "outside"],
  ["a build takes what its tests need", "web/vite.config.ts", `import "jsdom";`, "outside"],
  ["the product takes vitest", "engine/src/a.ts", `import "vitest";`, "outside"],
  ["the client takes the engine", "client/src/a.ts", `import "@holdfast/engine";`, "direction"],
  ["testing takes the host", "testing/src/a.ts", `import "@holdfast/host";`, "direction"],
  ["a test takes a package above", "store/src/a.test.ts", `import "@holdfast/host";`, "direction"],
  ["log imports run", "engine/src/log/a.ts", `import "../run/drive.ts";`, "inner"],
  ["log imports a file above it", "engine/src/log/a.ts", `import "../clock.ts";`, "inner"],
  ["log imports from npm", "engine/src/log/a.ts", `import "zod";`, "outside"],
  [
    "another package by path",
    "store/src/a.ts",
    `import "../../engine/src/index.ts";`,
    "package-entry",
  ],
  [
    "an entry that is not exported",
    "store/src/a.ts",
    `import "@holdfast/engine/src/log";`,
    "package-entry",
  ],
  [
    "the product takes test support",
    "host/src/a.ts",
    `import "../../../test/support/x.ts";`,
    "package-entry",
  ],
  [
    "the product takes testing",
    "store/src/a.ts",
    `import "@holdfast/testing/fakes/clock";`,
    "testing-only",
  ],
  ["its own test support", "store/src/a.ts", `import "../test/faults.ts";`, "testing-only"],
  [
    "its own contracts",
    "engine/src/a.ts",
    `import "../contracts/leases.suite.test.ts";`,
    "testing-only",
  ],
  [
    "an engine test imports the store",
    "engine/src/a.test.ts",
    `import "@holdfast/store";`,
    "direction",
  ],
  [
    "a contract suite imports the store",
    "engine/contracts/a.suite.test.ts",
    `import "@holdfast/store";`,
    "direction",
  ],
  [
    "a contract suite reaches the store through testing",
    "engine/contracts/a.suite.test.ts",
    `import "@holdfast/testing/databases/all";`,
    "store-reach",
  ],
  [
    "an engine test reaches the store through testing",
    "engine/src/a.test.ts",
    `import "@holdfast/testing/databases/sqlite";`,
    "store-reach",
  ],
  ["a package without a rule", "extra/src/a.ts", `import "zod";`, "outside"],
  ["a file that does not parse", "engine/src/a.ts", `const = ;`, "unreadable"],
])("refused: %s", (_, path, content, rule) => {
  const line = rule === "unreadable" ? 1 : 3;
  const file = `packages/${path}`;
  expect(complaints({ ...allowed, [file]: `\n\n${content}` })).toEqual([`${file}:${line} ${rule}`]);
});

test("refused: a whole-process test that reaches past a package's entries", () => {
  const file = "test/deep.test.ts";
  const content = `import "../packages/engine/src/log/commit.ts";`;
  expect(complaints({ ...allowed, [file]: content })).toEqual([`${file}:1 package-entry`]);
});

test.each([
  ["another example", `import "../other/model.ts";`],
  ["a package by path", `import "../../packages/engine/src/index.ts";`],
  ["test support of a package", `import "../../packages/host/test/rig.ts";`],
  ["a module that its reader would have to install", `import "zod";`],
])("refused: an example that imports %s", (_, content) => {
  const file = "examples/embed/main.ts";
  expect(complaints({ ...allowed, [file]: content })).toEqual([`${file}:1 example`]);
});

test("refused: an example that imports a file that its package does not export", () => {
  const file = "examples/embed/main.ts";
  const content = `import "@holdfast/engine/src/index.ts";`;
  expect(complaints({ ...allowed, [file]: content })).toEqual([`${file}:1 package-entry`]);
});

test("refused: a tree without any source file", () => {
  expect(complaints({})).toEqual([".:1 unseen"]);
});

test("refused: a source file that git knows and the check missed", () => {
  const root = plant({ ...allowed, "packages/engine/src/dist/hidden.ts": "" });
  execFileSync("git", ["init", "-q"], { cwd: root });
  expect(checkDependencies(root).violations).toEqual([
    {
      file: "packages/engine/src/dist/hidden.ts",
      line: 1,
      rule: "unseen",
      message: "this source file was not checked",
    },
  ]);
});
