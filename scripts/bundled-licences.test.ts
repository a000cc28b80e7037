import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { bundledPackages, licenceDocument } from "./bundled-licences.ts";

const mit =
  "The MIT License (MIT)\n\nPermission is hereby granted, free of charge, to any person …";

function install(name: string, manifest: Record<string, string>, text?: string): string {
  const root = mkdtempSync(join(tmpdir(), "holdfast-licences-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const folder = join(root, "node_modules", name);
  mkdirSync(join(folder, "dist"), { recursive: true });
  writeFileSync(
    join(folder, "package.json"),
    JSON.stringify({ name, version: "1.0.0", ...manifest }),
  );
  if (text !== undefined) writeFileSync(join(folder, "license"), text);
  return join(folder, "dist", "index.js");
}

test.each([
  [{ license: "MIT" }, undefined],
  [{ license: "(MPL-2.0 OR Apache-2.0)" }, undefined],
  [{}, mit],
])("a package that declares %j may be bundled", (manifest, text) => {
  const module = install("@scope/some-package", manifest, text);
  const packages = bundledPackages([`\0${module}?commonjs`, module, "/src/own.ts"]);
  expect(packages.map(({ name }) => name)).toEqual(["@scope/some-package"]);
  expect(licenceDocument(packages)).toContain(text ?? "## @scope/some-package 1.0.0");
});

test.each([
  ["GPL-3.0", { license: "GPL-3.0-only" }, mit],
  ["elkjs's", { license: "EPL-2.0" }, undefined],
  ["MIT and another", { license: "MIT AND GPL-2.0-only" }, undefined],
  ["none declared", {}, undefined],
  ["none declared", {}, "All rights reserved."],
])("[safety] a bundle with a package under %s fails", (_, manifest, text) => {
  const module = install("some-package", manifest, text);
  expect(() => bundledPackages([module])).toThrow(/some-package/);
});
