import { createHash } from "node:crypto";
import { z } from "zod";
import { type JsonObject, jsonObject } from "@holdfast/protocol";

/** The longest tool name that every provider accepts. */
const maxToolNameLength = 64;
const nameSeparator = "__";

/**
 * A server tool's name here. A name that does not fit is shortened and gets part of its hash: the result depends on the
 * server and the tool alone, whatever other tools there are.
 */
function nameTool(server: string, tool: string): string {
  const plain = `${server}${nameSeparator}${tool}`;
  if (/^[A-Za-z0-9_-]+$/.test(tool) && plain.length <= maxToolNameLength) return plain;
  const tail = `_${createHash("sha256").update(plain).digest("hex").slice(0, 8)}`;
  const sanitized = `${server}${nameSeparator}${tool.replaceAll(/[^A-Za-z0-9_-]+/g, "_")}`;
  return `${sanitized.slice(0, maxToolNameLength - tail.length)}${tail}`;
}

/** A tool that a server offers and the host accepts. */
export interface OfferedTool {
  readonly name: string;
  /** The server's own name for it. */
  readonly remote: string;
  readonly description: string;
  readonly input: JsonObject & { readonly type: "object" };
  readonly readsOnly: boolean;
}

export interface ToolList {
  /** Sorted by name. */
  readonly tools: readonly OfferedTool[];
  /** What was left out and why, for the operator. */
  readonly leftOut: readonly string[];
}

const maxTools = 128;
const maxNameLength = 256;
const maxDescriptionLength = 4_000;
const maxSchemaLength = 32 * 1024;
const maxTotalLength = 512 * 1024;
const maxSchemaDepth = 24;
const maxReportedOmissions = 20;

const offered = z.looseObject({
  name: z.string().min(1).max(maxNameLength),
  description: z.string().optional(),
  inputSchema: jsonObject,
  annotations: z.looseObject({ readOnlyHint: z.boolean().optional() }).optional().catch(undefined),
});

/**
 * Validates a server's tools one by one: an unusable one is left out, and the others stay. The same tools give the same
 * list, in whatever order they come.
 */
export function readToolList(server: string, listed: readonly unknown[]): ToolList {
  const leftOut: string[] = [];
  const accepted = new Map<string, OfferedTool>();
  let size = 0;
  const decoded = listed.map((tool) => offered.safeParse(tool));
  const valid = decoded.flatMap(({ data }) => (data === undefined ? [] : [data]));
  if (valid.length < listed.length)
    leftOut.push(`${listed.length - valid.length} tools are not described as tools are.`);
  for (const { name, description, inputSchema, annotations } of valid.toSorted(compareTools)) {
    const words = schemaProblem(inputSchema);
    const schema = JSON.stringify(inputSchema);
    const toolName = nameTool(server, name);
    if (words !== undefined) leftOut.push(`${shownName(name)}: ${words}`);
    else if (accepted.has(toolName)) leftOut.push(`${shownName(name)}: it is there twice.`);
    else if (accepted.size === maxTools || size + schema.length > maxTotalLength)
      leftOut.push(`${shownName(name)}: there are too many.`);
    else {
      size += schema.length;
      accepted.set(toolName, {
        name: toolName,
        remote: name,
        description: describeTool(server, description ?? ""),
        input: { ...inputSchema, type: "object" },
        readsOnly: annotations?.readOnlyHint === true,
      });
    }
  }
  const omitted = leftOut.length - maxReportedOmissions;
  return {
    tools: [...accepted.values()].toSorted((a, b) => compare(a.name, b.name)),
    leftOut:
      omitted > 0 ? [...leftOut.slice(0, maxReportedOmissions), `And ${omitted} more.`] : leftOut,
  };
}

/** Names the source first: a model reads the description, and a server may write anything into it. */
function describeTool(server: string, words: string): string {
  const text = words.toWellFormed().trim();
  const shortened =
    text.length > maxDescriptionLength ? `${text.slice(0, maxDescriptionLength)}…` : text;
  return `[A tool of the MCP server ${server}, in that server's words.] ${shortened}`.trimEnd();
}

function schemaProblem(schema: JsonObject): string | undefined {
  if (schema["type"] !== "object") return "its arguments are not an object.";
  if (JSON.stringify(schema).length > maxSchemaLength) return "its schema is too large.";
  if (!isSelfContained(schema, 0)) return "its schema is too deep, or refers to somewhere else.";
  return undefined;
}

/** An external reference would make a reader fetch it. */
function isSelfContained(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (depth === maxSchemaDepth) return false;
  return Object.entries(value).every(
    ([name, tool]) =>
      (name !== "$ref" || typeof tool !== "string" || tool.startsWith("#")) &&
      isSelfContained(tool, depth + 1),
  );
}

/** Of duplicates, the same one always wins. */
function compareTools(a: z.infer<typeof offered>, b: z.infer<typeof offered>): number {
  return compare(a.name, b.name) || compare(JSON.stringify(a), JSON.stringify(b));
}

/** By code units, the same on every machine. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function shownName(name: string): string {
  return JSON.stringify(name.slice(0, 80));
}
