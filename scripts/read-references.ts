import { parseSync, Visitor, type Expression, type Argument } from "oxc-parser";

/** One place in a source file that names another module. */
export interface Reference {
  /** As written; undefined where it is computed, and so cannot be checked. */
  readonly specifier: string | undefined;
  readonly line: number;
  /** `import` in any of its forms, or `new URL("…", import.meta.url)`, which workers are started with. */
  readonly via: "import" | "url";
}

export type ReadReferences =
  | { readonly ok: true; readonly references: readonly Reference[] }
  | { readonly ok: false; readonly problem: string };

export function readReferences(path: string, text: string): ReadReferences {
  const { program, errors } = parseSync(path, text);
  if (errors[0]) return { ok: false, problem: errors[0].message };
  const references: Reference[] = [];
  const lineAt = createLineFinder(text);
  const add = (via: Reference["via"], at: number, specifier: string | undefined): void => {
    references.push({ via, line: lineAt(at), specifier });
  };
  new Visitor({
    ImportDeclaration: (node) => add("import", node.start, node.source.value),
    ExportAllDeclaration: (node) => add("import", node.start, node.source.value),
    ExportNamedDeclaration: (node) => {
      if (node.source) add("import", node.start, node.source.value);
    },
    ImportExpression: (node) => add("import", node.start, constantText(node.source)),
    TSImportType: (node) => add("import", node.start, node.source.value),
    TSImportEqualsDeclaration: (node) => {
      const target = node.moduleReference;
      if (target.type === "TSExternalModuleReference") {
        add("import", node.start, target.expression.value);
      }
    },
    CallExpression: (node) => {
      if (isRequire(node.callee) || isImportMetaResolve(node.callee)) {
        add("import", node.start, constantText(node.arguments[0]));
      }
    },
    NewExpression: (node) => {
      const [address, base] = node.arguments;
      const isUrl = node.callee.type === "Identifier" && node.callee.name === "URL";
      if (isUrl && isImportMeta(base, "url")) add("url", node.start, constantText(address));
    },
  }).visit(program);
  return { ok: true, references };
}

function constantText(node: Expression | Argument | undefined): string | undefined {
  if (node?.type === "Literal" && typeof node.value === "string") return node.value;
  if (node?.type !== "TemplateLiteral" || node.expressions.length > 0) return undefined;
  return node.quasis[0]?.value.cooked ?? undefined;
}

const isRequire = (callee: Expression): boolean =>
  callee.type === "Identifier" && callee.name === "require";

const isImportMetaResolve = (callee: Expression): boolean => isImportMeta(callee, "resolve");

function isImportMeta(node: Expression | Argument | undefined, property: string): boolean {
  return (
    node?.type === "MemberExpression" &&
    node.object.type === "MetaProperty" &&
    node.property.type === "Identifier" &&
    node.property.name === property
  );
}

function createLineFinder(text: string): (offset: number) => number {
  const starts = [0];
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return (offset) => starts.findLastIndex((start) => start <= offset) + 1;
}
