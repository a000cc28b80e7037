import { parseSync } from "oxc-parser";

/** An ESTree node. Patterns are compared field by field, so nothing here depends on its type. */
export interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

export type Parsed =
  | { readonly ok: true; readonly program: SyntaxNode }
  | { readonly ok: false; readonly problem: string };

export function parse(file: string, text: string): Parsed {
  const { program, errors } = parseSync(file, text, { preserveParens: false });
  if (errors[0]) return { ok: false, problem: errors[0].message };
  return { ok: true, program: program as unknown as SyntaxNode };
}

export function isNode(value: unknown): value is SyntaxNode {
  return typeof value === "object" && value !== null && "type" in value && "start" in value;
}

/** A node and where it is: `list` and `index` are set for an element of an array. */
export interface Place {
  readonly node: SyntaxNode;
  readonly parent: SyntaxNode | undefined;
  readonly list: readonly unknown[] | undefined;
  readonly index: number;
}

/** The node and all of its descendants, parents first. */
export function* walk(node: SyntaxNode, parent?: SyntaxNode): Generator<Place> {
  yield { node, parent, list: undefined, index: 0 };
  yield* walkInside(node);
}

function* walkInside(node: SyntaxNode): Generator<Place> {
  for (const value of Object.values(node)) {
    if (Array.isArray(value)) {
      for (const [index, child] of value.entries()) {
        if (!isNode(child)) continue;
        yield { node: child, parent: node, list: value, index };
        yield* walkInside(child);
      }
    } else if (isNode(value)) {
      yield { node: value, parent: node, list: undefined, index: 0 };
      yield* walkInside(value);
    }
  }
}
