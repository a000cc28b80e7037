import { z } from "zod";

import type { Report } from "../reading/folder.ts";
import { list, record, text } from "../reading/json.ts";
import type { ImportedPart } from "../source.ts";
import { messageOf, noticeOf, timeOf } from "../transcript/entries.ts";
import type { Placed } from "../transcript/replay.ts";
import type { Assets } from "./assets.ts";

const message = z.looseObject({
  id: text,
  author: z.looseObject({ role: text, name: text }),
  create_time: z.unknown().optional(),
  content: z.looseObject({ content_type: text }).nullish().catch(null),
  recipient: text,
  status: text,
  metadata: record,
});
export type ChatMessage = z.infer<typeof message>;

/** `null`: it isn't a message. */
export function readMessage(value: unknown): ChatMessage | null {
  return message.safeParse(value).data ?? null;
}

export interface MessagePlace {
  readonly assets: Assets;
  /** The time, if it has none of its own. */
  readonly lastTime: number;
  /** The call that its output belongs to; `null`: it isn't the first output of one. */
  readonly call: { readonly id: string; readonly name: string } | null;
  readonly node: string;
  readonly where: string;
  readonly report: Report;
}

/** What a message of ChatGPT becomes: usually one entry, and none if nobody could see anything. */
export async function entriesOf(
  given: ChatMessage,
  place: MessagePlace,
): Promise<readonly Placed[]> {
  const { node, where } = place;
  const at = timeOf(given.create_time) ?? place.lastTime;
  const role = given.author.role ?? "";
  const model = read(given.metadata["model_slug"]);
  const parts = await partsOf(given, place);
  const said = parts
    .flatMap((part) => (part.type === "text" || part.type === "reasoning" ? [part.text] : []))
    .join("\n");
  const isHidden = given.metadata["is_visually_hidden_from_conversation"] === true;
  const isContext = /^(?:user|model)_editable_context$/u.test(given.content?.content_type ?? "");
  if (role === "system" || isHidden || isContext)
    return said.trim() === "" ? [] : [noticeOf("system", { at, where, kind: "" }, said)];
  if (parts.length === 0) return [];
  if (role === "user") return [messageOf({ role, at, where }, parts)];
  if (role === "assistant") {
    const isPartial = given.status === "in_progress";
    const partial = isPartial ? ("interrupted" as const) : undefined;
    const tool = calledTool(given);
    const own = tool === null ? parts : [callOf(node, tool, parts, given), ...filesIn(parts)];
    return [messageOf({ role, at, where, model: model ?? undefined, partial }, own)];
  }
  const name = given.author.name ?? "tool";
  if (role === "tool" && place.call !== null) {
    const outcome = given.content?.content_type === "system_error" ? "failed" : "ok";
    const output: ImportedPart = {
      type: "tool_result",
      call: place.call.id,
      name: place.call.name,
      outcome,
      output: said,
    };
    return [messageOf({ role, at, where }, [output]), ...filesSaid(parts, at, where)];
  }
  // More output of the same call, or a role that is not known: the person saw it.
  const shown =
    said === "" ? [] : [noticeOf("card", { at, where, kind: "tool_output" }, `${name}: ${said}`)];
  return [...shown, ...filesSaid(parts, at, where)];
}

/** The name of the tool that a message calls. `null`: it is for the person. */
export function calledTool({ author, recipient }: ChatMessage): string | null {
  const isCall = author.role === "assistant" && recipient != null && recipient !== "all";
  return isCall && recipient !== "" ? recipient : null;
}

function callOf(
  call: string,
  name: string,
  parts: readonly ImportedPart[],
  { content }: ChatMessage,
): ImportedPart {
  const texts = parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
  const language = read(content?.["language"]);
  const given = texts.join("\n");
  const isJson = /^\s*[{[]/u.test(given) && isParsed(given);
  const input = isJson
    ? given
    : JSON.stringify({ ...(language !== null && { language }), code: given });
  return { type: "tool_call", call, name, input };
}

function isParsed(source: string): boolean {
  try {
    return typeof JSON.parse(source) === "object";
  } catch {
    return false;
  }
}

function filesIn(parts: readonly ImportedPart[]): readonly ImportedPart[] {
  return parts.filter(({ type }) => type === "file" || type === "image" || type === "missing");
}

/** Pictures that a tool made are shown as the answer's. */
function filesSaid(parts: readonly ImportedPart[], at: number, where: string): readonly Placed[] {
  const files = filesIn(parts);
  return files.length === 0 ? [] : [messageOf({ role: "assistant", at, where }, files)];
}

async function partsOf(given: ChatMessage, place: MessagePlace): Promise<readonly ImportedPart[]> {
  const { content, metadata } = given;
  const parts: ImportedPart[] = [];
  const pointers = new Set<string>();
  const addFile = async (pointer: string, name: string | null): Promise<void> => {
    if (pointers.has(pointer)) return;
    pointers.add(pointer);
    const part = await place.assets.part(pointer, name, place.report);
    parts.push(part);
    if (part.type !== "missing") return;
    place.report({
      code: "missing_attachment",
      outcome: "note",
      path: place.where,
      text: `The export doesn't have the file ${JSON.stringify(part.name.slice(0, 200))}.`,
    });
  };
  const say = (said: string): void => {
    if (said !== "") parts.push({ type: "text", text: withoutMarks(said, metadata) });
  };
  switch (content?.content_type) {
    case undefined:
    case null:
      break;
    case "text":
    case "multimodal_text":
      for (const part of list.parse(content["parts"])) {
        if (typeof part === "string") say(part);
        else await readPart(part, { say, addFile, place });
      }
      break;
    case "thoughts":
      for (const thought of list.parse(content["thoughts"])) {
        const { summary, content: body } = record.parse(thought);
        const said = [summary, body].flatMap((each) => read(each) ?? []);
        if (said.length > 0) parts.push({ type: "reasoning", text: said.join("\n") });
      }
      break;
    case "reasoning_recap": {
      const recap = read(content["content"]);
      if (recap !== null) parts.push({ type: "reasoning", text: recap });
      break;
    }
    case "user_editable_context":
      say(
        [read(content["user_profile"]), read(content["user_instructions"])]
          .filter(Boolean)
          .join("\n\n"),
      );
      break;
    case "model_editable_context":
      say(read(content["model_set_context"]) ?? "");
      break;
    default: {
      if (content == null) break;
      const said = textFields.flatMap((name) => read(content[name]) ?? []);
      for (const part of list.parse(content["parts"]))
        if (typeof part === "string") said.push(part);
      say(said.join("\n"));
      if (!knownTypes.has(content.content_type) || said.length === 0)
        reportUnknown(content, said, place);
    }
  }
  for (const attached of list.parse(metadata["attachments"])) {
    const { id, name } = record.parse(attached);
    if (typeof id === "string" && id !== "") await addFile(id, read(name));
  }
  return joinTexts(parts);
}

/** In the order in which they are shown. */
const textFields = [
  "name",
  "title",
  "url",
  "summary",
  "text",
  "result",
  "snippet",
  "output_str",
  "output",
];
const knownTypes: ReadonlySet<string> = new Set([
  "code",
  "execution_output",
  "tether_quote",
  "tether_browsing_display",
  "system_error",
  "sonic_webpage",
  "citable_code_output",
]);

interface PartReader {
  readonly say: (said: string) => void;
  readonly addFile: (pointer: string, name: string | null) => Promise<void>;
  readonly place: MessagePlace;
}

async function readPart(value: unknown, { say, addFile, place }: PartReader): Promise<void> {
  const part = record.parse(value);
  const pointers = [
    part["asset_pointer"],
    record.parse(part["audio_asset_pointer"])["asset_pointer"],
    record.parse(part["video_container_asset_pointer"])["asset_pointer"],
    ...list
      .parse(part["frames_asset_pointers"])
      .map((frame) => record.parse(frame)["asset_pointer"]),
  ].flatMap((pointer) => read(pointer) ?? []);
  for (const pointer of pointers) await addFile(pointer, null);
  const said = read(part["text"]);
  if (said !== null) say(said);
  if (pointers.length === 0 && said === null && Object.keys(part).length > 0)
    reportUnknown(part, [], place);
}

function reportUnknown(content: object, said: readonly string[], place: MessagePlace): void {
  const type = "content_type" in content ? String(content.content_type).slice(0, 80) : "";
  const nothing = `A message of an unknown kind was left out (${type}).`;
  place.report({
    code: "unknown_row",
    outcome: said.length === 0 ? "skipped" : "note",
    path: place.where,
    text: said.length === 0 ? nothing : `Only the text of a message was imported (${type}).`,
    bytes: Buffer.from(JSON.stringify(content)),
  });
}

/** Texts next to each other are one. */
function joinTexts(parts: readonly ImportedPart[]): readonly ImportedPart[] {
  const joined: ImportedPart[] = [];
  for (const part of parts) {
    const last = joined.at(-1);
    if (part.type === "text" && last?.type === "text")
      joined[joined.length - 1] = { ...last, text: `${last.text}\n${part.text}` };
    else joined.push(part);
  }
  return joined.filter((part) => part.type !== "text" || part.text.trim() !== "");
}

const reference = z.looseObject({ matched_text: z.string().min(1), alt: text });

/** Marks of sources stand in the text in private characters, and what is shown instead of each beside it. */
function withoutMarks(said: string, metadata: Record<string, unknown>): string {
  if (!said.includes("\uE200")) return said;
  let shown = said;
  for (const value of list.parse(metadata["content_references"])) {
    const found = reference.safeParse(value).data;
    if (found?.matched_text.includes("\uE200") === true)
      shown = shown.replaceAll(found.matched_text, () => found.alt ?? "");
  }
  return shown.replaceAll(/\uE200[^\uE201]*\uE201/gu, "");
}

function read(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}
