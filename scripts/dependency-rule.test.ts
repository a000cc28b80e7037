import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { createFolder } from "@holdfast/testing/process/folder";
import { checkDependencies } from "./dependency-rule.ts";

const manifests = {
  "package.json": { dependencies: { vite: "1" }, devDependencies: { knip: "1" } },
  "packages/protocol/package.json": { exports: { ".": "./src/index.ts" } },
  "packages/engine/package.json": {
    exports: { ".": "./src/index.ts", "./testing": "./src/testing/index.ts" },
  },
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
  "packages/protocol/src/index.ts": `import { z } from "zod"; export * from "./ids/index.ts";`,
  "packages/protocol/src/ids/index.ts": `import "uuidv7";`,
  "packages/engine/src/index.ts": `export * from "./log/index.ts"; import "@holdfast/protocol";`,
  "packages/engine/src/log/index.ts": `import "./commit.ts"; import "../ports/index.ts";`,
  "packages/engine/src/log/commit.ts": `import type { Seq } from "@holdfast/protocol";`,
  "packages/engine/src/log/commit.test.ts": `import "vitest"; import "../testing/index.ts"; import "node:fs";`,
  "packages/engine/src/ports/index.ts": ``,
  "packages/engine/src/testing/index.ts": `import "fast-check"; import "node:assert/strict";`,
  "packages/store/src/index.ts": `import "@holdfast/engine"; import "pg"; import "node:sqlite"; new URL("./worker.ts", import.meta.url);`,
  "packages/store/src/worker.ts": ``,
  "packages/store/src/index.test.ts": `import "@holdfast/engine/testing"; import "../../../packages/testing/src/postgres/create-database.ts";`,
  "packages/host/src/main.ts": `import "hono/streaming"; const later = () => import("./http/index.ts");`,
  "packages/host/src/http/index.ts": `import "@holdfast/store"; new URL("../../../web/dist/", import.meta.url);`,
  "packages/web/src/main.tsx": `import "react"; import "./page.css"; import "@holdfast/protocol";`,
  "packages/web/vite.config.ts": `import "vite"; import "node:path";`,
  "packages/testing/src/postgres/create-database.ts": `import "pg"; new URL("../../packages/host/src/main.ts", import.meta.url);`,
};

test("a tree that keeps the rule passes, and every file and reference in it was counted", () => {
  const report = checkDependencies(plant(allowed));
  expect(report.violations).toEqual([]);
  expect(report.files).toBe(Object.keys(allowed).length);
  expect(report.references).toBe(30);
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
  ["the page takes a tool", "web/src/a.ts", `import "vite";`, "outside"],
  ["a build takes what tests need", "web/vite.config.ts", `import "knip";`, "outside"],
  ["a build takes what its tests need", "web/vite.config.ts", `import "jsdom";`, "outside"],
  ["the product takes vitest", "engine/src/a.ts", `import "vitest";`, "outside"],
  ["testing takes vitest", "engine/src/testing/a.ts", `import "vitest";`, "outside"],
  ["log imports run", "engine/src/log/a.ts", `import "../run/index.ts";`, "inner"],
  ["log imports a file above it", "engine/src/log/a.ts", `import "../clock.ts";`, "inner"],
  ["log imports from npm", "engine/src/log/a.ts", `import "zod";`, "outside"],
  ["past a sibling's door", "engine/src/run/a.ts", `import "../log/commit.ts";`, "folder-door"],
  ["past a child's door", "host/src/main.ts", `import "./http/routes.ts";`, "folder-door"],
  ["past two doors", "host/src/a.ts", `import "./http/sse/index.ts";`, "folder-door"],
  [
    "a worker past a door",
    "store/src/a.ts",
    `new URL("./sqlite/w.ts", import.meta.url);`,
    "folder-door",
  ],
  ["a test past a door", "engine/src/run/a.test.ts", `import "../log/commit.ts";`, "folder-door"],
  [
    "another package by path",
    "store/src/a.ts",
    `import "../../engine/src/index.ts";`,
    "package-door",
  ],
  [
    "an entry that is not exported",
    "store/src/a.ts",
    `import "@holdfast/engine/src/log";`,
    "package-door",
  ],
  [
    "the product takes test support",
    "host/src/a.ts",
    `import "../../../test/support/x.ts";`,
    "package-door",
  ],
  [
    "the product takes testing",
    "store/src/a.ts",
    `import "@holdfast/engine/testing";`,
    "testing-only",
  ],
  ["its own testing", "engine/src/run/a.ts", `import "../testing/index.ts";`, "testing-only"],
  ["its own contracts", "engine/src/run/a.ts", `import "../contracts/index.ts";`, "testing-only"],
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
  expect(complaints({ ...allowed, [file]: content })).toEqual([`${file}:1 package-door`]);
});

test("refused: a tree without any source file", () => {
  expect(complaints({})).toEqual([".:1 unseen"]);
});

test("refused: a source file that git knows and the check did not see", () => {
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

test("the check sees this repository", () => {
  const root = fileURLToPath(new URL("..", import.meta.url));
  expect(checkDependencies(root).files).toBeGreaterThan(20);
});
