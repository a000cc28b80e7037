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
  const made = `${server}${nameSeparator}${tool.replaceAll(/[^A-Za-z0-9_-]+/g, "_")}`;
  return `${made.slice(0, maxToolNameLength - tail.length)}${tail}`;
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
const longestName = 256;
const longestDescription = 4_000;
const largestSchema = 32 * 1024;
const largestTogether = 512 * 1024;
const deepestSchema = 24;
const maxReportedOmissions = 20;

const offered = z.looseObject({
  name: z.string().min(1).max(longestName),
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
  const taken = new Map<string, OfferedTool>();
  let size = 0;
  const decoded = listed.map((each) => offered.safeParse(each));
  const sound = decoded.flatMap(({ data }) => (data === undefined ? [] : [data]));
  if (sound.length < listed.length)
    leftOut.push(`${listed.length - sound.length} tools are not described as tools are.`);
  for (const { name, description, inputSchema, annotations } of sound.toSorted(compareTools)) {
    const words = schemaProblem(inputSchema);
    const schema = JSON.stringify(inputSchema);
    const called = nameTool(server, name);
    if (words !== undefined) leftOut.push(`${shownName(name)}: ${words}`);
    else if (taken.has(called)) leftOut.push(`${shownName(name)}: it is there twice.`);
    else if (taken.size === maxTools || size + schema.length > largestTogether)
      leftOut.push(`${shownName(name)}: there are too many.`);
    else {
      size += schema.length;
      taken.set(called, {
        name: called,
        remote: name,
        description: describeTool(server, description ?? ""),
        input: { ...inputSchema, type: "object" },
        readsOnly: annotations?.readOnlyHint === true,
      });
    }
  }
  const more = leftOut.length - maxReportedOmissions;
  return {
    tools: [...taken.values()].toSorted((a, b) => compare(a.name, b.name)),
    leftOut: more > 0 ? [...leftOut.slice(0, maxReportedOmissions), `And ${more} more.`] : leftOut,
  };
}

/** Names the source first: a model reads the description, and a server may write anything into it. */
function describeTool(server: string, words: string): string {
  const text = words.toWellFormed().trim();
  const cut = text.length > longestDescription ? `${text.slice(0, longestDescription)}…` : text;
  return `[A tool of the MCP server ${server}, in that server's words.] ${cut}`.trimEnd();
}

function schemaProblem(schema: JsonObject): string | undefined {
  if (schema["type"] !== "object") return "its arguments are not an object.";
  if (JSON.stringify(schema).length > largestSchema) return "its schema is too large.";
  if (!isSound(schema, 0)) return "its schema is too deep, or refers to somewhere else.";
  return undefined;
}

/** An external reference would make a reader fetch it. */
function isSound(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (depth === deepestSchema) return false;
  return Object.entries(value).every(
    ([name, each]) =>
      (name !== "$ref" || typeof each !== "string" || each.startsWith("#")) &&
      isSound(each, depth + 1),
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
