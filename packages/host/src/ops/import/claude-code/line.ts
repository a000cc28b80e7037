import { z } from "zod";

import { flag, list, record, text, textIn } from "../reading/json.ts";
import { mediaTypeOf } from "../reading/media-type.ts";
import type { ImportedPart } from "../source.ts";
import { timeOf } from "../transcript/entries.ts";

const message = z.looseObject({
  id: text,
  model: text,
  content: z.unknown().optional(),
  usage: z.unknown().optional(),
});

const line = z.looseObject({
  type: z.string(),
  subtype: text,
  uuid: text,
  parentUuid: text,
  logicalParentUuid: text,
  sessionId: text,
  agentId: text,
  timestamp: z.unknown().optional(),
  cwd: text,
  gitBranch: text,
  isSidechain: flag,
  isMeta: flag,
  isCompactSummary: flag,
  isApiErrorMessage: flag,
  message: message.nullish().catch(null),
  content: z.unknown().optional(),
  summary: text,
  customTitle: text,
  aiTitle: text,
});
export type SessionLine = z.infer<typeof line>;

/** `null`: it isn't a line of a session. */
export function readLine(value: unknown): SessionLine | null {
  const read = line.safeParse(value).data;
  if (read === undefined) return null;
  // What a tool gave stands in the message as well, and here once more in full.
  delete read["toolUseResult"];
  return read;
}

export function isSaid({ type, uuid }: SessionLine): boolean {
  return (type === "user" || type === "assistant" || type === "system") && uuid != null;
}

export function atOf({ timestamp }: SessionLine, last: number): number {
  return timeOf(timestamp) ?? last;
}

/** Words of Claude Code itself, in the name of the person. */
const ownWords =
  /^\s*(?:<(?:command-name|command-message|local-command-stdout|local-command-stderr|local-command-caveat|bash-input|bash-stdout|bash-stderr|task-notification|system-reminder|user-memory-input)>|\[Request interrupted by user)/u;

export type LineKind = "prompt" | "results" | "summary" | "context" | "card" | "answer" | "none";

/** What a line of a session is to the person. */
export function kindOf(read: SessionLine): LineKind {
  const { type, message: sent } = read;
  if (type === "assistant") return "answer";
  if (type === "system") return read.content == null ? "none" : "card";
  if (type !== "user" || sent == null) return "none";
  if (read.isCompactSummary) return "summary";
  const blocks = list.parse(sent.content);
  if (blocks.some((each) => record.parse(each)["type"] === "tool_result")) return "results";
  if (read.isMeta) return "context";
  return ownWords.test(textOf(sent.content)) ? "card" : "prompt";
}

/** The texts of a message, whatever form its content has. */
export function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  const texts = list.parse(content).flatMap((each) => {
    const { type, text: part } = record.parse(each);
    return type === "text" && typeof part === "string" ? [part] : [];
  });
  return texts.join("\n");
}

/** As the person saw it: without the marks around it. */
export function shownText(content: unknown): string {
  const given = textOf(content);
  const name = /<command-name>([\s\S]*?)<\/command-name>/u.exec(given)?.[1];
  if (name === undefined) return given.replaceAll(/<\/?[a-z-]+>/gu, "").trim();
  const args = /<command-args>([\s\S]*?)<\/command-args>/u.exec(given)?.[1] ?? "";
  return `${name.trim()} ${args.trim()}`.trim();
}

export interface Unknown {
  readonly type: string;
  readonly value: unknown;
}

/** The parts of a message. A part of a kind that is not known is handed to `unknown`. */
export function partsOf(content: unknown, unknown: (found: Unknown) => void): ImportedPart[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  const parts: ImportedPart[] = [];
  for (const value of list.parse(content)) {
    const block = record.parse(value);
    const { type } = block;
    const said = typeof block["text"] === "string" ? block["text"] : "";
    switch (type) {
      case "text":
        if (said !== "") addText(parts, said);
        break;
      case "thinking":
        if (typeof block["thinking"] === "string" && block["thinking"] !== "")
          parts.push({ type: "reasoning", text: block["thinking"] });
        break;
      case "redacted_thinking":
      case "fallback":
        break;
      case "tool_use":
      case "server_tool_use": {
        const { id, name, input } = block;
        parts.push({
          type: "tool_call",
          call: textIn(id),
          name: typeof name === "string" ? name : "tool",
          input: JSON.stringify(input ?? {}),
        });
        break;
      }
      case "image":
      case "document": {
        const file = fileOf(block, parts.length + 1);
        if (file === null) unknown({ type, value });
        else parts.push(file);
        break;
      }
      default:
        unknown({ type: String(type), value });
    }
  }
  return parts;
}

function addText(parts: ImportedPart[], said: string): void {
  const last = parts.at(-1);
  if (last?.type === "text") parts[parts.length - 1] = { ...last, text: `${last.text}\n${said}` };
  else parts.push({ type: "text", text: said });
}

function fileOf(block: Record<string, unknown>, number: number): ImportedPart | null {
  const { type, media_type: given, data, url } = record.parse(block["source"]);
  const mediaType = typeof given === "string" ? given : "application/octet-stream";
  const title = typeof block["title"] === "string" ? block["title"] : "";
  const isImage = block["type"] === "image";
  const name = title === "" ? `${isImage ? "picture" : "document"} ${number}` : title;
  if (type === "url" && typeof url === "string") return { type: "missing", name: url };
  if (typeof data !== "string") return null;
  if (type === "text")
    return { type: "file", name, mediaType: mediaTypeOf(`${name}.txt`), bytes: Buffer.from(data) };
  if (type !== "base64") return null;
  const bytes = Buffer.from(data, "base64");
  return { type: isImage ? "image" : "file", name, mediaType, bytes };
}

export interface ToolResult {
  readonly call: string;
  readonly isError: boolean;
  readonly output: string;
  /** Pictures that it gave. */
  readonly files: readonly ImportedPart[];
}

export function resultsOf(content: unknown, unknown: (found: Unknown) => void): ToolResult[] {
  return list.parse(content).flatMap((value) => {
    const block = record.parse(value);
    if (block["type"] !== "tool_result") return [];
    const parts = partsOf(block["content"], unknown);
    const texts = parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
    const files = parts.filter(({ type }) => type === "image" || type === "file");
    const call = textIn(block["tool_use_id"]);
    return [{ call, isError: block["is_error"] === true, output: texts.join("\n"), files }];
  });
}
