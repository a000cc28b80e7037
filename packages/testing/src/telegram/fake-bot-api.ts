import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { findFreePort } from "../process/free-port.ts";
import {
  type Button,
  buttonsIn,
  decodeBody,
  fileIn,
  type Payload,
  previewedLinksIn,
  readBody,
  replyIn,
  type SentFile,
  shownText,
  textIn,
} from "./payloads.ts";

/** What goes wrong with a call. */
export type Fault =
  | { readonly kind: "limited"; readonly seconds: number }
  | { readonly kind: "error"; readonly code: number; readonly description: string }
  /** Not even the platform's own error format. */
  | { readonly kind: "html"; readonly code: number }
  /** The connection breaks before or after the call is carried out. */
  | { readonly kind: "cut"; readonly when: "before" | "after" };

type Watch = (method: string, payload: Readonly<Record<string, unknown>>) => Promise<void> | void;

/** Faults queued for their call, and hooks around calls. */
export class FaultQueue {
  readonly #waiting: { readonly method: string; readonly fault: Fault }[] = [];
  /** Before a call is carried out; the call waits for it. */
  before: Watch = () => {};
  /** After it was carried out, before its answer is sent. */
  after: Watch = () => {};

  add(method: string, fault: Fault, times = 1): void {
    for (let item = 0; item < times; item += 1) this.#waiting.push({ method, fault });
  }

  async next(method: string, payload: Readonly<Record<string, unknown>>): Promise<Fault | null> {
    await this.before(method, payload);
    const index = this.#waiting.findIndex((item) => item.method === method);
    return index === -1 ? null : (this.#waiting.splice(index, 1)[0]?.fault ?? null);
  }

  async passed(method: string, payload: Readonly<Record<string, unknown>>): Promise<void> {
    await this.after(method, payload);
  }
}

/** A message as a person sees it in a chat. */
export interface ShownMessage {
  readonly id: number;
  readonly chat: number;
  readonly thread: number | null;
  readonly from: "bot" | "person";
  text: string;
  readonly replyTo: number | null;
  buttons: readonly Button[];
  readonly file: SentFile | null;
  /** How often the bot has edited it. */
  edits: number;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

const failure = (code: number, description: string, parameters?: object): Answer => ({
  status: code,
  body: { ok: false, error_code: code, description, ...(parameters && { parameters }) },
});
const success = (result: unknown): Answer => ({ status: 200, body: { ok: true, result } });

export const botToken = "424242:fake-token";
const botId = 424_242;
const botName = "holdfast_bot";

/**
 * A Bot API server that behaves as documented: updates are repeated until a later offset confirms them, one poller
 * ends the other, texts that don't parse are refused, and it can be slow, rate limited, broken or away.
 */
export class FakeBotApi {
  readonly messages: ShownMessage[] = [];
  readonly calls: { readonly method: string; readonly payload: Payload }[] = [];
  readonly faults = new FaultQueue();
  readonly acknowledged: { readonly id: string; readonly text: string }[] = [];
  readonly files = new Map<string, Buffer>();
  /** Links that it has fetched for previews. */
  readonly previewed: string[] = [];
  hook: { readonly url: string; readonly secret: string } | null = null;
  #updates: { readonly update_id: number }[] = [];
  #nextUpdate = 1_000;
  #nextMessage = 1;
  #polling: { readonly end: (answer: Answer) => void } | null = null;
  #server: Server | undefined;
  #port = 0;
  /** Called when a bot's message has been shown or changed. */
  onShown: (message: ShownMessage) => void = () => {};

  get address(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async start(): Promise<void> {
    const server = createServer((request, response) => void this.#serve(request, response));
    // After an outage it must be back on the same port.
    if (this.#port === 0) this.#port = await findFreePort();
    server.listen(this.#port, "127.0.0.1");
    await once(server, "listening");
    this.#server = server;
  }

  /** Away: nobody listens on its port. It keeps its state. */
  async stop(): Promise<void> {
    this.#polling?.end(failure(502, "Bad Gateway"));
    const server = this.#server;
    this.#server = undefined;
    server?.closeAllConnections();
    await new Promise<void>((resolve) => (server ? server.close(() => resolve()) : resolve()));
  }

  /** Polling from here confirms everything. */
  get nextUpdate(): number {
    return this.#nextUpdate;
  }

  get unconfirmed(): number {
    return this.#updates.length;
  }

  /** What the bot shows in a chat, oldest first. */
  shownIn(chat: number): readonly ShownMessage[] {
    return this.messages.filter((item) => item.chat === chat && item.from === "bot");
  }

  /** A person says something; returns the message's number. */
  say(chat: number, text: string, rest: object = {}): number {
    const id = this.#nextMessage++;
    const isGroup = chat < 0;
    const from = { id: Math.abs(chat), is_bot: false, first_name: `Person ${Math.abs(chat)}` };
    const where = { id: chat, type: isGroup ? "supergroup" : "private" };
    this.push({ message: { message_id: id, date: 0, from, chat: where, text, ...rest } });
    return id;
  }

  press(chat: number, message: ShownMessage, label: string, person = Math.abs(chat)): void {
    const data = message.buttons.find(({ text }) => text === label)?.data;
    const where = { id: chat, type: chat < 0 ? "supergroup" : "private" };
    this.push({
      callback_query: {
        id: `press-${this.#nextUpdate}`,
        from: { id: person, is_bot: false, first_name: `Person ${person}` },
        message: { message_id: message.id, chat: where, date: 0 },
        data,
      },
    });
  }

  push(update: object): void {
    this.#updates.push({ update_id: this.#nextUpdate++, ...update });
    this.#answerPoller();
  }

  /** Delivers all unconfirmed updates again, as after a lost confirmation. */
  get pending(): readonly object[] {
    return this.#updates;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, token = "", method = ""] = /^\/bot([^/]+)\/(\w+)/.exec(request.url ?? "") ?? [];
    const path = /^\/file\/bot[^/]+\/(.+)$/.exec(request.url ?? "")?.[1];
    if (path !== undefined) return void response.end(this.files.get(path) ?? "");
    const body = await readBody(request);
    const payload = decodeBody(request, body);
    if (method !== "getUpdates") this.calls.push({ method, payload });
    const fault = await this.faults.next(method, payload);
    if (fault?.kind === "cut" && fault.when === "before") return void response.destroy();
    const answer =
      faultAnswer(fault) ??
      (token === botToken
        ? await this.#answer(method, payload, response)
        : failure(401, "Unauthorized"));
    await this.faults.passed(method, payload);
    if (fault?.kind === "cut" || answer === null) return void response.destroy();
    if (response.destroyed) return;
    const isText = typeof answer.body === "string";
    response.writeHead(answer.status, {
      "content-type": isText ? "text/html" : "application/json",
    });
    response.end(isText ? answer.body : JSON.stringify(answer.body));
  }

  async #answer(
    method: string,
    payload: Payload,
    response: ServerResponse,
  ): Promise<Answer | null> {
    switch (method) {
      case "getMe":
        return success({ id: botId, is_bot: true, first_name: "Holdfast", username: botName });
      case "getUpdates":
        return this.#poll(payload, response);
      case "sendMessage":
        return this.#show(payload, null);
      case "sendPhoto":
      case "sendDocument":
        return this.#show({ ...payload, text: payload["caption"] ?? "" }, fileIn(payload));
      case "editMessageText":
        return this.#change(payload);
      case "answerCallbackQuery":
        this.acknowledged.push({
          id: String(payload["callback_query_id"]),
          text: textIn(payload),
        });
        return success(true);
      case "getFile":
        return success({ file_id: payload["file_id"], file_path: String(payload["file_id"]) });
      case "setWebhook":
        this.hook = { url: String(payload["url"]), secret: String(payload["secret_token"]) };
        return success(true);
      case "deleteWebhook":
        this.hook = null;
        return success(true);
      default:
        return success(true);
    }
  }

  /** The last poller wins: the waiting one is told that there are two. */
  #poll(payload: Payload, response: ServerResponse): Promise<Answer | null> {
    if (this.hook !== null)
      return Promise.resolve(
        failure(409, "Conflict: can't use getUpdates method while webhook is active"),
      );
    this.#polling?.end(failure(409, "Conflict: terminated by other getUpdates request"));
    const offset = Number(payload["offset"] ?? 0);
    if (offset > 0) this.#updates = this.#updates.filter(({ update_id }) => update_id >= offset);
    if (this.#updates.length > 0) return Promise.resolve(success(this.#updates.slice(0, 100)));
    return new Promise((resolve) => {
      const seconds = Number(payload["timeout"] ?? 0);
      const end = (answer: Answer | null) => {
        clearTimeout(timer);
        if (this.#polling === poller) this.#polling = null;
        resolve(answer);
      };
      const timer = setTimeout(() => end(success([])), seconds * 1_000);
      const poller = { end };
      this.#polling = poller;
      response.on("close", () => this.#polling === poller && end(null));
    });
  }

  #answerPoller(): void {
    const waiting = this.#polling;
    if (waiting !== null) waiting.end(success(this.#updates.slice(0, 100)));
  }

  #show(payload: Payload, file: SentFile | null): Answer {
    const text = file === null ? shownText(payload) : { ok: true as const, text: "" };
    if (!text.ok) return failure(400, text.reason);
    const message: ShownMessage = {
      id: this.#nextMessage++,
      chat: Number(payload["chat_id"]),
      thread:
        payload["message_thread_id"] === undefined ? null : Number(payload["message_thread_id"]),
      from: "bot",
      text: text.text,
      replyTo: replyIn(payload),
      buttons: buttonsIn(payload),
      file,
      edits: 0,
    };
    this.messages.push(message);
    this.previewed.push(...previewedLinksIn(payload, message.text));
    this.onShown(message);
    return success({
      message_id: message.id,
      date: 0,
      chat: { id: message.chat, type: "private" },
    });
  }

  #change(payload: Payload): Answer {
    const message = this.messages.find(({ id }) => id === Number(payload["message_id"]));
    if (message === undefined) return failure(400, "Bad Request: message to edit not found");
    const text = shownText(payload);
    if (!text.ok) return failure(400, text.reason);
    const buttons = buttonsIn(payload);
    if (message.text === text.text && message.buttons.length === buttons.length)
      return failure(400, "Bad Request: message is not modified");
    message.text = text.text;
    message.buttons = buttons;
    message.edits += 1;
    this.previewed.push(...previewedLinksIn(payload, message.text));
    this.onShown(message);
    return success({ message_id: message.id });
  }
}

function faultAnswer(fault: Fault | null): Answer | null {
  switch (fault?.kind) {
    case "limited":
      return failure(429, `Too Many Requests: retry after ${fault.seconds}`, {
        retry_after: fault.seconds,
      });
    case "error":
      return failure(fault.code, fault.description);
    case "html":
      return { status: fault.code, body: "<html><body>Bad Gateway</body></html>" };
    default:
      return null;
  }
}
