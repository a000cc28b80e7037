import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";

import { testFolders } from "../dependency-rule.ts";
import type { Where } from "./mutant.ts";
import { isNode, parse, type SyntaxNode, walk } from "./syntax.ts";

export interface Declaration {
  readonly file: string;
  readonly node: SyntaxNode;
}

const notOurs: ReadonlySet<string> = new Set(["node_modules", "dist", "coverage", ...testFolders]);

interface Files {
  readonly root: string;
  readonly names: readonly string[];
  /** Caches, shared by all faults. */
  readonly texts: Map<string, string>;
  readonly programs: Map<string, SyntaxNode>;
}

/** The product's source files without tests, with the edits made so far. */
export class Sources {
  readonly #files: Files;
  readonly edited = new Map<string, string>();

  private constructor(files: Files) {
    this.#files = files;
  }

  static of(root: string): Sources {
    return new Sources({ root, names: listFiles(root), texts: new Map(), programs: new Map() });
  }

  /** The same files without the edits. */
  unedited(): Sources {
    return new Sources(this.#files);
  }

  text(file: string): string {
    const edited = this.edited.get(file);
    if (edited !== undefined) return edited;
    const { root, texts } = this.#files;
    const text = texts.get(file) ?? readFileSync(join(root, file), "utf8");
    texts.set(file, text);
    return text;
  }

  #program(file: string): SyntaxNode {
    const { programs } = this.#files;
    const known = this.edited.has(file) ? undefined : programs.get(file);
    if (known !== undefined) return known;
    const parsed = parse(file, this.text(file));
    if (!parsed.ok) throw new Error(`${file} does not parse: ${parsed.problem}`);
    if (!this.edited.has(file)) programs.set(file, parsed.program);
    return parsed.program;
  }

  /** Whether any file contains the word. */
  mentions(word: string): boolean {
    const pattern = new RegExp(`\\b${word}\\b`);
    return this.#files.names.some((file) => pattern.test(this.text(file)));
  }

  sqlFiles(where: Where): readonly string[] {
    const [name = "", wanted = ""] = where.split("/");
    return this.#filesOf(name).filter((file) => basename(file) === wanted);
  }

  /** All declarations with this name. */
  declarations(where: Where): readonly Declaration[] {
    const [name = "", ...rest] = where.split("/");
    const symbol = rest.pop() ?? "";
    const [wanted] = rest;
    const [top = "", ...inner] = symbol.split(".");
    return this.#filesOf(name)
      .filter((file) => wanted === undefined || basename(file) === wanted)
      .filter((file) => /\.tsx?$/.test(file) && this.text(file).includes(top))
      .flatMap((file) =>
        inner
          .reduce(
            (nodes, part) => nodes.flatMap((node) => declaredInside(node, part)),
            topLevel(this.#program(file)).filter((node) => nameOf(node) === top),
          )
          .map((node) => ({ file, node })),
      );
  }

  #filesOf(name: string): readonly string[] {
    return this.#files.names.filter((file) => file.startsWith(`packages/${name}/`));
  }
}

function listFiles(root: string): readonly string[] {
  const found = globSync("packages/**/*.{ts,tsx,sql}", {
    cwd: root,
    exclude: (name) => notOurs.has(basename(name)),
  });
  return found.filter((file) => !/\.test\.tsx?$/.test(file)).toSorted();
}

function topLevel(program: SyntaxNode): readonly SyntaxNode[] {
  const body = Array.isArray(program["body"]) ? program["body"].filter(isNode) : [];
  return body
    .map((node) => (isNode(node["declaration"]) ? node["declaration"] : node))
    .flatMap((node) => {
      const declared = node["declarations"];
      return Array.isArray(declared) ? declared.filter(isNode) : [node];
    });
}

const declaring: ReadonlySet<string> = new Set([
  "FunctionDeclaration",
  "ClassDeclaration",
  "VariableDeclarator",
  "MethodDefinition",
  "PropertyDefinition",
  "Property",
]);

function nameOf(node: SyntaxNode): string | undefined {
  if (!declaring.has(node.type) || node["shorthand"] === true) return undefined;
  const name = node["id"] ?? node["key"];
  return isNode(name) && typeof name["name"] === "string" ? name["name"] : undefined;
}

function declaredInside(node: SyntaxNode, name: string): readonly SyntaxNode[] {
  return [...walk(node)]
    .map((place) => place.node)
    .filter((inside) => inside !== node && nameOf(inside) === name);
}
