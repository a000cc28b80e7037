import { z } from "zod";

import { type ExportFiles, readWhole } from "../reading/export-files.ts";
import type { Report } from "../reading/folder.ts";
import { flag, list, record, text } from "../reading/json.ts";
import { mediaTypeOf } from "../reading/media-type.ts";
import type { ImportedPart } from "../source.ts";
import { messageOf, timeOf, unansweredCalls } from "../transcript/entries.ts";
import type { Placed } from "../transcript/replay.ts";

const message = z.looseObject({
  uuid: z.string().min(1),
  sender: text,
  text,
  content: list,
  created_at: z.unknown().optional(),
  attachments: list,
  files: list,
  files_v2: list,
  parent_message_uuid: text,
  model: text,
  stop_reason: text,
});
export type ClaudeMessage = z.infer<typeof message>;

/** `null`: it isn't a message. */
export function readMessage(value: unknown): ClaudeMessage | null {
  return message.safeParse(value).data ?? null;
}

const block = z.looseObject({
  type: text,
  text,
  thinking: text,
  id: text,
  name: text,
  input: z.unknown().optional(),
  tool_use_id: text,
  content: z.unknown().optional(),
  is_error: flag,
  title: text,
});
type Block = z.infer<typeof block>;

const maxFileBytes = 64 * 1024 * 1024;
/** They say nothing to a person. */
const silent: ReadonlySet<string> = new Set(["token_budget", "flag"]);

export interface MessagePlace {
  readonly files: ExportFiles;
  readonly lastTime: number;
  readonly where: string;
  readonly model: string | null;
  readonly report: Report;
}

/** An answer with tools in it is several entries: what was said, what the tools gave, and so on. */
export async function entriesOf(given: ClaudeMessage, place: MessagePlace): Promise<Placed[]> {
  const at = timeOf(given.created_at) ?? place.lastTime;
  const writer = new MessageWriter(given, at, place);
  for (const value of given.content) writer.block(value);
  const entries = writer.end();
  const isEmpty = entries.length === 0;
  const own = given.text ?? "";
  if (isEmpty && own.trim() !== "") entries.push(writer.message([{ type: "text", text: own }]));
  const files = await filesOf(given, place);
  if (files.length === 0) return entries;
  const [first, ...rest] = entries;
  // What a person attached is part of what they said.
  if (first?.type === "message" && first.role === "user")
    return [
      messageOf({ role: "user", at, where: place.where }, [...first.parts, ...files]),
      ...rest,
    ];
  return [...entries, writer.message(files)];
}

class MessageWriter {
  readonly #given: ClaudeMessage;
  readonly #at: number;
  readonly #place: MessagePlace;
  readonly #entries: Placed[] = [];
  readonly #open = new Map<string, string>();
  #parts: ImportedPart[] = [];
  #calls = 0;

  constructor(given: ClaudeMessage, at: number, place: MessagePlace) {
    this.#given = given;
    this.#at = at;
    this.#place = place;
  }

  message(parts: readonly ImportedPart[]): Placed {
    const { sender, model } = this.#given;
    const about = { at: this.#at, where: this.#place.where };
    if (sender !== "assistant") return messageOf({ role: "user", ...about }, parts);
    const used = model ?? this.#place.model ?? undefined;
    return messageOf({ role: "assistant", ...about, model: used }, parts);
  }

  block(value: unknown): void {
    const read = block.safeParse(value).data;
    if (read === undefined) return this.#unknown(value);
    switch (read.type) {
      case "text":
      case "voice_note": {
        const said = [read.title, read.text].filter((each) => each != null && each !== "");
        if (said.length > 0) this.#say({ type: "text", text: said.join("\n") });
        return;
      }
      case "thinking":
        if (read.thinking != null && read.thinking !== "")
          this.#say({ type: "reasoning", text: read.thinking });
        return;
      case "tool_use":
        this.#call(read);
        return;
      case "tool_result":
        this.#result(read);
        return;
      default:
        if (!silent.has(read.type ?? "")) this.#unknown(value);
    }
  }

  end(): Placed[] {
    this.#flush();
    this.#giveUp();
    return this.#entries;
  }

  #say(part: ImportedPart): void {
    this.#giveUp();
    const last = this.#parts.at(-1);
    if (part.type === "text" && last?.type === "text")
      this.#parts[this.#parts.length - 1] = { ...last, text: `${last.text}\n${part.text}` };
    else this.#parts.push(part);
  }

  #call({ id, name, input }: Block): void {
    this.#calls += 1;
    const call = id != null && id !== "" ? id : `${this.#given.uuid} ${this.#calls}`;
    const tool = name ?? "tool";
    this.#parts.push({ type: "tool_call", call, name: tool, input: JSON.stringify(input ?? {}) });
    this.#open.set(call, tool);
  }

  #result({ tool_use_id: id, name, content, is_error: isError }: Block): void {
    const [oldest] = this.#open;
    const named = id == null ? undefined : this.#open.get(id);
    const [call, tool] = id != null && named !== undefined ? [id, named] : (oldest ?? []);
    const output = outputOf(content);
    this.#flush();
    if (call === undefined) {
      this.#parts.push({ type: "text", text: `${name ?? "tool"}: ${output}` });
      return;
    }
    this.#open.delete(call);
    const result: ImportedPart = {
      type: "tool_result",
      call,
      name: tool ?? "tool",
      outcome: isError ? "failed" : "ok",
      output,
    };
    this.#entries.push(
      messageOf({ role: "tool", at: this.#at, where: this.#place.where }, [result]),
    );
  }

  #flush(): void {
    if (this.#parts.length > 0) this.#entries.push(this.message(this.#parts));
    this.#parts = [];
  }

  #giveUp(): void {
    if (this.#open.size === 0) return;
    this.#flush();
    this.#entries.push(unansweredCalls(this.#open, { at: this.#at, program: "Claude" }));
    this.#open.clear();
  }

  #unknown(value: unknown): void {
    const type = record.parse(value)["type"];
    this.#place.report({
      code: "unknown_row",
      outcome: "skipped",
      path: this.#place.where,
      text: `A message has a part of an unknown kind (${String(type).slice(0, 80)}).`,
      bytes: Buffer.from(JSON.stringify(value ?? null)),
    });
  }
}

/** A list of texts, of pages that were found, or a text. */
function outputOf(content: unknown): string {
  if (typeof content === "string") return content;
  const texts = list.parse(content).map((value) => {
    const { type, text: said, title, url } = record.parse(value);
    if (typeof said === "string") {
      const head = [title, url].filter((each) => typeof each === "string" && each !== "");
      return [...head, said].join("\n");
    }
    return type === "image" ? "[image]" : JSON.stringify(value);
  });
  return texts.join("\n");
}

const attachment = z.looseObject({ file_name: text, file_type: text, extracted_content: text });
const uploaded = z.looseObject({ file_name: text, file_uuid: text });

async function filesOf(
  { attachments, files, files_v2: newer }: ClaudeMessage,
  place: MessagePlace,
): Promise<readonly ImportedPart[]> {
  const parts: ImportedPart[] = [];
  for (const value of attachments) {
    const read = attachment.safeParse(value).data;
    const content = read?.extracted_content ?? "";
    const named = read?.file_name ?? "";
    const name = named === "" ? "pasted.txt" : named;
    if (content === "") parts.push(missing(name, place));
    // What was attached is known by its text alone.
    else
      parts.push({
        type: "file",
        name: textName(name),
        mediaType: "text/plain",
        bytes: Buffer.from(content),
      });
  }
  const seen = new Set<string>();
  for (const value of [...files, ...newer]) {
    const read = uploaded.safeParse(value).data;
    const name = read?.file_name ?? "";
    const id = read?.file_uuid ?? name;
    if (id === "" || seen.has(id)) continue;
    seen.add(id);
    parts.push(await uploadedPart(id, name === "" ? id : name, place));
  }
  return parts;
}

function textName(name: string): string {
  return mediaTypeOf(name).startsWith("text/") ? name : `${name}.txt`;
}

async function uploadedPart(id: string, name: string, place: MessagePlace): Promise<ImportedPart> {
  const found = place.files.all.find(({ path }) =>
    path.split("/").some((part) => part.startsWith(id)),
  );
  const bytes = found === undefined ? null : await readWhole(found, maxFileBytes, place.report);
  if (bytes === null || bytes.length === 0) return missing(name, place);
  const mediaType = mediaTypeOf(name);
  return { type: mediaType.startsWith("image/") ? "image" : "file", name, mediaType, bytes };
}

function missing(name: string, { report, where }: MessagePlace): ImportedPart {
  const sentence = `The export doesn't have the file ${JSON.stringify(name.slice(0, 200))}.`;
  report({ code: "missing_attachment", outcome: "note", path: where, text: sentence });
  return { type: "missing", name };
}
