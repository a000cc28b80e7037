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

/** Final refusals; any other status may be fixed at the receiver within a day. */
const finalStatuses: ReadonlySet<number> = new Set([400, 410, 413, 415, 422]);
/** The request may have arrived before it failed. */
const ambiguousFailures: ReadonlySet<string> = new Set(["connection", "time", "cancelled"]);
const maxRetryAfterMs = 60 * 60_000;

function toSendResult(response: EgressResult, id: string, now: number): SendResult {
  if (!response.ok) {
    const { code, message } = response.refusal;
    if (ambiguousFailures.has(code)) return { status: "unknown", code: `egress_${code}`, message };
    return retryLater(`egress_${code}`, message, 0);
  }
  const { status, headers } = response.value;
  if (status >= 200 && status < 300) return { status: "sent", platformId: id };
  const [code, message] = [`http_${status}`, `It answered ${status}.`];
  if (finalStatuses.has(status)) return { status: "refused", code, message };
  return retryLater(code, message, parseRetryAfter(headers["retry-after"], now));
}

/** Only this webhook's receiver is affected, so other chats need not wait. */
function retryLater(code: string, message: string, afterMs: number): PlatformFailure {
  return { status: "later", afterMs, isAway: false, code, message };
}

/** In seconds, or as a date. */
function parseRetryAfter(header: unknown, now: number): number {
  if (typeof header !== "string") return 0;
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now;
  return Number.isNaN(ms) ? 0 : Math.min(Math.max(0, ms), maxRetryAfterMs);
}

export interface WebhookAdapterDeps {
  readonly hooks: WebhookLookup;
  readonly egressFor: (hook: Webhook) => Egress;
  readonly readBlob: (id: string) => Promise<Uint8Array | null>;
  /** Wall-clock time in milliseconds. */
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
 * One adapter for all webhooks of a host: programs push messages and get answers posted. Each post has a stable
 * id, so receivers drop repeats and delivery is never in doubt.
 */
export function createWebhookAdapter(deps: WebhookAdapterDeps): PlatformAdapter {
  const { hooks, egressFor, readBlob, now } = deps;

  async function post(
    address: ChatAddress,
    meta: SendMeta,
    content: OutgoingText | OutgoingFile,
    signal: AbortSignal,
  ): Promise<SendResult> {
    const { hook: name } = parseWebhookChat(address.chat);
    const hook = hooks.find(name);
    if (hook === null) return { ...webhookGone, message: `There is no webhook ${name} any more.` };
    if (hook.url === null) return { status: "unwanted", code: "no_address" };
    const body = encodeBody(address, meta, content);
    const response = await egressFor(hook).request(hook.url, {
      method: "POST",
      headers: {
        ...signedHeaders(hook.secrets, meta.id, Math.floor(now() / 1_000), body),
        // A receiver that shows it in a chat must not let that chat fetch the links. The body stays the same for
        // every attempt, also across versions.
        "holdfast-link-previews": "off",
      },
      body,
      mostBytes: maxResponseBytes,
      whenLarger: "cut",
      signal,
    });
    return toSendResult(response, meta.id, now());
  }

  return {
    platform: "webhook",
    strangers: (lane) => [{ kind: "webhook", name: lane.split(":")[1] ?? "" }],
    capabilities: { repeats: "dropped", edits: false, buttons: true, typing: false, files: true },
    limits,
    async identify() {
      const names = hooks.list().map(({ name }) => name);
      return { status: "identified", id: "webhook", name: names.join(", ") };
    },
    subscribe: async () => ({ status: "subscribed" }),
    // Everything is pushed, so polling never returns anything.
    async receive(cursor, mode, signal) {
      if (mode === "wait" && !signal.aborted)
        await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      return { status: "received", incoming: [], next: cursor };
    },
    decodePush(pushed) {
      const parsed = pushedMessage.safeParse(pushed);
      return parsed.success ? toIncoming(parsed.data) : null;
    },
    send: (address, message, meta, signal) => post(address, meta, message, signal),
    async sendFile(address, file, meta, signal) {
      if (file.bytes.length <= limits.fileBytes) return post(address, meta, file, signal);
      return { status: "refused", code: "too_large", message: "It is larger than 8 MB." };
    },
    async edit() {
      throw new Error("Webhook posts cannot be edited.");
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
