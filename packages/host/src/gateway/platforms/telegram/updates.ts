import { z } from "zod";

import type { Incoming, IncomingFile, ChatAddress } from "../../adapter.ts";

const person = z.object({
  id: z.int(),
  is_bot: z.boolean().optional(),
  first_name: z.string().optional(),
  last_name: z.string().optional(),
  username: z.string().optional(),
});
const chat = z.object({
  id: z.int(),
  type: z.string(),
  title: z.string().optional(),
  is_forum: z.boolean().optional(),
});
const entity = z.object({ type: z.string(), offset: z.int(), length: z.int() });
const fileFields = {
  file_id: z.string(),
  file_size: z.int().optional(),
  file_name: z.string().optional(),
  mime_type: z.string().optional(),
};
const file = z.object(fileFields);
const repliedMessage = z.object({
  message_id: z.int(),
  from: person.optional(),
  text: z.string().optional(),
  caption: z.string().optional(),
});

const message = z.object({
  message_id: z.int(),
  message_thread_id: z.int().optional(),
  is_topic_message: z.boolean().optional(),
  from: person.optional(),
  chat,
  text: z.string().optional(),
  caption: z.string().optional(),
  entities: z.array(entity).optional(),
  caption_entities: z.array(entity).optional(),
  reply_to_message: repliedMessage.optional(),
  photo: z.array(z.object({ file_id: z.string(), file_size: z.int().optional() })).optional(),
  document: file.optional(),
  audio: file.optional(),
  voice: file.optional(),
  video: file.optional(),
  video_note: file.optional(),
});
type Message = z.infer<typeof message>;

const callbackQuery = z.object({
  id: z.string(),
  from: person,
  data: z.string().optional(),
  message: z
    .object({
      message_id: z.int(),
      chat,
      message_thread_id: z.int().optional(),
      is_topic_message: z.boolean().optional(),
    })
    .optional(),
});

/** Kinds that we do not know stay what they are: their number counts, and nothing else. */
export const update = z.looseObject({
  update_id: z.int(),
  message: message.optional().catch(undefined),
  edited_message: message.optional().catch(undefined),
  callback_query: callbackQuery.optional().catch(undefined),
});
export type Update = z.infer<typeof update>;

export interface BotSelf {
  readonly id: number;
  readonly username: string;
}

export function toIncoming(given: Update, self: BotSelf): Incoming | null {
  const { message: said, edited_message: edited, callback_query: press } = given;
  if (said !== undefined) return toMessage("message", said, self);
  if (edited !== undefined) return toMessage("edit", edited, self);
  if (press?.message === undefined || press.data === undefined) return null;
  return {
    kind: "press",
    address: toChatAddress(press.message),
    person: { id: String(press.from.id), name: displayName(press.from) },
    messageId: String(press.message.message_id),
    press: press.id,
    data: press.data,
  };
}

function toMessage(kind: "message" | "edit", said: Message, self: BotSelf): Incoming | null {
  if (said.from === undefined || said.from.is_bot === true) return null;
  const place = toChatAddress(said);
  const text = said.text ?? said.caption ?? "";
  const files = filesOf(said);
  if (text === "" && files.length === 0) return null;
  const repliesToUs = said.reply_to_message?.from?.id === self.id;
  const quoted = said.reply_to_message?.text ?? said.reply_to_message?.caption ?? null;
  return {
    kind,
    address: place,
    ...(said.chat.title !== undefined && { chatTitle: said.chat.title }),
    person: { id: String(said.from.id), name: displayName(said.from) },
    messageId: String(said.message_id),
    text: withoutMention(text, self),
    files,
    addressed: place.kind === "private" || repliesToUs || isAddressed(text, self),
    quoted: repliesToUs || place.kind === "private" ? null : quoted,
  };
}

function toChatAddress(
  said: Pick<Message, "chat" | "message_thread_id" | "is_topic_message">,
): ChatAddress {
  const { chat: where, message_thread_id: thread, is_topic_message: isTopic } = said;
  return {
    chat: String(where.id),
    thread: isTopic === true && thread !== undefined ? String(thread) : null,
    kind: where.type === "private" ? "private" : "group",
  };
}

function isAddressed(text: string, { username }: BotSelf): boolean {
  const [word = ""] = text.split(/\s/, 1);
  const [, to] = /^\/\w+(?:@(\w+))?$/.exec(word) ?? [];
  // A command is everybody's, unless it names one.
  if (word.startsWith("/")) return to === undefined || to.toLowerCase() === username.toLowerCase();
  return new RegExp(`@${username}\\b`, "i").test(text);
}

/** `/stop@our_bot` and `@our_bot what is this` are said to us: the name itself says nothing more. */
function withoutMention(text: string, { username }: BotSelf): string {
  return text
    .replace(new RegExp(`^(/\\w+)@${username}\\b`, "i"), "$1")
    .replace(new RegExp(`^@${username}\\b[\\s,:]*`, "i"), "");
}

function displayName({ first_name, last_name, username, id }: z.infer<typeof person>): string {
  const name = [first_name, last_name].filter(Boolean).join(" ");
  return (name || username || String(id)).slice(0, 100);
}

/** What they are where Telegram does not say. */
const fileDefaults = {
  document: { usual: "application/octet-stream", ending: "" },
  audio: { usual: "audio/mpeg", ending: ".mp3" },
  voice: { usual: "audio/ogg", ending: ".ogg" },
  video: { usual: "video/mp4", ending: ".mp4" },
  video_note: { usual: "video/mp4", ending: ".mp4" },
} as const;
const fileKinds = ["document", "audio", "voice", "video", "video_note"] as const;

function filesOf(said: Message): IncomingFile[] {
  const files: IncomingFile[] = [];
  const photo = said.photo?.toSorted((a, b) => (b.file_size ?? 0) - (a.file_size ?? 0))[0];
  if (photo !== undefined)
    files.push({
      kind: "image",
      name: `photo-${said.message_id}.jpg`,
      mediaType: "image/jpeg",
      size: photo.file_size ?? null,
      reference: photo.file_id,
    });
  for (const kind of fileKinds) {
    const each = said[kind];
    if (each === undefined) continue;
    const { usual, ending } = fileDefaults[kind];
    files.push({
      kind: "file",
      name: each.file_name ?? `${kind.replace("_", "-")}-${said.message_id}${ending}`,
      mediaType: mediaTypeOf(each.mime_type) ?? usual,
      size: each.file_size ?? null,
      reference: each.file_id,
    });
  }
  return files;
}

/** Whoever sends a file says what it is, and may say anything: nothing else than a type is passed on. */
function mediaTypeOf(said: string | undefined): string | undefined {
  return said !== undefined && /^[\w.+-]{1,60}\/[\w.+-]{1,60}$/.test(said) ? said : undefined;
}
