import { mergeTaint, type StoredEvent, taintSources, type TaintSource } from "@holdfast/protocol";
import type { ContextEntries } from "./session-context.ts";

/**
 * The sources of text in the context that a stranger may have written. It depends only on the entries and the summary in
 * the context, so it lasts exactly as long as they do, whichever host runs the session.
 */
export function taintOf({
  head,
  epoch,
  tail,
}: Pick<ContextEntries, "head" | "epoch" | "tail">): readonly TaintSource[] {
  return mergeTaint(taintOfEntries(head), epoch?.taint ?? [], taintOfEntries(tail));
}

export function taintOfEntries(entries: readonly StoredEvent[]): readonly TaintSource[] {
  return mergeTaint(entries.flatMap(taintOfEntry));
}

const messageTypes: ReadonlySet<string> = new Set([
  "message.user",
  "message.tool",
  "message.assistant",
]);

function taintOfEntry({ type, data }: StoredEvent): readonly TaintSource[] {
  if (data["superseded"] === true) return [];
  // What a model says is not marked, except in a session that was imported.
  if (!messageTypes.has(type)) return [];
  const parts = Array.isArray(data["parts"]) ? data["parts"] : [];
  const isOwn = (part: RawPart) => type === "message.assistant" && isModelImage(part);
  const sources = parts.flatMap((part) =>
    isObject(part) && !isOwn(part) ? taintOfPart(part) : [],
  );
  // From before parts said where they came from.
  const hook = typeof data["lane"] === "string" ? /^webhook:([^:]+)/.exec(data["lane"]) : null;
  return hook === null || sources.some(({ kind }) => kind === "webhook")
    ? sources
    : [...sources, { kind: "webhook", name: hook[1] ?? "" }];
}

type RawPart = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is RawPart {
  return typeof value === "object" && value !== null;
}

/** Imported pictures have no such mark: whoever made the document chose them. */
function isModelImage(part: RawPart): boolean {
  return part["type"] === "image" && isObject(part["opaque"]);
}

function taintOfPart(part: RawPart): readonly TaintSource[] {
  const recorded =
    part["taint"] === undefined ? [] : (taintSources.safeParse(part["taint"]).data ?? []);
  switch (part["type"]) {
    case "text":
      return Array.isArray(part["quoted"]) && part["quoted"].length > 0
        ? [...recorded, { kind: "quote" }]
        : recorded;
    case "file":
    case "image":
      return [{ kind: "attachment", ...named(part["name"]) }];
    case "tool_result":
      return recorded.length > 0 ? recorded : taintOfOlderResult(part["name"]);
    default:
      return recorded;
  }
}

/** From before results said where they came from. Names of MCP tools are `server__tool`. */
function taintOfOlderResult(tool: unknown): readonly TaintSource[] {
  if (tool === "fetch_url") return [{ kind: "web" }];
  if (tool === "search_sessions") return [{ kind: "search" }];
  const server = typeof tool === "string" ? /^(.+?)__/.exec(tool) : null;
  return server === null ? [] : [{ kind: "mcp", ...named(server[1]) }];
}

const maxNameLength = 100;

function named(name: unknown): { readonly name?: string } {
  return typeof name === "string" && name !== "" ? { name: name.slice(0, maxNameLength) } : {};
}
