import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A package whose code is part of a bundle. */
export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  /** An SPDX expression. */
  readonly licence: string;
  readonly text: string;
}

const allowed: ReadonlySet<string> = new Set([
  "0BSD",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "ISC",
  "MIT",
]);

/** The packages that the modules of a bundle come from. Throws for a licence that does not allow it, or without a text. */
export function bundledPackages(modules: Iterable<string>): readonly BundledPackage[] {
  const folders = new Set<string>();
  for (const id of modules) {
    const folder = packageFolder(id);
    if (folder !== undefined) folders.add(folder);
  }
  const packages = [...folders].map(readPackage);
  const refused = packages.filter(({ licence }) => !isAllowed(licence));
  if (refused.length > 0) {
    const names = refused.map(({ name, licence }) => `${name} (${licence || "none declared"})`);
    throw new Error(
      `The bundle contains packages whose licence is not allowed: ${names.join(", ")}. Leave them out, or replace them.`,
    );
  }
  return packages.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** The innermost `node_modules/<name>`, without what a bundler adds around a path. */
function packageFolder(id: string): string | undefined {
  const path = id.replace(/^\0+/, "").replace(/\?.*$/, "");
  return /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(path)?.[0];
}

function readPackage(folder: string): BundledPackage {
  const { name, version, license } = JSON.parse(
    readFileSync(join(folder, "package.json"), "utf8"),
  ) as { name: string; version: string; license?: string };
  const file = readdirSync(folder).find((entry) => /^(licen[cs]e|copying)/i.test(entry));
  const text = file === undefined ? "" : readFileSync(join(folder, file), "utf8").trim();
  return { name, version, text, licence: license ?? licenceOf(text) };
}

/** Some packages declare nothing, and bring the text. */
function licenceOf(text: string): string {
  const isMit =
    /^\s*(?:the )?mit license/i.test(text) &&
    text.includes("Permission is hereby granted, free of charge");
  return isMit ? "MIT" : "";
}

/** Of alternatives, one that is allowed is enough. */
function isAllowed(expression: string): boolean {
  const alternatives = expression.replace(/^\((.*)\)$/, "$1").split(" OR ");
  return alternatives.some((one) => one.split(" AND ").every((part) => allowed.has(part)));
}

export function licenceDocument(packages: readonly BundledPackage[]): string {
  const parts = packages.map(
    ({ name, version, licence, text }) => `## ${name} ${version} (${licence})\n\n${text}\n`,
  );
  return ["# Licences of bundled packages\n", ...parts].join("\n");
}

/** For a bundler: fails the build, and adds the licences to it as a file. */
export function bundledLicences(fileName: string) {
  return {
    name: "bundled-licences",
    generateBundle(
      this: { emitFile(file: { type: "asset"; fileName: string; source: string }): unknown },
      _: unknown,
      files: Readonly<Record<string, { readonly type: string; readonly moduleIds?: string[] }>>,
    ): void {
      const modules = Object.values(files).flatMap(({ moduleIds = [] }) => moduleIds);
      const source = licenceDocument(bundledPackages(modules));
      this.emitFile({ type: "asset", fileName, source });
    },
  };
}

/** The file's name in every bundle. */
export const licenceFile = "THIRD-PARTY-LICENCES.md";
