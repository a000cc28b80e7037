import type { Egress } from "../../../util/egress/egress.ts";
import type {
  SendResult,
  PlatformFailure,
  PlatformAdapter,
  OutgoingFile,
  SendMeta,
  ChatAddress,
  OutgoingText,
} from "../../adapter.ts";
import { signedHeaders } from "../../../util/webhook-signature.ts";
import { type Webhook, type WebhookLookup, parseWebhookChat } from "./webhook.ts";
import { encodeBody, toIncoming, inlinePrefix, pushedMessage } from "./message.ts";

type EgressResult = Awaited<ReturnType<Egress["request"]>>;

/** A receiver that says so for good; whatever else it says may be put right there, within a day. */
const finalStatuses: ReadonlySet<number> = new Set([400, 410, 413, 415, 422]);
/** Where the request may have arrived before something went wrong. */
const ambiguousFailures: ReadonlySet<string> = new Set(["connection", "time", "cancelled"]);
const maxRetryAfterMs = 60 * 60_000;

/** What became of something that was posted to a hook's address. */
function toSendResult(answer: EgressResult, id: string, now: number): SendResult {
  if (!answer.ok) {
    const { code, message } = answer.refusal;
    if (ambiguousFailures.has(code)) return { status: "unknown", code: `egress_${code}`, message };
    return retryLater(`egress_${code}`, message, 0);
  }
  const { status, headers } = answer.value;
  if (status >= 200 && status < 300) return { status: "sent", platformId: id };
  const [code, message] = [`http_${status}`, `It answered ${status}.`];
  if (finalStatuses.has(status)) return { status: "refused", code, message };
  return retryLater(code, message, parseRetryAfter(headers["retry-after"], now));
}

/** Only this hook's receiver: nobody else has to wait for it. */
function retryLater(code: string, message: string, afterMs: number): PlatformFailure {
  return { status: "later", afterMs, isAway: false, code, message };
}

/** In seconds, or as a date. */
function parseRetryAfter(given: unknown, now: number): number {
  if (typeof given !== "string") return 0;
  const ms = /^\d{1,9}$/.test(given) ? Number(given) * 1_000 : Date.parse(given) - now;
  return Number.isNaN(ms) ? 0 : Math.min(Math.max(0, ms), maxRetryAfterMs);
}

export interface WebhookAdapterDeps {
  readonly hooks: WebhookLookup;
  readonly egressFor: (hook: Webhook) => Egress;
  readonly readBlob: (id: string) => Promise<Uint8Array | null>;
  /** By the clock on the wall, in milliseconds. */
  readonly now: () => number;
}

const limits = {
  textUnits: 16_000,
  buttonBytes: 64,
  fileBytes: 8 * 1024 * 1024,
  paceMs: () => 0,
  callsPerSecond: 50,
} as const;

const maxResponseBytes = 4_096;
const webhookGone = { status: "refused", code: "webhook_not_found" } as const;

/**
 * Programs that push what they say, and are posted what is said to them: all hooks of a host together. What goes out has a
 * name that stays, so that a receiver drops what it has had, and nothing is ever in doubt.
 */
export function createWebhookAdapter(parts: WebhookAdapterDeps): PlatformAdapter {
  const { hooks, egressFor, readBlob, now } = parts;

  async function post(
    place: ChatAddress,
    parcel: SendMeta,
    said: OutgoingText | OutgoingFile,
    signal: AbortSignal,
  ): Promise<SendResult> {
    const { hook: name } = parseWebhookChat(place.chat);
    const hook = hooks.find(name);
    if (hook === null) return { ...webhookGone, message: `There is no webhook ${name} any more.` };
    if (hook.url === null) return { status: "unwanted", code: "no_address" };
    const body = encodeBody(place, parcel, said);
    const answer = await egressFor(hook).request(hook.url, {
      method: "POST",
      headers: signedHeaders(hook.secrets, parcel.id, Math.floor(now() / 1_000), body),
      body,
      mostBytes: maxResponseBytes,
      whenLarger: "cut",
      signal,
    });
    return toSendResult(answer, parcel.id, now());
  }

  return {
    platform: "webhook",
    capabilities: { repeats: "dropped", edits: false, buttons: true, typing: false, files: true },
    limits,
    async identify() {
      const names = hooks.list().map(({ name }) => name);
      return { status: "identified", id: "webhook", name: names.join(", ") };
    },
    subscribe: async () => ({ status: "subscribed" }),
    // Everything is pushed: there is never anything to ask for.
    async receive(cursor, patience, signal) {
      if (patience === "wait" && !signal.aborted)
        await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      return { status: "received", incoming: [], next: cursor };
    },
    decodePush(pushed) {
      const parsed = pushedMessage.safeParse(pushed);
      return parsed.success ? toIncoming(parsed.data) : null;
    },
    send: (place, words, parcel, signal) => post(place, parcel, words, signal),
    async sendFile(place, file, parcel, signal) {
      if (file.bytes.length <= limits.fileBytes) return post(place, parcel, file, signal);
      return { status: "refused", code: "too_large", message: "It is larger than 8 MB." };
    },
    async edit() {
      throw new Error("What was posted to a webhook cannot be changed.");
    },
    showTyping: async () => {},
    acknowledgePress: async () => {},
    async fetchFile({ reference, size }) {
      if ((size ?? 0) > limits.fileBytes) return { status: "too_large" };
      if (reference.startsWith(inlinePrefix)) {
        const bytes = Buffer.from(reference.slice(inlinePrefix.length), "base64");
        return { status: "fetched", bytes };
      }
      const bytes = await readBlob(reference);
      if (bytes === null)
        return { status: "refused", code: "blob_not_found", message: "There is no such blob." };
      return bytes.length > limits.fileBytes
        ? { status: "too_large" }
        : { status: "fetched", bytes };
    },
    publishCommands: async () => {},
  };
}
