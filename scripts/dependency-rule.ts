import { readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { listSourcesByGit, walkSources } from "./list-sources.ts";
import { readManifest, type Manifest } from "./manifest.ts";
import { readReferences, type Reference } from "./read-references.ts";

/**
 * protocol  <-  engine  <-  store  <-  host
 * protocol  <-  client  <-  web  <-  host
 *
 * From `web` the host imports only the path of the built page.
 * `testing` may use everything below the host, and only tests and examples may use it.
 *
 * An example imports only what code outside this repository could: the packages' entries, Node, and its own folder.
 *
 * `outside` is all that a package may take from npm and from Node; "its dependencies" is what its
 * own package.json lists.
 */
const packageRules: Record<string, { uses: string[]; outside: string[] }> = {
  protocol: { uses: [], outside: ["zod", "uuidv7"] },
  client: { uses: ["protocol"], outside: ["zod", "uuidv7"] },
  engine: { uses: ["protocol"], outside: ["zod"] },
  store: { uses: ["protocol", "engine"], outside: ["pg", "zod", "node:*"] },
  host: {
    uses: ["protocol", "client", "engine", "store", "web"],
    outside: ["its dependencies", "node:*"],
  },
  web: { uses: ["protocol", "client"], outside: ["its dependencies"] },
  testing: {
    uses: ["protocol", "client", "engine", "store"],
    outside: ["its dependencies", "test tools", "node:*"],
  },
};
/** Folders that may use less than their package: these siblings, and no outside module at all. */
const innerRules: Record<string, string[]> = { "engine/log": ["ports"] };
/** The host starts processes in one file, where they are confined. */
const spawnRule = {
  package: "host",
  only: "packages/host/src/sandbox/launch.ts",
  modules: new Set(["node:child_process", "node:cluster"]),
};
/** Folders beside `src` for tests and what only they need. Nothing in them is shipped. */
export const testFolders: ReadonlySet<string> = new Set(["test", "contracts", "fixtures"]);
const testTools = ["vitest", "fast-check", "node:*"];

export interface Violation {
  readonly file: string;
  readonly line: number;
  readonly rule: string;
  readonly message: string;
}

export interface DependencyReport {
  readonly files: number;
  readonly references: number;
  readonly violations: readonly Violation[];
}

export function checkDependencies(root: string): DependencyReport {
  const seen = walkSources(root);
  const violations: Violation[] = findUnseen(root, new Set(seen));
  const referencesOf = new Map<string, readonly Reference[]>();
  let references = 0;
  for (const file of seen) {
    const read = readReferences(file, readFileSync(join(root, file), "utf8"));
    if (!read.ok) {
      violations.push({ file, line: 1, rule: "unreadable", message: read.problem });
      continue;
    }
    references += read.references.length;
    referencesOf.set(file, read.references);
    const place = locate(root, file);
    for (const reference of read.references) {
      const found = judge(root, place, reference);
      if (found) violations.push({ file, line: reference.line, ...found });
    }
  }
  violations.push(...findStoreReach(referencesOf));
  return { files: seen.length, references, violations };
}

/** Runners pass real stores to the contract suites. */
const isRunner = (file: string): boolean =>
  /^packages\/engine\/contracts\/.*(?<!\.suite)\.test\.ts$/.test(file);

/** The engine's tests and contract suites must not import the store indirectly. */
function findStoreReach(referencesOf: ReadonlyMap<string, readonly Reference[]>): Violation[] {
  const usesStore = (file: string) =>
    referencesOf.get(file)?.some(({ specifier }) => specifier?.startsWith("@holdfast/store"));
  const throughs = new Map<string, string | undefined>();
  /** The file among this one and its direct and indirect imports that imports the store. */
  function throughOf(start: string): string | undefined {
    if (throughs.has(start)) return throughs.get(start);
    const reached = new Set([start]);
    for (const file of reached)
      for (const reference of referencesOf.get(file) ?? []) {
        const target = targetOf(file, reference);
        if (target !== undefined) reached.add(target);
      }
    const through = [...reached].find(usesStore);
    throughs.set(start, through);
    return through;
  }
  const violations: Violation[] = [];
  for (const [file, references] of referencesOf) {
    if (!file.startsWith("packages/engine/") || isRunner(file)) continue;
    for (const reference of references) {
      const target = targetOf(file, reference);
      const through = target === undefined ? undefined : throughOf(target);
      if (through === undefined) continue;
      const message = `this reaches the store through ${through}`;
      violations.push({ file, line: reference.line, rule: "store-reach", message });
    }
  }
  return violations;
}

/** The source file that a reference names, if it is in the same package or in `testing`. */
function targetOf(file: string, { specifier }: Reference): string | undefined {
  if (specifier === undefined) return undefined;
  if (/^\.{1,2}\//.test(specifier)) return posix.join(posix.dirname(file), specifier);
  const [, inTesting] = /^@holdfast\/testing\/(.+)$/.exec(specifier) ?? [];
  return inTesting === undefined ? undefined : `packages/testing/src/${inTesting}.ts`;
}

/** A check that saw nothing must not pass. */
function findUnseen(root: string, seen: ReadonlySet<string>): Violation[] {
  const unseen = (file: string, message: string) => ({ file, line: 1, rule: "unseen", message });
  if (seen.size === 0) return [unseen(".", "no source file was found")];
  const known = listSourcesByGit(root) ?? [];
  return known
    .filter((file) => !seen.has(file))
    .map((file) => unseen(file, "this source file was not checked"));
}

interface SourceFile {
  readonly file: string;
  /** Undefined for examples/, test/, bench/ and scripts/, which belong to no package. */
  readonly package: string | undefined;
  readonly kind: "product" | "test" | "config" | "example";
  readonly manifest: Manifest;
}

function locate(root: string, file: string): SourceFile {
  const [top, name = "", ...inside] = file.split("/");
  if (top !== "packages") {
    const kind = top === "examples" ? "example" : "test";
    return { file, package: undefined, kind, manifest: readManifest(root, ".") };
  }
  const manifest = readManifest(root, `packages/${name}`);
  return { file, package: name, kind: kindOf(inside), manifest };
}

function kindOf(inside: readonly string[]): SourceFile["kind"] {
  if (testFolders.has(inside[0] ?? "")) return "test";
  if (inside[0] !== "src") return "config";
  return /\.test\.tsx?$/.test(inside.at(-1) ?? "") ? "test" : "product";
}

type Finding = Pick<Violation, "rule" | "message">;

function judge(root: string, from: SourceFile, reference: Reference): Finding | undefined {
  const { specifier, via } = reference;
  if (specifier === undefined) {
    if (via === "url" || from.package === undefined) return undefined;
    return { rule: "computed", message: "a computed import cannot be checked: write it out" };
  }
  if (/^\.{0,2}\//.test(specifier)) return judgeRelative(root, from, specifier);
  if (via === "url") return undefined;
  if (specifier.startsWith("@holdfast/")) return judgePackage(root, from, specifier);
  return judgeOutside(root, from, specifier);
}

function judgeRelative(root: string, from: SourceFile, specifier: string): Finding | undefined {
  const target = posix.normalize(posix.join(posix.dirname(from.file), specifier));
  const isModule = /\.[cm]?[jt]sx?$/.test(target);
  const [top, name = ""] = target.split("/");
  if (from.kind === "example") return judgeExample(from, target);
  if (top !== "packages" || name !== from.package) {
    if (!isModule) return undefined;
    return judgeLeaving(root, from, target);
  }
  if (!isModule) return undefined;
  return judgeInside(from, target);
}

function judgeExample(from: SourceFile, target: string): Finding | undefined {
  const own = from.file.split("/", 2).join("/");
  if (target.startsWith(`${own}/`)) return undefined;
  return { rule: "example", message: `an example is complete in its folder, without ${target}` };
}

/** A path that leaves its package, or enters one from outside. */
function judgeLeaving(root: string, from: SourceFile, target: string): Finding | undefined {
  const [top, name = "", folder = ""] = target.split("/");
  if (top !== "packages") {
    // A bundler's configuration is a build script, wherever the bundler looks for it.
    const isBuildScript =
      from.package === undefined || /^packages\/[^/]+\/[^/]+\.config\.ts$/.test(from.file);
    if (isBuildScript) return undefined;
    return { rule: "package-entry", message: `${target} is not part of the product` };
  }
  const isEntry = readManifest(root, `packages/${name}`).entries.includes(target);
  if (from.package === undefined && (isEntry || testFolders.has(folder))) return undefined;
  return { rule: "package-entry", message: `reach ${target} through @holdfast/${name}` };
}

function judgeInside(from: SourceFile, target: string): Finding | undefined {
  const [, , top = "", folder = "", ...deeper] = target.split("/");
  if (from.kind === "product" && testFolders.has(top)) {
    return { rule: "testing-only", message: "the product does not import what is for tests" };
  }
  const ownFolder = from.file.split("/")[3] ?? "";
  const allowed = innerRules[`${from.package}/${ownFolder}`];
  if (from.kind !== "product" || allowed === undefined) return undefined;
  if (deeper.length > 0 && [ownFolder, ...allowed].includes(folder)) return undefined;
  return { rule: "inner", message: `${ownFolder} imports only ${allowed.join(", ")} and protocol` };
}

function judgePackage(root: string, from: SourceFile, specifier: string): Finding | undefined {
  const [, name = "", ...sub] = specifier.split("/");
  const { exportNames } = readManifest(root, `packages/${name}`);
  const entry = [".", ...sub].join("/");
  if (!exportNames.includes(entry) && !(exportNames.includes("./*") && sub.length > 0)) {
    return { rule: "package-entry", message: `@holdfast/${name} exports no ${entry}` };
  }
  if (from.package === undefined || from.package === name) return undefined;
  if (name === "testing") {
    if (from.kind === "test") return undefined;
    return { rule: "testing-only", message: "the product does not import what is for tests" };
  }
  if (packageRules[from.package]?.uses.includes(name)) return undefined;
  return { rule: "direction", message: `${from.package} does not import ${name}` };
}

function judgeOutside(root: string, from: SourceFile, specifier: string): Finding | undefined {
  if (from.kind === "example" && !specifier.startsWith("node:"))
    return { rule: "example", message: `an example imports no ${specifier}` };
  if (from.package === undefined) return undefined;
  const refused = { rule: "outside", message: `${from.package} does not import ${specifier}` };
  const rule = packageRules[from.package];
  if (rule === undefined) return { rule: "outside", message: `${from.package} has no rule yet` };
  const { dependencies, devDependencies } = from.manifest;
  const lists: Record<string, readonly string[]> = {
    "its dependencies": dependencies,
    "test tools": [...testTools, ...readManifest(root, ".").devDependencies],
  };
  const allowed = rule.outside.flatMap((one) => lists[one] ?? one);
  if (from.kind === "test") allowed.push(...testTools, ...devDependencies);
  // What builds or starts a package must work with what `npm start` installs.
  if (from.kind === "config")
    allowed.push(...dependencies, ...readManifest(root, ".").dependencies, "node:*");
  const folder = from.file.split("/")[3] ?? "";
  const restricted = from.kind === "product" && innerRules[`${from.package}/${folder}`];
  if (restricted) return refused;
  const module = specifier.startsWith("node:")
    ? (specifier.split("/")[0] ?? specifier)
    : specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
  if (from.kind === "product" && from.package === spawnRule.package)
    if (spawnRule.modules.has(module) && from.file !== spawnRule.only)
      return { rule: "spawn", message: `processes are started in ${spawnRule.only} only` };
  const isAllowed =
    allowed.includes(module) || (module.startsWith("node:") && allowed.includes("node:*"));
  return isAllowed ? undefined : refused;
}
