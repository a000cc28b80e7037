import type { IncomingMessage } from "node:http";

import { readMarkdownV2 } from "./read-markdown-v2.ts";

export type Payload = Readonly<Record<string, unknown>>;

export interface Button {
  readonly text: string;
  readonly data: string;
}

export interface SentFile {
  readonly name: string;
  readonly bytes: Buffer;
}

function fieldsOf(value: unknown): Payload {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function replyIn(payload: Payload): number | null {
  const { message_id: id } = fieldsOf(payload["reply_parameters"]);
  return typeof id === "number" ? id : null;
}

export function buttonsIn(payload: Payload): readonly Button[] {
  const { inline_keyboard: rows } = fieldsOf(payload["reply_markup"]);
  return listOf(rows)
    .flatMap(listOf)
    .map(fieldsOf)
    .map(({ text, callback_data: data }) => {
      if (typeof text !== "string" || typeof data !== "string" || Buffer.byteLength(data) > 64)
        throw new Error("BUTTON_DATA_INVALID");
      return { text, data };
    });
}

/** The links that the platform would fetch for a preview, without anybody having clicked on one. */
export function previewedLinksIn(payload: Payload, text: string): readonly string[] {
  const { is_disabled: isDisabled } = fieldsOf(payload["link_preview_options"]);
  return isDisabled === true ? [] : (text.match(/https?:\/\/\S+/g) ?? []);
}

export function textIn({ text }: Payload): string {
  return typeof text === "string" ? text : "";
}

export function shownText(
  payload: Payload,
): { ok: true; text: string } | { ok: false; reason: string } {
  const source = textIn(payload);
  const read =
    payload["parse_mode"] === "MarkdownV2"
      ? readMarkdownV2(source)
      : { ok: true as const, text: source };
  if (!read.ok) return { ok: false, reason: `Bad Request: can't parse entities: ${read.reason}` };
  const text = read.text.trim();
  if (text === "") return { ok: false, reason: "Bad Request: text must be non-empty" };
  if (text.length > 4_096) return { ok: false, reason: "Bad Request: message is too long" };
  return { ok: true, text };
}

export function fileIn(payload: Payload): SentFile {
  const { name, bytes } = fieldsOf(payload["file"]);
  if (typeof name !== "string" || !Buffer.isBuffer(bytes)) throw new Error("FILE_MISSING");
  return { name, bytes };
}

export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

export function decodeBody(request: IncomingMessage, body: Buffer): Payload {
  const type = request.headers["content-type"] ?? "";
  if (!type.startsWith("multipart/form-data"))
    return body.length === 0 ? {} : fieldsOf(JSON.parse(body.toString()));
  const boundary = /boundary=(?:"([^"]+)"|([^;]+))/.exec(type)?.slice(1).find(Boolean) ?? "";
  return decodeForm(body.toString("latin1"), boundary);
}

function decodeForm(body: string, boundary: string): Payload {
  const fields: Record<string, unknown> = {};
  for (const part of body.split(`--${boundary}`)) {
    const [head = "", ...rest] = part.split("\r\n\r\n");
    const content = rest.join("\r\n\r\n").replace(/\r\n$/, "");
    const name = /name="([^"]*)"/.exec(head)?.[1];
    const file = /filename="?([^"\r\n;]*)"?/.exec(head)?.[1];
    if (file !== undefined) fields["file"] = { name: file, bytes: Buffer.from(content, "latin1") };
    else if (name !== undefined) fields[name] = content;
  }
  return fields;
}
