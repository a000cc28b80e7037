import { createHash } from "node:crypto";
import type { Json, SessionId, StoredEvent } from "@holdfast/protocol";

const id = /^(ses|msg|run|evt|call|apr|ntc|lea|seg|out)_[0-7][0-9a-hjkmnp-tv-z]{25}$/;
const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";
/** The time, which keeps the ids of a log in order. */
const timeLength = 10;

/**
 * Ids for a log whose own id is taken by another one: the same file always gives the same ones. The ids of other
 * sessions stay, except of those that get new ones too.
 */
export class CopiedIds {
  readonly #seed: string;
  readonly #isCopied: (session: SessionId) => boolean;

  constructor(sha256: string, isCopied: (session: SessionId) => boolean) {
    this.#seed = sha256;
    this.#isCopied = isCopied;
  }

  of<T extends string>(own: T): T {
    const start = own.indexOf("_") + 1 + timeLength;
    const digest = createHash("sha256").update(`copy ${this.#seed} ${own}`).digest();
    const rest = Array.from(digest.subarray(0, own.length - start), (byte) => alphabet[byte & 31]);
    return (own.slice(0, start) + rest.join("")) as T;
  }

  /** What was to be sent, and which chat it belongs to, stays with the log that is here. */
  event(event: StoredEvent): StoredEvent {
    const { runId, data } = event;
    if (event.type.startsWith("outbox.") || event.type === "lane.bound")
      return { ...event, id: this.of(event.id), type: "copy.omitted", data: {} };
    return {
      ...event,
      id: this.of(event.id),
      ...(runId !== undefined && { runId: this.of(runId) }),
      data: this.#value(withoutDelivery(event.type, data)) as StoredEvent["data"],
    };
  }

  #value(value: Json): Json {
    if (typeof value === "string") return this.#isRenamed(value) ? this.of(value) : value;
    if (Array.isArray(value)) return value.map((item: Json) => this.#value(item));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [name, this.#value(item)]),
    );
  }

  #isRenamed(text: string): boolean {
    if (!id.test(text)) return false;
    return !text.startsWith("ses_") || this.#isCopied(text as SessionId);
  }
}

/** Which message of a chat it was: the log that is here has answered it. */
function withoutDelivery(type: string, data: StoredEvent["data"]): Json {
  if (type !== "input.accepted") return data;
  const { inbound: _, ...rest } = data;
  return rest;
}
