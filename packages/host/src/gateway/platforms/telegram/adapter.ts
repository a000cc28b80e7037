import type { Api } from "grammy";

import { safeFileName } from "../../../util/safe-file-name.ts";
import type {
  PlatformAdapter,
  EditResult,
  SendMeta,
  ChatAddress,
  SendResult,
  OutgoingText,
} from "../../adapter.ts";
import { toMarkdownV2 } from "./markdown.ts";
import { HttpStatusError, errorCodeOf, failureOf } from "./failures.ts";
import { toIncoming, type BotSelf, update } from "./updates.ts";

export interface TelegramOptions {
  readonly token: string;
  readonly apiRoot: string;
  /** Long-polling timeout, in seconds. */
  readonly pollSeconds?: number;
}

const limits = {
  textUnits: 4_096,
  buttonBytes: 64,
  fileBytes: 20 * 1024 * 1024,
  // Telegram recommends one message a second in a chat, and twenty a minute in a group.
  paceMs: ({ kind }: ChatAddress) => (kind === "private" ? 1_000 : 3_000),
  callsPerSecond: 25,
} as const;

const maxPhotoBytes = 10 * 1024 * 1024;
const foreignPollerHint =
  "Another program asks Telegram for this bot's messages, and takes some of them away. Stop it; or let BotFather make a new token (/revoke), and set that one here as HOLDFAST_TELEGRAM_TOKEN.";
const foreignWebhookHint =
  "A webhook was set for this bot, so Telegram pushes its messages there. Stop the program that has set it and start this host again, which takes the webhook away.";

const allowedUpdates = ["message", "edited_message", "callback_query"] as const;
const updatesPerPage = 100;

export async function createTelegramAdapter(options: TelegramOptions): Promise<PlatformAdapter> {
  const { Api, InputFile } = await import("grammy");
  const { token, apiRoot, pollSeconds = 25 } = options;
  const api = new Api(token, {
    apiRoot,
    timeoutSeconds: pollSeconds + 30,
    // Use Node's fetch instead of the library's.
    fetch: grammyFetch as never,
  });
  let self: BotSelf = { id: 0, username: "" };

  return {
    platform: "telegram",
    capabilities: { repeats: "shown", edits: true, buttons: true, typing: true, files: true },
    limits,
    async identify(signal) {
      try {
        const identity = await api.getMe(toGrammySignal(signal));
        self = { id: identity.id, username: identity.username };
        return { status: "identified", id: String(identity.id), name: identity.username };
      } catch (error) {
        return failureOf(error);
      }
    },
    async subscribe(hook, signal) {
      try {
        if (hook === null) await api.deleteWebhook({}, toGrammySignal(signal));
        else {
          const settings = { secret_token: hook.secret, allowed_updates: allowedUpdates };
          await api.setWebhook(hook.url, settings, toGrammySignal(signal));
        }
        return { status: "subscribed" };
      } catch (error) {
        return failureOf(error);
      }
    },
    async receive(cursor, mode, signal) {
      const timeout = mode === "wait" ? pollSeconds : 0;
      try {
        const raw: readonly unknown[] = await api.getUpdates(
          { offset: cursor, limit: updatesPerPage, timeout, allowed_updates: allowedUpdates },
          toGrammySignal(signal),
        );
        const updates = raw.map((item) => update.parse(item));
        const next = Math.max(cursor, ...updates.map(({ update_id }) => update_id + 1));
        const incoming = updates.flatMap((item) => toIncoming(item, self) ?? []);
        return { status: "received", incoming, next };
      } catch (error) {
        if (errorCodeOf(error) !== 409) return failureOf(error);
        const message = /webhook/i.test(descriptionOf(error))
          ? foreignWebhookHint
          : foreignPollerHint;
        return { status: "contended", message };
      }
    },
    decodePush(pushed) {
      const parsed = update.safeParse(pushed);
      return parsed.success ? toIncoming(parsed.data, self) : null;
    },
    send: (address, message, meta, signal) => sendText(api, address, message, meta, signal),
    async sendFile(address, file, _meta, signal) {
      const { chat, threadOptions } = telegramTarget(address);
      // The name comes from whoever made the file, and grammY puts it into a header unescaped.
      const input = () => new InputFile(file.bytes, safeFileName(file.name));
      const isPhoto = file.kind === "image" && file.bytes.length <= maxPhotoBytes;
      try {
        if (isPhoto) {
          const sent = await api.sendPhoto(chat, input(), threadOptions, toGrammySignal(signal));
          return { status: "sent", platformId: String(sent.message_id) };
        }
      } catch (error) {
        // A 400 means nothing was sent, so send what Telegram rejects as a photo as a document.
        if (errorCodeOf(error) !== 400) return failureOf(error);
      }
      try {
        const sent = await api.sendDocument(chat, input(), threadOptions, toGrammySignal(signal));
        return { status: "sent", platformId: String(sent.message_id) };
      } catch (error) {
        return failureOf(error);
      }
    },
    edit: (address, id, message, signal) => editText(api, address, id, message, signal),
    async showTyping(address, signal) {
      const { chat, threadOptions } = telegramTarget(address);
      await api
        .sendChatAction(chat, "typing", threadOptions, toGrammySignal(signal))
        .catch(() => undefined);
    },
    async acknowledgePress(press, text, signal) {
      const notice = text === "" ? {} : { text: text.slice(0, 200) };
      await api.answerCallbackQuery(press, notice, toGrammySignal(signal)).catch(() => undefined);
    },
    async fetchFile({ reference, size }, signal) {
      if ((size ?? 0) > limits.fileBytes) return { status: "too_large" };
      try {
        const { file_path: path } = await api.getFile(reference, toGrammySignal(signal));
        if (path === undefined) return { status: "too_large" };
        const response = await fetch(`${apiRoot}/file/bot${token}/${path}`, { signal });
        if (!response.ok) throw new HttpStatusError(response.status);
        const bytes = await readBounded(response, limits.fileBytes);
        return bytes === null ? { status: "too_large" } : { status: "fetched", bytes };
      } catch (error) {
        return failureOf(error);
      }
    },
    async publishCommands(commands, signal) {
      const menu = commands
        .filter(({ name }) => /^[a-z0-9_]{1,32}$/.test(name))
        .map(({ name, help }) => ({ command: name, description: help.slice(0, 256) }));
      await api.setMyCommands(menu, {}, toGrammySignal(signal)).catch(() => undefined);
    },
  };
}

/** Telegram fetches a link to preview it, so an address that the model wrote would carry data out by itself. */
const withoutPreviews = { link_preview_options: { is_disabled: true } } as const;

async function sendText(
  api: Api,
  address: ChatAddress,
  message: OutgoingText,
  { replyTo }: SendMeta,
  signal: AbortSignal,
): Promise<SendResult> {
  const { chat, threadOptions } = telegramTarget(address);
  const reply =
    replyTo === null
      ? {}
      : { reply_parameters: { message_id: Number(replyTo), allow_sending_without_reply: true } };
  const options = { ...threadOptions, ...reply, ...withoutPreviews, ...inlineKeyboard(message) };
  return withMarkdownFallback(message.text, async (text, format) => {
    const sent = await api.sendMessage(
      chat,
      text,
      { ...options, ...format },
      toGrammySignal(signal),
    );
    return { status: "sent", platformId: String(sent.message_id) };
  });
}

async function editText(
  api: Api,
  address: ChatAddress,
  platformId: string,
  message: OutgoingText,
  signal: AbortSignal,
): Promise<EditResult> {
  const { chat } = telegramTarget(address);
  const buttons = inlineKeyboard(message);
  return withMarkdownFallback(message.text, async (text, format) => {
    try {
      await api.editMessageText(
        chat,
        Number(platformId),
        text,
        { ...withoutPreviews, ...buttons, ...format },
        toGrammySignal(signal),
      );
    } catch (error) {
      if (!isNotModified(error)) throw error;
    }
    return { status: "edited" };
  });
}

/** Sends text that Telegram cannot parse as plain text: a 400 means nothing was sent. */
async function withMarkdownFallback<T>(
  text: string,
  call: (text: string, format: { parse_mode?: "MarkdownV2" }) => Promise<T>,
) {
  try {
    return await call(toMarkdownV2(text), { parse_mode: "MarkdownV2" });
  } catch (error) {
    if (!isUnparsable(error)) return failureOf(error);
  }
  try {
    return await call(text.slice(0, limits.textUnits), {});
  } catch (error) {
    return failureOf(error);
  }
}

function descriptionOf(error: unknown): string {
  const { description } = (error ?? {}) as { readonly description?: unknown };
  return typeof description === "string" ? description : "";
}

function isUnparsable(error: unknown): boolean {
  if (errorCodeOf(error) !== 400) return false;
  return /can't parse entities|message is too long|text must be non-empty/i.test(
    descriptionOf(error),
  );
}

function isNotModified(error: unknown): boolean {
  return errorCodeOf(error) === 400 && /message is not modified/i.test(descriptionOf(error));
}

function telegramTarget({ chat, thread }: ChatAddress) {
  return {
    chat: Number(chat),
    threadOptions: thread === null ? {} : { message_thread_id: Number(thread) },
  };
}

function inlineKeyboard({ buttons }: OutgoingText) {
  if (buttons === undefined) return {};
  const inline_keyboard = buttons.map((row) =>
    row.map(({ label, data }) => ({ text: label, callback_data: data })),
  );
  return { reply_markup: { inline_keyboard } };
}

type GrammySignal = NonNullable<Parameters<Api["getMe"]>[0]>;

/** grammY types its own AbortSignal, which a native one satisfies. */
function toGrammySignal(signal: AbortSignal): GrammySignal {
  return signal as unknown as GrammySignal;
}

interface GrammyRequest {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: BodyInit;
  readonly signal?: {
    readonly aborted: boolean;
    addEventListener(type: "abort", listener: () => void): void;
  };
}

async function grammyFetch(url: string | URL, request: GrammyRequest = {}): Promise<Response> {
  const { method = "GET", headers = {}, body, signal } = request;
  const abort = new AbortController();
  if (signal?.aborted === true) abort.abort();
  signal?.addEventListener("abort", () => abort.abort());
  const response = await fetch(url, {
    method,
    headers,
    ...(body !== undefined && { body, duplex: "half" }),
    signal: abort.signal,
  });
  const isJson = response.headers.get("content-type")?.includes("json") === true;
  if (response.status >= 500 && !isJson) throw new HttpStatusError(response.status);
  return response;
}

/** `null`: it is larger. The size that the platform reports is not always right. */
async function readBounded(response: Response, maxBytes: number): Promise<Uint8Array | null> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > maxBytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
