import type { IncomingMessage } from "node:http";

import { z } from "zod";

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

const replied = z.object({ message_id: z.int() });
export function replyIn(payload: Payload): number | null {
  return replied.safeParse(payload["reply_parameters"]).data?.message_id ?? null;
}

const keyboard = z.object({
  inline_keyboard: z.array(z.array(z.object({ text: z.string(), callback_data: z.string() }))),
});

export function buttonsIn(payload: Payload): readonly Button[] {
  const parsed = keyboard.safeParse(payload["reply_markup"]);
  if (!parsed.success) return [];
  return parsed.data.inline_keyboard.flat().map(({ text, callback_data }) => {
    if (Buffer.byteLength(callback_data) > 64) throw new Error("BUTTON_DATA_INVALID");
    return { text, data: callback_data };
  });
}

export function wordsIn({ text }: Payload): string {
  return typeof text === "string" ? text : "";
}

export function shownText(
  payload: Payload,
): { ok: true; text: string } | { ok: false; reason: string } {
  const source = wordsIn(payload);
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
  const { name, bytes } = z
    .object({ name: z.string(), bytes: z.instanceof(Buffer) })
    .parse(payload["file"]);
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
    return body.length === 0
      ? {}
      : z.record(z.string(), z.unknown()).parse(JSON.parse(body.toString()));
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
