import { isNode, parse, type Place, type SyntaxNode, walk } from "./syntax.ts";

/**
 * A piece of TypeScript to search for. `$name` matches any one expression, identifier, property or statement, and the
 * same one each time it appears; `$$name` matches any number of arguments, elements, properties or statements. Types,
 * casts and formatting are ignored, so a pattern survives renames of whatever it leaves to placeholders.
 */
export interface Pattern {
  readonly kind: "expression" | "statements" | "property";
  readonly nodes: readonly SyntaxNode[];
}

/** The source text that each placeholder matched. */
export type Bindings = ReadonlyMap<string, string>;

export interface Match {
  /** Of its first node. */
  readonly place: Place;
  readonly start: number;
  readonly end: number;
  readonly bindings: Bindings;
}

const startsAsProperty = /^(\.\.\.|["$\w]+\s*:)/;

export function parsePattern(text: string): Pattern {
  const isProperty = startsAsProperty.test(text);
  // A brace begins an object here, and never a block.
  const code = text.startsWith("{") ? `(${text})` : text;
  const wrapped = isProperty ? `({ ${text} })` : `async () => { for (;;) { ${code} } }`;
  const parsed = parse("pattern.ts", wrapped);
  if (!parsed.ok) throw new Error(`The pattern does not parse: ${text}\n${parsed.problem}`);
  const holder = isProperty ? "ObjectExpression" : "ForStatement";
  const found = walk(parsed.program).find(({ node }) => node.type === holder)?.node;
  const nodes = isProperty ? nodesIn(found, "properties") : nodesIn(found?.["body"], "body");
  const [only] = nodes;
  if (isProperty) return { kind: "property", nodes };
  if (nodes.length === 1 && only?.type === "ExpressionStatement" && !text.trimEnd().endsWith(";"))
    return { kind: "expression", nodes: [only["expression"] as SyntaxNode] };
  return { kind: "statements", nodes };
}

function nodesIn(node: unknown, field: string): readonly SyntaxNode[] {
  return isNode(node) && Array.isArray(node[field]) ? node[field].filter(isNode) : [];
}

/** All matches inside a node. */
export function findMatches(
  pattern: Pattern,
  scope: SyntaxNode,
  source: string,
  known: Bindings = new Map(),
): readonly Match[] {
  const matches: Match[] = [];
  for (const place of walk(scope)) {
    const nodes = nodesFrom(place, pattern);
    const last = nodes.at(-1);
    const matcher = new Matcher(source, known);
    if (last === undefined || !matcher.fitsAll(pattern.nodes, nodes)) continue;
    matches.push({ place, start: place.node.start, end: last.end, bindings: matcher.bindings });
  }
  return matches;
}

/** As many nodes from this place on as the pattern has. */
function nodesFrom(place: Place, { kind, nodes: wanted }: Pattern): readonly SyntaxNode[] {
  const { node, list = [], index, parent } = place;
  if (kind === "property" && parent?.type !== "ObjectExpression") return [];
  return wanted.length === 1 ? [node] : list.slice(index, index + wanted.length).filter(isNode);
}

/** Compared only where the pattern has them. */
const optionalFields: ReadonlySet<string> = new Set([
  "typeAnnotation",
  "returnType",
  "typeArguments",
  "typeParameters",
  "decorators",
]);
const ignoredFields: ReadonlySet<string> = new Set(["start", "end", "raw", "shorthand"]);
const wrappers: ReadonlySet<string> = new Set([
  "TSAsExpression",
  "TSNonNullExpression",
  "TSSatisfiesExpression",
]);

function unwrapped(node: SyntaxNode): SyntaxNode {
  const inner = wrappers.has(node.type) ? node["expression"] : undefined;
  return isNode(inner) ? unwrapped(inner) : node;
}

class Matcher {
  readonly #source: string;
  #bound: Map<string, string>;

  constructor(source: string, known: Bindings) {
    this.#source = source;
    this.#bound = new Map(known);
  }

  get bindings(): Bindings {
    return this.#bound;
  }

  fitsAll(patterns: readonly SyntaxNode[], nodes: readonly SyntaxNode[]): boolean {
    const [pattern, ...others] = patterns;
    if (pattern === undefined) return nodes.length === 0;
    const many = placeholderIn(pattern, "$$");
    if (many === undefined) {
      const [node, ...rest] = nodes;
      return node !== undefined && this.fits(pattern, node) && this.fitsAll(others, rest);
    }
    for (let taken = 0; taken <= nodes.length; taken += 1) {
      const before = new Map(this.#bound);
      const first = nodes[0];
      const last = nodes[taken - 1];
      const text = first && last ? this.#source.slice(first.start, last.end) : "";
      if (this.#bind(many, text) && this.fitsAll(others, nodes.slice(taken))) return true;
      this.#bound = before;
    }
    return false;
  }

  fits(pattern: SyntaxNode, node: SyntaxNode): boolean {
    const one = placeholderIn(pattern, "$");
    if (one !== undefined) return this.#bind(one, this.#textOf(unwrapped(node)));
    if (pattern.type !== node.type) return false;
    return Object.entries(pattern).every(([field, wanted]) => {
      if (ignoredFields.has(field)) return true;
      const isAbsent = wanted === null || (Array.isArray(wanted) && wanted.length === 0);
      if (isAbsent && optionalFields.has(field)) return true;
      return this.#fitsField(wanted, node[field]);
    });
  }

  #fitsField(wanted: unknown, found: unknown): boolean {
    if (Array.isArray(wanted))
      return Array.isArray(found) && this.fitsAll(wanted.filter(isNode), found.filter(isNode));
    if (isNode(wanted)) return isNode(found) && this.#fitsInside(wanted, found);
    if (isRecord(wanted)) {
      const other = isRecord(found) ? found : {};
      return Object.entries(wanted).every(([name, value]) => Object.is(value, other[name]));
    }
    return Object.is(wanted, found);
  }

  /** `x as T` and `x!` match a pattern for `x`. */
  #fitsInside(pattern: SyntaxNode, node: SyntaxNode): boolean {
    const before = new Map(this.#bound);
    if (this.fits(pattern, node)) return true;
    this.#bound = before;
    const inner = unwrapped(node);
    return inner !== node && this.fits(pattern, inner);
  }

  #bind(name: string, text: string): boolean {
    const bound = this.#bound.get(name);
    this.#bound.set(name, text);
    return bound === undefined || bound === text;
  }

  #textOf(node: SyntaxNode): string {
    // The range of a parameter includes its type.
    if (node.type === "Identifier" && typeof node["name"] === "string") return node["name"];
    const text = this.#source.slice(node.start, node.end);
    return compound.has(node.type) ? `(${text})` : text;
  }
}

/** Parenthesised when inserted elsewhere. */
const compound: ReadonlySet<string> = new Set([
  "ArrowFunctionExpression",
  "AssignmentExpression",
  "AwaitExpression",
  "BinaryExpression",
  "ConditionalExpression",
  "LogicalExpression",
  "SequenceExpression",
  "TSAsExpression",
  "UnaryExpression",
  "YieldExpression",
]);

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

/** The placeholder that this node consists of: an identifier, alone, as a statement or as a property. */
function placeholderIn(node: SyntaxNode, sign: "$" | "$$"): string | undefined {
  if (node.type === "ExpressionStatement")
    return placeholderIn(node["expression"] as SyntaxNode, sign);
  if (node.type === "Property" && node["shorthand"] === true)
    return placeholderIn(node["value"] as SyntaxNode, sign);
  const name = node.type === "Identifier" ? node["name"] : undefined;
  if (typeof name !== "string" || !name.startsWith(sign)) return undefined;
  return sign === "$" && name.startsWith("$$") ? undefined : name;
}

const placeholder = /\$(?:&|\$?[A-Za-z]\w*)/g;

/** Replaces placeholders by what they matched, and `$&` by the whole match. */
export function fillIn(text: string, bindings: Bindings, whole = ""): string {
  return text.replace(placeholder, (name) => {
    const filled = name === "$&" ? whole : bindings.get(name);
    if (filled === undefined) throw new Error(`${name} is not bound: ${text}`);
    return filled;
  });
}
