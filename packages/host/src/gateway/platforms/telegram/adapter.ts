import type { Api } from "grammy";

import { safeFileName } from "../../../util/safe-file-name.ts";
import type { Adapter, Edited, Parcel, Place, Sent, Words } from "../../adapter.ts";
import { toMarkdownV2 } from "./markdown.ts";
import { BadStatus, errorCodeOf, troubleOf } from "./failures.ts";
import { incomingOf, type Self, update } from "./updates.ts";

export interface TelegramOptions {
  readonly token: string;
  readonly apiRoot: string;
  /** How long a request for what is new waits, in seconds. */
  readonly pollSeconds?: number;
}

const limits = {
  textUnits: 4_096,
  buttonBytes: 64,
  fileBytes: 20 * 1024 * 1024,
  // Telegram's own advice: one message a second in a chat, twenty a minute in a group.
  paceMs: ({ kind }: Place) => (kind === "private" ? 1_000 : 3_000),
  callsPerSecond: 25,
} as const;

const largestPhoto = 10 * 1024 * 1024;
const askedElsewhere =
  "Another program asks Telegram for this bot's messages, and takes some of them away. Stop it; or let BotFather make a new token (/revoke), and set that one here as HOLDFAST_TELEGRAM_TOKEN.";
const pushedElsewhere =
  "A webhook was set for this bot, so Telegram pushes its messages there. Stop the program that has set it and start this host again, which takes the webhook away.";

const allowed = ["message", "edited_message", "callback_query"] as const;
const pageOfUpdates = 100;

export async function openTelegram(options: TelegramOptions): Promise<Adapter> {
  const { Api, InputFile } = await import("grammy");
  const { token, apiRoot, pollSeconds = 25 } = options;
  const api = new Api(token, {
    apiRoot,
    timeoutSeconds: pollSeconds + 30,
    // The one of the platform that we run on.
    fetch: fetchLikeTheirs as never,
  });
  let self: Self = { id: 0, username: "" };

  return {
    platform: "telegram",
    capabilities: { repeats: "shown", edits: true, buttons: true, typing: true, files: true },
    limits,
    async identify(signal) {
      try {
        const me = await api.getMe(asTheirs(signal));
        self = { id: me.id, username: me.username };
        return { status: "identified", id: String(me.id), name: me.username };
      } catch (error) {
        return troubleOf(error);
      }
    },
    async subscribe(hook, signal) {
      try {
        if (hook === null) await api.deleteWebhook({}, asTheirs(signal));
        else {
          const rest = { secret_token: hook.secret, allowed_updates: allowed };
          await api.setWebhook(hook.url, rest, asTheirs(signal));
        }
        return { status: "subscribed" };
      } catch (error) {
        return troubleOf(error);
      }
    },
    async receive(cursor, patience, signal) {
      const timeout = patience === "wait" ? pollSeconds : 0;
      try {
        const raw: readonly unknown[] = await api.getUpdates(
          { offset: cursor, limit: pageOfUpdates, timeout, allowed_updates: allowed },
          asTheirs(signal),
        );
        const updates = raw.map((each) => update.parse(each));
        const next = Math.max(cursor, ...updates.map(({ update_id }) => update_id + 1));
        const incoming = updates.flatMap((each) => incomingOf(each, self) ?? []);
        return { status: "received", incoming, next };
      } catch (error) {
        if (errorCodeOf(error) !== 409) return troubleOf(error);
        const message = /webhook/i.test(descriptionOf(error)) ? pushedElsewhere : askedElsewhere;
        return { status: "contended", message };
      }
    },
    decode(pushed) {
      const parsed = update.safeParse(pushed);
      return parsed.success ? incomingOf(parsed.data, self) : null;
    },
    send: (place, words, parcel, signal) => sendWords(api, place, words, parcel, signal),
    async sendFile(place, file, _parcel, signal) {
      const { chat, other } = targetOf(place);
      // Who made the file has named it, and the library puts the name into a header as it is.
      const input = () => new InputFile(file.bytes, safeFileName(file.name));
      const isPhoto = file.kind === "image" && file.bytes.length <= largestPhoto;
      try {
        if (isPhoto) {
          const sent = await api.sendPhoto(chat, input(), other, asTheirs(signal));
          return { status: "sent", platformId: String(sent.message_id) };
        }
      } catch (error) {
        // What it cannot make a picture of, it takes as a file: a 400 says that nothing was done.
        if (errorCodeOf(error) !== 400) return troubleOf(error);
      }
      try {
        const sent = await api.sendDocument(chat, input(), other, asTheirs(signal));
        return { status: "sent", platformId: String(sent.message_id) };
      } catch (error) {
        return troubleOf(error);
      }
    },
    edit: (place, id, words, signal) => editWords(api, place, id, words, signal),
    async typing(place, signal) {
      const { chat, other } = targetOf(place);
      await api.sendChatAction(chat, "typing", other, asTheirs(signal)).catch(() => undefined);
    },
    async acknowledge(press, text, signal) {
      const words = text === "" ? {} : { text: text.slice(0, 200) };
      await api.answerCallbackQuery(press, words, asTheirs(signal)).catch(() => undefined);
    },
    async fetchFile({ reference, size }, signal) {
      if ((size ?? 0) > limits.fileBytes) return { status: "too_large" };
      try {
        const { file_path: path } = await api.getFile(reference, asTheirs(signal));
        if (path === undefined) return { status: "too_large" };
        const answer = await fetch(`${apiRoot}/file/bot${token}/${path}`, { signal });
        if (!answer.ok) throw new BadStatus(answer.status);
        const bytes = await readUpTo(answer, limits.fileBytes);
        return bytes === null ? { status: "too_large" } : { status: "fetched", bytes };
      } catch (error) {
        return troubleOf(error);
      }
    },
    async announce(commands, signal) {
      const menu = commands
        .filter(({ name }) => /^[a-z0-9_]{1,32}$/.test(name))
        .map(({ name, help }) => ({ command: name, description: help.slice(0, 256) }));
      await api.setMyCommands(menu, {}, asTheirs(signal)).catch(() => undefined);
    },
  };
}

async function sendWords(
  api: Api,
  place: Place,
  words: Words,
  { replyTo }: Parcel,
  signal: AbortSignal,
): Promise<Sent> {
  const { chat, other } = targetOf(place);
  const reply =
    replyTo === null
      ? {}
      : { reply_parameters: { message_id: Number(replyTo), allow_sending_without_reply: true } };
  const rest = { ...other, ...reply, ...buttonsOf(words) };
  return formatted(words.text, async (text, form) => {
    const sent = await api.sendMessage(chat, text, { ...rest, ...form }, asTheirs(signal));
    return { status: "sent", platformId: String(sent.message_id) };
  });
}

async function editWords(
  api: Api,
  place: Place,
  platformId: string,
  words: Words,
  signal: AbortSignal,
): Promise<Edited> {
  const { chat } = targetOf(place);
  const buttons = buttonsOf(words);
  return formatted(words.text, async (text, form) => {
    try {
      await api.editMessageText(
        chat,
        Number(platformId),
        text,
        { ...buttons, ...form },
        asTheirs(signal),
      );
    } catch (error) {
      if (!isUnchanged(error)) throw error;
    }
    return { status: "edited" };
  });
}

/** What Telegram cannot parse after all goes as plain text: a 400 says that nothing was done. */
async function formatted<T>(
  text: string,
  call: (text: string, form: { parse_mode?: "MarkdownV2" }) => Promise<T>,
) {
  try {
    return await call(toMarkdownV2(text), { parse_mode: "MarkdownV2" });
  } catch (error) {
    if (!isUnparsable(error)) return troubleOf(error);
  }
  try {
    return await call(text.slice(0, limits.textUnits), {});
  } catch (error) {
    return troubleOf(error);
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

function isUnchanged(error: unknown): boolean {
  return errorCodeOf(error) === 400 && /message is not modified/i.test(descriptionOf(error));
}

function targetOf({ chat, thread }: Place) {
  return {
    chat: Number(chat),
    other: thread === null ? {} : { message_thread_id: Number(thread) },
  };
}

function buttonsOf({ buttons }: Words) {
  if (buttons === undefined) return {};
  const inline_keyboard = buttons.map((row) =>
    row.map(({ label, data }) => ({ text: label, callback_data: data })),
  );
  return { reply_markup: { inline_keyboard } };
}

type TheirSignal = NonNullable<Parameters<Api["getMe"]>[0]>;

/** The library was written for a signal of its own, which this one can stand for. */
function asTheirs(signal: AbortSignal): TheirSignal {
  return signal as unknown as TheirSignal;
}

interface TheirRequest {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: BodyInit;
  readonly signal?: {
    readonly aborted: boolean;
    addEventListener(type: "abort", listener: () => void): void;
  };
}

async function fetchLikeTheirs(url: string | URL, request: TheirRequest = {}): Promise<Response> {
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
  if (response.status >= 500 && !isJson) throw new BadStatus(response.status);
  return response;
}

/** `null`: there is more. What a platform says of a size is not always what comes. */
async function readUpTo(response: Response, most: number): Promise<Uint8Array | null> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of response.body ?? []) {
    size += part.length;
    if (size > most) return null;
    parts.push(part);
  }
  return Buffer.concat(parts);
}
