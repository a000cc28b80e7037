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
  forward_origin: z.looseObject({}).optional(),
  /** Before Bot API 7.0. */
  forward_date: z.int().optional(),
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

/** Updates of unknown kinds still parse: only their id matters. */
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

export function toIncoming(incoming: Update, self: BotSelf): Incoming | null {
  const { message: sent, edited_message: edited, callback_query: press } = incoming;
  if (sent !== undefined) return toMessage("message", sent, self);
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

function toMessage(kind: "message" | "edit", source: Message, self: BotSelf): Incoming | null {
  if (source.from === undefined || source.from.is_bot === true) return null;
  const address = toChatAddress(source);
  const text = source.text ?? source.caption ?? "";
  const files = filesOf(source);
  if (text === "" && files.length === 0) return null;
  const repliesToUs = source.reply_to_message?.from?.id === self.id;
  const quoted = source.reply_to_message?.text ?? source.reply_to_message?.caption ?? null;
  return {
    kind,
    address,
    ...(source.chat.title !== undefined && { chatTitle: source.chat.title }),
    person: { id: String(source.from.id), name: displayName(source.from) },
    messageId: String(source.message_id),
    text: withoutMention(text, self),
    files,
    addressed: address.kind === "private" || repliesToUs || isAddressed(text, self),
    quoted: repliesToUs || address.kind === "private" ? null : quoted,
    ...((source.forward_origin !== undefined || source.forward_date !== undefined) && {
      forwarded: true,
    }),
  };
}

function toChatAddress(
  source: Pick<Message, "chat" | "message_thread_id" | "is_topic_message">,
): ChatAddress {
  const { chat: sourceChat, message_thread_id: thread, is_topic_message: isTopic } = source;
  return {
    chat: String(sourceChat.id),
    thread: isTopic === true && thread !== undefined ? String(thread) : null,
    kind: sourceChat.type === "private" ? "private" : "group",
  };
}

function isAddressed(text: string, { username }: BotSelf): boolean {
  const [word = ""] = text.split(/\s/, 1);
  const [, target] = /^\/\w+(?:@(\w+))?$/.exec(word) ?? [];
  // A command is for every bot, unless it names one.
  if (word.startsWith("/"))
    return target === undefined || target.toLowerCase() === username.toLowerCase();
  return new RegExp(`@${username}\\b`, "i").test(text);
}

/** Strips our name from `/stop@our_bot` and `@our_bot what is this`. */
function withoutMention(text: string, { username }: BotSelf): string {
  return text
    .replace(new RegExp(`^(/\\w+)@${username}\\b`, "i"), "$1")
    .replace(new RegExp(`^@${username}\\b[\\s,:]*`, "i"), "");
}

function displayName({ first_name, last_name, username, id }: z.infer<typeof person>): string {
  const name = [first_name, last_name].filter(Boolean).join(" ");
  return (name || username || String(id)).slice(0, 100);
}

/** Used where Telegram does not send a type or name. */
const fileDefaults = {
  document: { mediaType: "application/octet-stream", extension: "" },
  audio: { mediaType: "audio/mpeg", extension: ".mp3" },
  voice: { mediaType: "audio/ogg", extension: ".ogg" },
  video: { mediaType: "video/mp4", extension: ".mp4" },
  video_note: { mediaType: "video/mp4", extension: ".mp4" },
} as const;
const fileKinds = ["document", "audio", "voice", "video", "video_note"] as const;

function filesOf(source: Message): IncomingFile[] {
  const files: IncomingFile[] = [];
  const photo = source.photo?.toSorted((a, b) => (b.file_size ?? 0) - (a.file_size ?? 0))[0];
  if (photo !== undefined)
    files.push({
      kind: "image",
      name: `photo-${source.message_id}.jpg`,
      mediaType: "image/jpeg",
      size: photo.file_size ?? null,
      reference: photo.file_id,
    });
  for (const kind of fileKinds) {
    const attached = source[kind];
    if (attached === undefined) continue;
    const { mediaType, extension } = fileDefaults[kind];
    files.push({
      kind: "file",
      name: attached.file_name ?? `${kind.replace("_", "-")}-${source.message_id}${extension}`,
      mediaType: mediaTypeOf(attached.mime_type) ?? mediaType,
      size: attached.file_size ?? null,
      reference: attached.file_id,
    });
  }
  return files;
}

/** The sender chooses this value, so only a well-formed type is passed on. */
function mediaTypeOf(declared: string | undefined): string | undefined {
  return declared !== undefined && /^[\w.+-]{1,60}\/[\w.+-]{1,60}$/.test(declared)
    ? declared
    : undefined;
}
