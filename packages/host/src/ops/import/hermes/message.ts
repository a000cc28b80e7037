import { z } from "zod";

import { sha256 } from "../transcript/entries.ts";
import { flag, list, number, parseJson, text } from "../reading/json.ts";

export type Role = "user" | "assistant" | "tool" | "system";

export interface Picture {
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

export interface Call {
  readonly id: string;
  readonly name: string;
  readonly input: string;
}

/** A message of either store, in one form. */
export interface Message {
  readonly role: Role;
  readonly text: string;
  readonly pictures: readonly Picture[];
  /** Addresses of pictures that are somewhere else. */
  readonly links: readonly string[];
  readonly calls: readonly Call[];
  /** Tool calls that can't be read, as they are. */
  readonly brokenCalls: string | null;
  /** Of a tool's result. */
  readonly callId: string | null;
  readonly toolName: string | null;
  readonly failed: boolean;
  readonly reasoning: string;
  /** In milliseconds. */
  at: number | null;
  readonly model: string | null;
  /** A notice of the page. */
  readonly card: boolean;
  partial: "cancelled" | "interrupted" | "failed" | null;
  readonly summary: boolean;
  readonly attachments: readonly string[];
  readonly observed: boolean;
  /** Copies of one message have the same, where hermes says so. */
  readonly identity: string | null;
  /** The stream of a run whose text is still only in its journal. */
  readonly retryStream: string | null;
  /** The stream that the turn began with. */
  readonly stream: string | null;
  where: readonly string[];
  /** Its place among the rows of the database. */
  readonly mark: number | null;
  /** Taken back by the person, in the order of what hides it. */
  undone: "undo" | "clear" | null;
}

const emptyMessage: Message = {
  role: "user",
  text: "",
  pictures: [],
  links: [],
  calls: [],
  brokenCalls: null,
  callId: null,
  toolName: null,
  failed: false,
  reasoning: "",
  at: null,
  model: null,
  card: false,
  partial: null,
  summary: false,
  attachments: [],
  observed: false,
  identity: null,
  retryStream: null,
  stream: null,
  where: [],
  mark: null,
  undone: null,
};

export function newMessage(fields: Partial<Message> & Pick<Message, "role" | "text">): Message {
  return { ...emptyMessage, ...fields };
}

type Content = Pick<Message, "text" | "pictures" | "links">;

const plain = (content: string): Content => ({ text: content, pictures: [], links: [] });

const jsonPrefix = "\0json:";

/** A row's content: text, or a list of parts behind a prefix. */
export function rowContent(content: string): Content {
  if (!content.startsWith(jsonPrefix)) return plain(content);
  const value = parseJson(content.slice(jsonPrefix.length));
  if (value === undefined) return plain(content);
  return partsContent(value);
}

const contentPart = z.object({
  type: z.string().catch(""),
  text: z.string().optional().catch(undefined),
  image_url: z
    .union([z.string(), z.object({ url: z.string() }).transform(({ url }) => url)])
    .optional()
    .catch(undefined),
});

/** A list of parts counts as its texts. What is no part is kept as JSON. */
function partsContent(value: unknown): Content {
  if (typeof value === "string") return plain(value);
  if (value === null || value === undefined) return plain("");
  if (!Array.isArray(value)) return plain(JSON.stringify(value));
  const texts: string[] = [];
  const pictures: Picture[] = [];
  const links: string[] = [];
  for (const item of value) {
    if (typeof item === "string") {
      texts.push(item);
      continue;
    }
    const part = contentPart.safeParse(item).data;
    if (part?.text !== undefined) texts.push(part.text);
    else if (part?.image_url !== undefined) {
      const picture = readDataUrl(part.image_url);
      if (picture === null) links.push(part.image_url);
      else pictures.push(picture);
    } else texts.push(JSON.stringify(item));
  }
  return { text: texts.join("\n"), pictures, links };
}

function readDataUrl(url: string): Picture | null {
  const found = /^data:([a-z]+\/[\w.+-]{1,100})(?:;[\w=.-]+)*;base64,/i.exec(url.slice(0, 300));
  if (found === null) return null;
  return {
    mediaType: (found[1] ?? "").toLowerCase(),
    bytes: Buffer.from(url.slice(found[0].length), "base64"),
  };
}

const callSchema = z.object({
  id: text,
  call_id: text,
  name: text,
  arguments: z.unknown().optional(),
  function: z.object({ name: text, arguments: z.unknown() }).nullish().catch(null),
});

/** `null`: it is no list of calls. */
export function readCalls(value: unknown): readonly Call[] | null {
  if (value === null || value === undefined) return [];
  if (!Array.isArray(value)) return null;
  return value.flatMap((item, index) => {
    const call = callSchema.safeParse(item).data;
    if (call === undefined) return [];
    const given = call.function?.arguments ?? call.arguments;
    return [
      {
        id: call.id ?? call.call_id ?? `call ${index}`,
        name: call.function?.name ?? call.name ?? "tool",
        input: typeof given === "string" ? given : JSON.stringify(given ?? {}),
      },
    ];
  });
}

export function asRole(role: string): Role | null {
  switch (role) {
    case "user":
    case "assistant":
    case "tool":
    case "system":
      return role;
    default:
      return null;
  }
}

const pageMessage = z.object({
  role: z.string(),
  content: z.unknown().optional(),
  timestamp: number,
  tool_calls: z.unknown().optional(),
  tool_call_id: text,
  name: text,
  tool_name: text,
  reasoning: text,
  reasoning_content: text,
  attachments: list,
  model: text,
  _usedModel: text,
  _error: flag,
  _partial: flag,
  _compressed_summary: flag,
  is_error: flag,
  type: text,
  interruption_cause: text,
  _recovered_from_run_journal: flag,
  _recovered_stream_id: text,
  _journal_retry_stream_id: text,
  _pending_journal_recovery: flag,
  _active_turn_token: text,
});

/** A message of a sidecar, a transcript or a journal. `null`: it is none. */
export function readPageMessage(value: unknown, where: string): Message | null {
  const read = pageMessage.safeParse(value).data;
  const role = read === undefined ? null : asRole(read.role);
  if (read === undefined || role === null) return null;
  const {
    _error: isNotice,
    _usedModel: usedModel,
    _partial: isPartial,
    _recovered_from_run_journal: isRecovered,
    _compressed_summary: isMarkedSummary,
    _journal_retry_stream_id: retryStream,
    _recovered_stream_id: recoveredStream,
    _active_turn_token: turnToken,
  } = read;
  const content = partsContent(read.content);
  const calls = readCalls(read.tool_calls);
  const isCard = isNotice && role === "assistant";
  return newMessage({
    ...content,
    role,
    calls: calls ?? [],
    brokenCalls: calls === null ? JSON.stringify(read.tool_calls) : null,
    callId: role === "tool" ? (read.tool_call_id ?? null) : null,
    toolName: read.tool_name ?? read.name ?? null,
    failed: read.is_error,
    reasoning: reasoningOf(read.reasoning, read.reasoning_content),
    at: toMilliseconds(read.timestamp),
    model: read.model ?? usedModel ?? null,
    card: isCard,
    partial: isPartial || isRecovered ? "interrupted" : null,
    summary: isMarkedSummary || isSummary(content.text),
    attachments: read.attachments.flatMap(attachmentName),
    retryStream: retryStream ?? null,
    stream: recoveredStream ?? turnToken?.split(":")[0] ?? null,
    where: [where],
  });
}

const namedAttachment = z.object({ name: text, filename: text, path: text });

export function attachmentName(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  const read = namedAttachment.safeParse(value).data;
  const name = read?.name ?? read?.filename ?? read?.path;
  return name == null ? [] : [name];
}

/** The second may be padding for some providers. */
export function reasoningOf(first?: string | null, second?: string | null): string {
  if (first != null && first.trim() !== "") return first;
  return second != null && second.trim() !== "" ? second : "";
}

/** The range of Date. */
const maxTime = 8_640_000_000_000_000;

export function toMilliseconds(seconds: number | null | undefined): number | null {
  if (seconds == null || !Number.isFinite(seconds) || seconds <= 0) return null;
  return Math.min(Math.round(seconds * 1000), maxTime);
}

const summaryStarts = ["[CONTEXT COMPACTION", "[CONTEXT SUMMARY]:"];
const priorStart = "[PRIOR CONTEXT";
const summaryEnd = /--- END OF CONTEXT SUMMARY[^\n]*(?:\n\n?|$)/;

export function isSummary(content: string): boolean {
  return (
    summaryStarts.some((start) => content.startsWith(start)) ||
    (content.startsWith(priorStart) && /\[END OF PRIOR CONTEXT/.test(content)) ||
    /\n\[CONTEXT COMPACTION[^\n]*\][\s\S]*--- END OF CONTEXT SUMMARY/.test(content)
  );
}

/** A summary, and the text of the message that it was merged into. */
export function splitSummary(content: string): { readonly summary: string; readonly own: string } {
  if (content.startsWith(priorStart)) {
    // What came before stands between two marks, and the summary follows.
    const found =
      /^\[PRIOR CONTEXT[^\n]*\n([\s\S]*?)\n?\[END OF PRIOR CONTEXT[^\n]*\n*([\s\S]*)$/.exec(
        content,
      );
    if (found !== null) return { summary: found[2] ?? "", own: (found[1] ?? "").trim() };
  }
  const end = summaryEnd.exec(content);
  if (end === null) return { summary: content, own: "" };
  const after = content.slice(end.index + end[0].length);
  const start = summaryStarts.reduce((at, mark) => Math.max(at, content.indexOf(mark)), -1);
  const before = start > 0 ? content.slice(0, start).trim() : "";
  return {
    summary: content.slice(Math.max(0, start), end.index + end[0].length).trimEnd(),
    own: [before, after.trim() === "" ? "" : after].filter((part) => part !== "").join("\n"),
  };
}

/** The page puts the session's folder before what it sends. */
export const workspacePrefix = /^\[Workspace(?:::v\d+)?: [^\n]*\]\n/;

/** How a text is compared across the stores: the page adds a line before it, or a list of files behind. */
export function comparable(content: string): string {
  return content
    .replace(workspacePrefix, "")
    .replaceAll(/\n?\[screenshot\]/g, "")
    .replace(/\n*\[Attached files: [^\n]*\]\s*$/, "")
    .trim();
}

const keys = new WeakMap<Message, string>();

/** The same message in two stores has the same key. */
export function keyOf(message: Message): string {
  let key = keys.get(message);
  if (key === undefined) keys.set(message, (key = makeKey(message)));
  return key;
}

function makeKey(message: Message): string {
  if (message.role === "tool" && message.callId !== null && message.callId !== "")
    return `tool ${message.callId}`;
  const calls = message.calls.map(({ id }) => id).join(" ");
  const content = comparable(message.text);
  return `${message.role} ${calls} ${content.length > 200 ? sha256(content) : content}`;
}
