import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { lstat, readdir, realpath, stat } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";

import type { ApprovedFile } from "@holdfast/protocol";

import { belowRoot } from "../workspace/resolve-path.ts";
import type { CallSubject } from "./match-rules.ts";
import {
  assignmentsOfLine,
  commandsOf,
  commandsOfLine,
  isPlainProgram,
  nameOfProgram,
} from "./programs.ts";

/** What programs load without being told to, in the folder they work in and in those above it. */
const loadedBy: Readonly<Record<string, string>> = {
  npm: "package.json .npmrc",
  npx: "package.json .npmrc",
  pnpm: "package.json .npmrc .pnpmfile.cjs pnpm-workspace.yaml",
  yarn: "package.json .yarnrc .yarnrc.yml",
  bun: "package.json bunfig.toml",
  bunx: "package.json bunfig.toml",
  node: "package.json",
  tsc: "tsconfig.json package.json",
  make: "GNUmakefile makefile Makefile",
  gmake: "GNUmakefile makefile Makefile",
  just: "justfile Justfile .justfile",
  cmake: "CMakeLists.txt",
  ninja: "build.ninja",
  cargo: "Cargo.toml build.rs .cargo/config.toml .cargo/config rust-toolchain.toml",
  go: "go.mod go.work",
  python: "sitecustomize.py usercustomize.py",
  python3: "sitecustomize.py usercustomize.py",
  pip: "setup.py pyproject.toml setup.cfg",
  pip3: "setup.py pyproject.toml setup.cfg",
  uv: "pyproject.toml uv.toml setup.py",
  poetry: "pyproject.toml poetry.toml",
  pytest: "conftest.py pytest.ini pyproject.toml setup.cfg tox.ini",
  tox: "tox.ini pyproject.toml setup.cfg",
  ruby: ".ruby-version",
  rake: "Rakefile rakefile Gemfile",
  bundle: "Gemfile .bundle/config",
  mvn: "pom.xml .mvn/maven.config .mvn/jvm.config",
  gradle: "build.gradle build.gradle.kts settings.gradle settings.gradle.kts gradle.properties",
  docker: "Dockerfile docker-compose.yml docker-compose.yaml compose.yml compose.yaml",
  podman: "Dockerfile Containerfile docker-compose.yml compose.yml compose.yaml",
  deno: "deno.json deno.jsonc",
  git: ".git/config .git/config.worktree .git/info/attributes .gitattributes .gitmodules HEAD config",
};
/** For programs that are not in the table. */
const allNames = [
  ...new Set(
    Object.entries(loadedBy).flatMap(([program, names]) =>
      program === "git" ? [] : names.split(" "),
    ),
  ),
];
/** `vitest.config.ts`, `.eslintrc.cjs` and the like are programs too. */
const configFile = /^\.?[\w-]+(\.config|rc)\.(js|cjs|mjs|ts|cts|mts|json|ya?ml)$/;

const maxFiles = 200;
const maxWords = 5_000;
const maxHashedBytes = 16 * 1024 * 1024;

/**
 * The files of the workspace that a command names or loads, each with a digest of its content, so that a yes is bound
 * to them. What a program reads beyond that cannot be known; the sandbox is what confines it.
 */
export async function loadedFiles(
  subject: CallSubject | null,
  place: string | undefined,
): Promise<readonly ApprovedFile[]> {
  if (place === undefined || (subject?.kind !== "argv" && subject?.kind !== "shell")) return [];
  const root = await realpath(place).catch(() => null);
  if (root === null) return [];
  const commands =
    subject.kind === "argv" ? commandsOf(subject.argv) : commandsOfLine(subject.line);
  const folder = join(root, subject.folder ?? "");
  const found = new Set<string>();
  for (const argv of commands)
    for (const path of await filesOf(argv, folder, root)) found.add(path);
  const assigned = subject.kind === "shell" ? assignmentsOfLine(subject.line) : [];
  for (const word of assigned.slice(0, maxWords).flatMap(pathsInWord)) {
    const path = await realpath(resolve(folder, word)).catch(() => null);
    if (path !== null && belowRoot(root, path) !== null && (await isFile(path))) found.add(path);
  }
  const files: ApprovedFile[] = [];
  for (const path of [...found].toSorted())
    files.push({ path: relative(root, path), hash: await hashFile(path) });
  if (files.length <= maxFiles) return files;
  // Nobody reads so many, and each of them counts all the same.
  const [listed, others] = [files.slice(0, maxFiles), files.slice(maxFiles)];
  const hash = createHash("sha256").update(JSON.stringify(others)).digest("hex");
  return [...listed, { path: `and ${others.length} more files`, hash: `sha256:${hash}` }];
}

async function filesOf(
  [program = "", ...args]: readonly string[],
  folder: string,
  root: string,
): Promise<readonly string[]> {
  const guessed = loadedByName(program);
  const named = args.flatMap(pathsInWord).flatMap((word) => [word, ...guessed(word)]);
  // `sh < x` splits into `sh` and `x`, so that the program may be a file that another one reads.
  const words = isPlainProgram(program) ? [program] : [program, ...named].slice(0, maxWords);
  const files: string[] = [];
  const folders = new Set(isPlainProgram(program) ? [] : foldersUpTo(folder, root));
  for (const word of words) {
    const path = await realpath(resolve(folder, word)).catch(() => null);
    if (path === null || belowRoot(root, path) === null) continue;
    const info = await stat(path);
    if (info.isFile()) files.push(path);
    else if (info.isDirectory()) {
      folders.add(path);
      for (const name of startFiles)
        if (await isFile(join(path, name))) files.push(join(path, name));
    }
  }
  const names = loadedBy[nameOfProgram(program)]?.split(" ") ?? allNames;
  for (const each of folders) {
    const present = names.map((name) => join(each, name));
    const configs = names.includes("package.json") ? await configFilesIn(each) : [];
    for (const path of [...present, ...configs]) if (await isFile(path)) files.push(path);
  }
  return files;
}

/** What `node folder` and `python3 folder` begin with. */
const startFiles = "index.js index.mjs index.cjs __main__.py __init__.py".split(" ");

/** The files that a program makes of a name: `node a` loads `a.js`, and `python3 -m a.b` loads `a/b.py`. */
function loadedByName(program: string): (word: string) => readonly string[] {
  const name = nameOfProgram(program);
  if (name === "node") return (word) => [`${word}.js`];
  if (!/^(python|pypy)[\d.]*$/.test(name)) return () => [];
  return (word) => {
    const path = word.replaceAll(".", "/");
    return [path, `${path}.py`];
  };
}

/** `docs`, `--prefix=docs`, `-Cdocs`, `if=a`. */
function pathsInWord(word: string): readonly string[] {
  if (word === "" || word.length > 4_096) return [];
  const value = word.slice(word.indexOf("=") + 1);
  const attached = /^-[A-Za-z](.+)$/.exec(word)?.[1];
  return [word, ...(value === word ? [] : [value]), ...(attached === undefined ? [] : [attached])];
}

function foldersUpTo(folder: string, root: string): readonly string[] {
  const folders = [folder];
  for (let at = folder; at !== root && at !== dirname(at); at = dirname(at))
    folders.push(dirname(at));
  return folders;
}

async function configFilesIn(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch(() => []);
  return names.filter((name) => configFile.test(name)).map((name) => join(folder, name));
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (info) => info.isFile(),
    () => false,
  );
}

/** A large file is known by its size and the time of its last change, which no ordinary program can set. */
async function hashFile(path: string): Promise<string | null> {
  try {
    const { size, ctimeMs, ino } = await stat(path);
    if (size > maxHashedBytes) return `stat:${size}-${ino}-${ctimeMs}`;
    const hash = createHash("sha256");
    for await (const piece of createReadStream(path)) hash.update(piece as Buffer);
    return `sha256:${hash.digest("hex")}`;
  } catch {
    return null;
  }
}

export function sameFiles(before: readonly ApprovedFile[], now: readonly ApprovedFile[]): boolean {
  const current = new Map(now.map(({ path, hash }) => [path, hash]));
  return (
    before.length === now.length &&
    before.every(({ path, hash }) => hash !== null && current.get(path) === hash)
  );
}

/** The clocks of store and disk may differ a little. */
const clockSlackMs = 2_000;

/** Whether one of these files, or a link to it, was written since then. */
export async function changedAfter(
  place: string,
  files: readonly ApprovedFile[],
  at: number,
): Promise<boolean> {
  const changes = await Promise.all(
    files.map(({ path }) =>
      lstat(join(place, path)).then(
        (info) => info.ctimeMs,
        () => Infinity,
      ),
    ),
  );
  return changes.some((change) => change > at - clockSlackMs);
}
