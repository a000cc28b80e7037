import type { Egress } from "../../../util/egress/egress.ts";
import { signedHeaders } from "../../../util/webhook-signature.ts";
import type { Adapter, OutgoingFile, Parcel, Place, Sent, Words } from "../../adapter.ts";
import type { Hook, Hooks } from "./webhook.ts";
import { bodyOf, incomingOf, inlineMark, pushedMessage } from "./message.ts";
import { partsOf } from "./names.ts";
import { sentOf } from "./adapter.ts";

export interface WebhookAdapterParts {
  readonly hooks: Hooks;
  readonly egressFor: (hook: Hook) => Egress;
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

const largestAnswer = 4_096;
const gone = { status: "refused", code: "webhook_not_found" } as const;

/**
 * Programs that push what they say, and are posted what is said to them: all hooks of a host together. What goes out has a
 * name that stays, so that a receiver drops what it has had, and nothing is ever in doubt.
 */
export function openWebhookAdapter(parts: WebhookAdapterParts): Adapter {
  const { hooks, egressFor, readBlob, now } = parts;

  async function post(
    place: Place,
    parcel: Parcel,
    said: Words | OutgoingFile,
    signal: AbortSignal,
  ): Promise<Sent> {
    const { hook: name } = partsOf(place.chat);
    const hook = hooks.find(name);
    if (hook === null) return { ...gone, message: `There is no webhook ${name} any more.` };
    if (hook.url === null) return { status: "unwanted", code: "no_address" };
    const body = bodyOf(place, parcel, said);
    const answer = await egressFor(hook).request(hook.url, {
      method: "POST",
      headers: signedHeaders(hook.secrets, parcel.id, Math.floor(now() / 1_000), body),
      body,
      mostBytes: largestAnswer,
      whenLarger: "cut",
      signal,
    });
    return sentOf(answer, parcel.id, now());
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
    decode(pushed) {
      const parsed = pushedMessage.safeParse(pushed);
      return parsed.success ? incomingOf(parsed.data) : null;
    },
    send: (place, words, parcel, signal) => post(place, parcel, words, signal),
    async sendFile(place, file, parcel, signal) {
      if (file.bytes.length <= limits.fileBytes) return post(place, parcel, file, signal);
      return { status: "refused", code: "too_large", message: "It is larger than 8 MB." };
    },
    async edit() {
      throw new Error("What was posted to a webhook cannot be changed.");
    },
    typing: async () => {},
    acknowledge: async () => {},
    async fetchFile({ reference, size }) {
      if ((size ?? 0) > limits.fileBytes) return { status: "too_large" };
      if (reference.startsWith(inlineMark)) {
        const bytes = Buffer.from(reference.slice(inlineMark.length), "base64");
        return { status: "fetched", bytes };
      }
      const bytes = await readBlob(reference);
      if (bytes === null)
        return { status: "refused", code: "blob_not_found", message: "There is no such blob." };
      return bytes.length > limits.fileBytes
        ? { status: "too_large" }
        : { status: "fetched", bytes };
    },
    announce: async () => {},
  };
}
