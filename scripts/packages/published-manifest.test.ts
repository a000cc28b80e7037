import { createFolder } from "@holdfast/testing/process/folder";
import { expect, test } from "vitest";
import { publishedManifest, type SourceManifest } from "./published-manifest.ts";
import { findMissing, readFileReferences, usedPackages } from "./staged-files.ts";

const workspace: SourceManifest = {
  name: "workspace",
  version: "1.2.3",
  license: "MIT",
  repository: { type: "git", url: "git+https://example.org/a.git" },
  engines: { node: ">=24" },
  exports: {},
  files: [],
  devDependencies: { "fast-check": "4.0.0", "@types/pg": "8.0.0", vitest: "5.0.0" },
};
const manifest: SourceManifest = {
  ...workspace,
  name: "@holdfast/part",
  exports: { ".": "./src/index.ts", "./cases/*": "./src/cases/*.ts" },
  files: ["dist"],
  dependencies: { "@holdfast/protocol": "1.2.3", pg: "8.0.0" },
  devDependencies: { "@holdfast/testing": "1.2.3" },
};
const options = {
  manifest: { ...manifest, private: true, scripts: { build: "make" } },
  workspace,
  codeFolder: "dist",
  modules: ["dist/index.js", "dist/index.d.ts"],
  used: new Set(["@holdfast/protocol", "pg", "fast-check"]),
};

test("a published manifest names built files, dependencies and the test tools it needs", () => {
  const published = publishedManifest(options);
  expect(published).toMatchObject({
    exports: { ".": { types: "./dist/index.d.ts", default: "./dist/index.js" } },
    dependencies: { "@holdfast/protocol": "1.2.3", pg: "8.0.0", "@types/pg": "8.0.0" },
    peerDependencies: { "fast-check": "^4.0.0" },
    peerDependenciesMeta: { "fast-check": { optional: true } },
  });
  for (const name of ["private", "scripts", "devDependencies"])
    expect(published).not.toHaveProperty(name);
});

test("a test tool that a package depends on is not also left to whoever installs it", () => {
  const dependencies = { ...manifest.dependencies, "fast-check": "4.0.0" };
  const published = publishedManifest({ ...options, manifest: { ...manifest, dependencies } });
  expect(published).toMatchObject({ dependencies: { "fast-check": "4.0.0" } });
  expect(published).not.toHaveProperty("peerDependencies");
});

test("a package whose version, licence or dependency differs from the others is refused", () => {
  const refusal = (changed: Partial<SourceManifest>) => () =>
    publishedManifest({ ...options, manifest: { ...manifest, ...changed } });
  expect(refusal({ version: "1.2.4" })).toThrow("@holdfast/part differs");
  expect(refusal({ license: "ISC" })).toThrow("@holdfast/part differs");
  expect(refusal({ dependencies: { "@holdfast/protocol": "1.2.2" } })).toThrow(
    "depends on @holdfast/protocol 1.2.2",
  );
});

test("a built file that needs an unpublished file, thread or package is named", () => {
  const folder = createFolder({
    "dist/index.js": [
      'import "./here.js"; import "./gone.js"; import "zod"; import "undeclared/sub";',
      'new URL("./thread.ts", import.meta.url);',
    ].join("\n"),
    "dist/index.d.ts": 'export * from "./here.js"; export type A = import("hono").Hono;',
    "dist/here.js": 'import "node:fs";',
  });
  const files = ["dist/index.js", "dist/index.d.ts", "dist/here.js"];
  const references = readFileReferences(folder, files);
  expect([...usedPackages(references)].toSorted()).toEqual(["hono", "undeclared", "zod"]);
  expect(findMissing(folder, references, new Set(["zod"]))).toEqual([
    "dist/index.js needs ./gone.js, which is not published",
    "dist/index.js needs ./thread.ts, which is not published",
    "dist/index.d.ts needs ./here.js, which is not published",
    `${folder} needs undeclared, which it does not depend on`,
    `${folder} needs hono, which it does not depend on`,
  ]);
});
