import { z } from "zod";

/**
 * Where text in the context came from, if a stranger may have written it. `file`: a file of the workspace, where a rule
 * says that it taints.
 */
export const taintKinds = [
  "web",
  "mcp",
  "webhook",
  "quote",
  "attachment",
  "search",
  "file",
  "import",
] as const;
export type TaintKind = (typeof taintKinds)[number];

/** Kinds are open: an older Holdfast carries through one that a newer one wrote. */
export const taintSource = z.looseObject({
  kind: z.string().regex(/^[a-z]{1,20}$/),
  /** A host, a server, a file: what a person is told. */
  name: z.string().max(300).optional(),
});
export type TaintSource = z.infer<typeof taintSource>;

/** More are not named: the context is tainted all the same. */
export const maxTaintSources = 20;
export const taintSources = z.array(taintSource).max(100);

export function isTainted(sources: readonly TaintSource[] | undefined): boolean {
  return sources !== undefined && sources.length > 0;
}

/** Each source once, in the order of their first appearance; all kinds, and as many names as fit. */
export function mergeTaint(...lists: readonly (readonly TaintSource[])[]): readonly TaintSource[] {
  const merged = new Map<string, TaintSource>();
  const kinds = new Set<string>();
  for (const { kind, name } of lists.flat()) {
    if (merged.size >= maxTaintSources && kinds.has(kind)) continue;
    kinds.add(kind);
    const key = `${kind} ${name ?? ""}`;
    if (!merged.has(key)) merged.set(key, { kind, ...(name !== undefined && { name }) });
  }
  return [...merged.values()];
}

const maxShownNames = 3;
const withoutName: Readonly<Record<string, string>> = {
  web: "the web",
  mcp: "an MCP server",
  webhook: "a webhook's message",
  quote: "quoted text",
  attachment: "an attachment",
  search: "other sessions",
  file: "a file",
  import: "an imported session",
};
const prefixes: Readonly<Record<string, string>> = {
  mcp: "the MCP server ",
  webhook: "the webhook ",
  attachment: "the attachment ",
  file: "the file ",
};

/** What the model has read, for a sentence such as "after reading evil.example". */
export function describeTaint(sources: readonly TaintSource[]): string {
  const names = sources.map(({ kind, name }) =>
    name === undefined ? (withoutName[kind] ?? kind) : `${prefixes[kind] ?? ""}${name}`,
  );
  const shown = names.slice(0, maxShownNames);
  const more = names.length - shown.length;
  const listed = more > 0 ? [...shown, `${more} more`] : shown;
  const last = listed.at(-1) ?? "";
  return listed.length < 2 ? last : `${listed.slice(0, -1).join(", ")} and ${last}`;
}
