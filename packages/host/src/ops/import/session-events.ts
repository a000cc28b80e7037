import type { Log } from "@holdfast/engine";
import {
  type BlobId,
  type CallId,
  json,
  type Json,
  type MessageId,
  type NewEvent,
  newEvent,
  type OwnerId,
  type Part,
  previewOf,
  textOf,
} from "@holdfast/protocol";
import { StoreFailure } from "@holdfast/engine";

import type { DeriveId } from "./derive-id.ts";
import type { ImportedMessage, ImportedNotice, ImportedPart } from "./source.ts";

/** Longer texts are blobs, of which the event has the beginning. */
const maxTextLength = 100_000;
const keptTextLength = 50_000;
/** Well below what an event may have. */
const maxEventLength = 700_000;
const maxInputDepth = 100;
const maxKeptFiles = 100;

/** Whoever wrote the source's files chose its words, also those of the model. */
const taint = [{ kind: "import" }];

export interface MessageEvent {
  readonly event: NewEvent;
  /** What the list shows of it. */
  readonly preview: string;
}

/** Makes events of one session's entries. Its blobs are stored before the event that names them. */
export class EventMaker {
  readonly #log: Log;
  readonly #owner: OwnerId;
  readonly #derive: DeriveId;
  /** The newest call of each name there: programs use the same one again. */
  readonly #calls = new Map<string, CallId>();

  constructor(log: Log, owner: OwnerId, derive: DeriveId) {
    this.#log = log;
    this.#owner = owner;
    this.#derive = derive;
  }

  async message(id: NewEvent["id"], entry: ImportedMessage): Promise<MessageEvent> {
    const parts: Part[] = [];
    for (const [index, part] of entry.parts.entries())
      parts.push(...(await this.#part(part, `${id} ${index}`)));
    const fitted = await this.#fit(parts);
    const messageId = this.messageId(id);
    const isAdded = entry.proof.role === "added";
    const common = {
      messageId,
      parts: fitted,
      originalAt: entry.at,
      ...(isAdded && { added: true }),
    };
    const preview = previewOf(textOf(fitted));
    switch (entry.role) {
      case "user":
        return { event: newEvent(id, "message.user", common), preview };
      case "tool":
        return { event: newEvent(id, "message.tool", common), preview };
      case "assistant":
        return {
          event: newEvent(id, "message.assistant", {
            ...common,
            ...(entry.model !== undefined && { model: entry.model }),
            ...(entry.partial !== undefined && { partial: entry.partial }),
          }),
          preview,
        };
    }
  }

  async notice(id: NewEvent["id"], { noticeKind, text, at }: ImportedNotice): Promise<NewEvent> {
    const noticeId = this.#derive("notice", id);
    const { shown, whole } = await this.#shorten(text);
    return newEvent(id, "notice.added", {
      noticeId,
      kind: noticeKind,
      text: shown,
      originalAt: at,
      ...(whole !== null && { details: { whole } }),
    });
  }

  /** An entry that is stored already: results that follow may be of its calls. */
  learn(id: NewEvent["id"], entry: ImportedMessage): void {
    for (const [index, part] of entry.parts.entries())
      if (part.type === "tool_call") this.#calls.set(part.call, this.#callId(`${id} ${index}`));
  }

  messageId(id: NewEvent["id"]): MessageId {
    return this.#derive("message", id);
  }

  #callId(name: string): CallId {
    return this.#derive("call", name);
  }

  async #part(part: ImportedPart, name: string): Promise<readonly Part[]> {
    switch (part.type) {
      case "text": {
        const { shown, whole } = await this.#shorten(part.text);
        const said = {
          type: "text",
          text: shown,
          taint,
          ...(whole !== null && { whole }),
        } as const;
        return whole === null ? [said] : [said, wholeText(whole, part.text)];
      }
      case "reasoning": {
        const { shown, whole } = await this.#shorten(part.text);
        const thought = { type: "reasoning", text: shown, taint } as const;
        return whole === null ? [thought] : [thought, wholeText(whole, part.text)];
      }
      case "tool_call": {
        const callId = this.#callId(name);
        this.#calls.set(part.call, callId);
        const call = { type: "tool_call", callId, name: part.name || "tool" } as const;
        const input = readInput(part.input);
        if (input !== undefined && part.input.length <= maxTextLength)
          return [{ ...call, input, taint }];
        const { shown, whole } = await this.#shorten(part.input);
        const malformed = { ...call, input: shown, malformed: true as const, taint };
        return whole === null ? [malformed] : [malformed, wholeText(whole, part.input)];
      }
      case "tool_result": {
        const callId = this.#calls.get(part.call) ?? this.#callId(name);
        const { shown, whole } = await this.#shorten(part.output);
        const { outcome } = part;
        const result = {
          type: "tool_result",
          callId,
          name: part.name || "tool",
          outcome,
          output: shown,
          taint,
        } as const;
        return [whole === null ? result : { ...result, blobId: whole }];
      }
      case "file":
      case "image": {
        const { bytes, mediaType, type } = part;
        const blobId = await this.#store(bytes, mediaType);
        const file = { blobId, name: part.name, mediaType, size: bytes.length };
        return [{ type, ...file }];
      }
      case "missing":
        return [
          {
            type: "notice",
            kind: "attachment_missing",
            text: `${part.name.slice(0, 500)} was not there.`,
          },
        ];
    }
  }

  async #shorten(text: string): Promise<{ readonly shown: string; readonly whole: BlobId | null }> {
    if (text.length <= maxTextLength) return { shown: text, whole: null };
    const whole = await this.#store(Buffer.from(text), "text/plain; charset=utf-8");
    return { shown: beginningOf(text, keptTextLength), whole };
  }

  /** Too much even so: the parts are a file, and the text is one as well. */
  async #fit(parts: readonly Part[]): Promise<Part[]> {
    if (JSON.stringify(parts).length <= maxEventLength) return [...parts];
    const all = Buffer.from(JSON.stringify(parts, null, 1));
    const blobId = await this.#store(all, "application/json");
    const file = { blobId, name: "message.json", mediaType: "application/json", size: all.length };
    const text = textOf(parts.filter((part) => part.type !== "notice"));
    const whole = await this.#store(Buffer.from(text), "text/plain; charset=utf-8");
    return [
      { type: "text", text: beginningOf(text, keptTextLength), taint, whole },
      wholeText(whole, text),
      { type: "file", ...file },
      ...parts.filter(({ type }) => type === "image" || type === "file").slice(0, maxKeptFiles),
    ];
  }

  async #store(bytes: Uint8Array, mediaType: string): Promise<BlobId> {
    const put = await this.#log.store.putBlob(this.#owner, bytes, mediaType);
    if (put.status === "failed") throw new StoreFailure(put.code, put.message);
    return put.id;
  }
}

function wholeText(blobId: BlobId, text: string): Part {
  const size = Buffer.byteLength(text);
  return { type: "file", blobId, name: "whole text.txt", mediaType: "text/plain", size };
}

function beginningOf(text: string, length: number): string {
  return text.slice(0, length).replace(/[\uD800-\uDBFF]$/, "");
}

function readInput(source: string): Json | undefined {
  try {
    const value = json.safeParse(JSON.parse(source)).data;
    return value !== undefined && isShallow(value, maxInputDepth) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isShallow(value: Json, depth: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return depth > 0 && Object.values(value).every((item) => isShallow(item, depth - 1));
}
