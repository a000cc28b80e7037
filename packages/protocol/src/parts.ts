import { z } from "zod";

import { taintSources } from "./rights/taint.ts";
import { blobId, callId, runId, sessionId, type BlobId } from "./ids.ts";

/** Plain JSON, as stored and sent. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** Deeper data is refused, before it overflows the stack of whoever walks it next. */
const depthLimit = 500;

function isJson(value: unknown, depth = 0): value is Json {
  if (value === null || typeof value === "string" || typeof value === "boolean") return true;
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || depth === depthLimit) return false;
  if (Array.isArray(value)) return value.every((item) => isJson(item, depth + 1));
  return isPlain(value) && Object.values(value).every((item) => isJson(item, depth + 1));
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && isJson(value);
}

/**
 * These check and return the same object. A schema that copies would lose a key like `__proto__`, and an approval is
 * bound to the hash of exactly what was written.
 */
export const json = z.unknown().refine(isJson, "expected plain JSON") as z.ZodType<Json>;
export const jsonObject = z
  .unknown()
  .refine(isJsonObject, "expected a plain JSON object")
  .meta({ type: "object" }) as z.ZodType<JsonObject>;

/** How a tool ended. `unknown`: it started, and nobody can say what it did. */
export const toolOutcome = z.enum(["ok", "failed", "cancelled", "unknown"]);
export type ToolOutcome = z.infer<typeof toolOutcome>;

/** What a tool did to a file, as a page shows it. */
export const fileChange = z.looseObject({
  path: z.string(),
  change: z.enum(["created", "changed", "deleted"]),
  /** A unified diff; truncated, with a line that says so, if it is long. */
  diff: z.string(),
});
export type FileChange = z.infer<typeof fileChange>;

/** Why something was not saved, or only in part. The first ones are about a whole folder. */
export const unsavedReason = z.enum([
  "no_git",
  "too_many",
  "failed",
  "too_large",
  "link",
  "repository",
  "changing",
  "unreadable",
  /** It was saved on another machine, or in another folder than the session works in now. */
  "elsewhere",
  /** Its call was interrupted, so nobody knows what it left. */
  "interrupted",
]);
export type UnsavedReason = z.infer<typeof unsavedReason>;

/** What the host saved of the files that a call changed, outside of the workspace. */
export const savedFiles = z.looseObject({
  /** The folder on this machine that the files are in, as the snapshots name it. */
  workspace: z.string(),
  /** Names the list of changed files in the host's snapshots; absent if nothing changed. */
  changes: z.string().optional(),
  count: z.int().nonnegative(),
  /** Why changes may be missing from the list. */
  missing: unsavedReason.optional(),
  /** Some of what was not saved. */
  notSaved: z.array(z.looseObject({ path: z.string(), reason: unsavedReason })).optional(),
});
export type SavedFiles = z.infer<typeof savedFiles>;

export const todoItem = z.looseObject({
  text: z.string(),
  state: z.enum(["open", "doing", "done"]),
});
export type TodoItem = z.infer<typeof todoItem>;

/** Output of a tool other than text. */
export const toolFile = z.looseObject({
  blobId,
  mediaType: z.string(),
  size: z.int().nonnegative(),
  name: z.string().optional(),
});
export type ToolFile = z.infer<typeof toolFile>;

/** A page that a tool found or read, for a person to follow. Its title, text and address are the web's. */
export const source = z.looseObject({
  /** http or https. */
  url: z.string(),
  title: z.string(),
  snippet: z.string().optional(),
  /** When it was published, as `2026-08-31`. */
  date: z.string().optional(),
});
export type Source = z.infer<typeof source>;

/** A delegated task, as its card shows it. What it cost and took is absent until it has ended. */
export const childDetails = z.looseObject({
  sessionId,
  runId,
  title: z.string().optional(),
  /** The name of the agent profile that it worked by. */
  profile: z.string().optional(),
  /** With the tasks that it delegated itself. */
  costMicros: z.int().nonnegative().optional(),
  tookMs: z.int().nonnegative().optional(),
});
export type ChildDetails = z.infer<typeof childDetails>;

/** What a tool's result shows a person besides its text. It is not sent to the model. */
export const toolDetails = z.looseObject({
  changes: z.array(fileChange).optional(),
  saved: savedFiles.optional(),
  todos: z.array(todoItem).optional(),
  files: z.array(toolFile).optional(),
  /** Why it was not run: `denied` by a person, `forbidden` by a rule, `expired`, `unanswered`, … */
  refusal: z.string().optional(),
  /** What the person said who denied it. */
  reason: z.string().optional(),
  /** How long it took, if that was long enough to matter. */
  tookMs: z.int().nonnegative().optional(),
  /** What a confined command asked of the network, and whether it got there: `reached`, or why not. */
  reached: z
    .array(z.looseObject({ host: z.string(), port: z.int(), outcome: z.string(), times: z.int() }))
    .optional(),
  /** The session that got the task. */
  child: childDetails.optional(),
  sources: z.array(source).optional(),
});
export type ToolDetails = z.infer<typeof toolDetails>;

/** Parts are loose: an older Holdfast carries through a field that a newer one wrote. */
const recoveredMark = {
  /** It was missing from the store when its run was given up, and was recovered later. */
  recovered: z.literal(true).optional(),
};
/** Where it came from, if a stranger may have written it. It is not sent to the model. */
const taintMark = { taint: taintSources.optional() };
/** Ranges of a text (from, to) that its sender did not write: a quote, a forwarded message, something pasted. */
export const quotedRanges = z
  .array(z.tuple([z.int().nonnegative(), z.int().nonnegative()]))
  .max(100);
export type QuotedRanges = z.infer<typeof quotedRanges>;
/** Which skill a text is the instructions of. */
export const skillMark = z.looseObject({
  name: z.string().min(1).max(64),
  /** Where it was found: `home`, `agents`, or a folder in the workspace. */
  source: z.string().min(1).max(100),
  /** Of all its files as they were then. */
  hash: z.string().regex(/^[0-9a-f]{64}$/u),
});
export type SkillMark = z.infer<typeof skillMark>;

/** A picture in a tool's result that the model is shown. */
const shownImage = z.looseObject({ blobId, mediaType: z.string() });
export type ShownImage = z.infer<typeof shownImage>;

/** What a tool's result has besides its outcome and output. */
export const toolResultFields = {
  /** Holds the whole output if it is longer than what stands here. */
  blobId: blobId.optional(),
  details: toolDetails.optional(),
  images: z.array(shownImage).max(20).optional(),
  /** The call activated this skill, and the output is its instructions. */
  skill: skillMark.optional(),
};

const providerFields = {
  ...recoveredMark,
  /** What the provider wants back unchanged with the next request. */
  opaque: jsonObject.optional(),
};
export const textPart = z.looseObject({
  type: z.literal("text"),
  text: z.string(),
  quoted: quotedRanges.optional(),
  ...taintMark,
  ...providerFields,
});
export const reasoningPart = z.looseObject({
  type: z.literal("reasoning"),
  text: z.string(),
  ...providerFields,
});
export const toolCallPart = z.looseObject({
  type: z.literal("tool_call"),
  callId,
  name: z.string(),
  input: json,
  /** The input is the text the model wrote in place of arguments; nothing was run. */
  malformed: z.literal(true).optional(),
  ...providerFields,
});
export const toolResultPart = z.looseObject({
  type: z.literal("tool_result"),
  callId,
  name: z.string(),
  outcome: toolOutcome,
  output: z.string(),
  ...toolResultFields,
  ...taintMark,
  ...recoveredMark,
});
export const filePart = z.looseObject({
  type: z.literal("file"),
  blobId,
  name: z.string(),
  mediaType: z.string(),
  size: z.int().nonnegative(),
});
export const imagePart = z.looseObject({
  type: z.literal("image"),
  blobId,
  mediaType: z.string(),
  name: z.string().optional(),
  width: z.int().positive().optional(),
  height: z.int().positive().optional(),
  size: z.int().nonnegative().optional(),
  /** A picture that a model made: what its provider wants back unchanged. */
  opaque: jsonObject.optional(),
});
export const noticePart = z.looseObject({
  type: z.literal("notice"),
  kind: z.string(),
  text: z.string(),
});

/** What the model got alongside a message (recollections, the time): stored as sent, never generated again. */
export const attachedPart = z.looseObject({
  type: z.literal("attached"),
  source: z.string().min(1).max(100),
  text: z.string(),
  /** The document that the text is of. A model that takes such documents gets it in place of the text. */
  blobId: blobId.optional(),
  pages: z.int().positive().optional(),
  /** The message activated this skill, and the text is its instructions. */
  skill: skillMark.optional(),
});

/** The source of an attached part with a client's own system text, which holds for its turn. */
export const instructionsSource = "instructions";

/** The source of an attached part with the time at which a message was taken up. */
export const timeSource = "time";

export const part = z.discriminatedUnion("type", [
  textPart,
  reasoningPart,
  toolCallPart,
  toolResultPart,
  filePart,
  imagePart,
  noticePart,
  attachedPart,
]);
export type Part = z.infer<typeof part>;
export type TextPart = z.infer<typeof textPart>;
export type AttachedPart = z.infer<typeof attachedPart>;
export type ToolCallPart = z.infer<typeof toolCallPart>;
export type ToolResultPart = z.infer<typeof toolResultPart>;

/** A tool as described to a model. */
export const toolSpec = z.strictObject({
  name: z.string(),
  description: z.string(),
  /** JSON Schema. */
  input: jsonObject,
});
export type ToolSpec = z.infer<typeof toolSpec>;

/** What a person may attach to a message. */
export const attachment = z.discriminatedUnion("type", [filePart, imagePart]);
export type Attachment = z.infer<typeof attachment>;

/** The text of a message, for search, previews and counts. Reasoning is not part of it. */
export function textOf(parts: readonly Part[]): string {
  const texts: string[] = [];
  for (const item of parts) {
    if (item.type === "text" || item.type === "notice") texts.push(item.text);
    else if (item.type === "tool_result") texts.push(item.output);
  }
  return texts.join("\n");
}

/** Like `textOf`, without what the sender did not write themselves. */
export function ownTextOf(parts: readonly Part[]): string {
  return textOf(
    parts.map((item) =>
      item.type === "text" && item.quoted !== undefined
        ? { ...item, text: withoutRanges(item.text, item.quoted) }
        : item,
    ),
  );
}

function withoutRanges(text: string, ranges: QuotedRanges): string {
  let own = "";
  let at = 0;
  for (const [from, to] of ranges.toSorted(([a], [b]) => a - b)) {
    own += text.slice(at, Math.max(at, from));
    at = Math.max(at, to);
  }
  return (own + text.slice(at)).trim();
}

export function blobsOf(parts: readonly Part[]): BlobId[] {
  return parts.flatMap((item) => {
    switch (item.type) {
      case "file":
      case "image":
        return [item.blobId];
      case "tool_result":
        return blobsOfResult(item);
      default:
        return [];
    }
  });
}

/** The blobs a tool's result references: its whole output, its files, and its pictures. */
export function blobsOfResult({
  blobId: whole,
  details,
  images = [],
}: {
  readonly blobId?: BlobId | undefined;
  readonly details?: ToolDetails | undefined;
  readonly images?: readonly ShownImage[] | undefined;
}): BlobId[] {
  const files = [...(details?.files ?? []), ...images].map((file) => file.blobId);
  return [...new Set(whole === undefined ? files : [whole, ...files])];
}
