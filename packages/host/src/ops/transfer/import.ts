import {
  type CallId,
  type IdSource,
  type NewEvent,
  newEvent,
  type Part,
  type ToolResultPart,
} from "@holdfast/protocol";

import type { DocumentEntry, DocumentPart } from "./document.ts";
import type { ParsedDocument } from "./read-document.ts";

type Message = Extract<DocumentEntry, { type: "message" }>;

/**
 * The events that say what the document says, in a session of its own. Every id is new, so that nothing here can name, continue or
 * answer anything that is already there. A call that nobody answered is told to have an unknown outcome: nobody runs it.
 */
export function planImport(document: ParsedDocument, ids: IdSource): NewEvent[] {
  return new ImportPlan(document, ids).events();
}

class ImportPlan {
  readonly #document: ParsedDocument;
  readonly #ids: IdSource;
  readonly #calls = new Map<string, CallId>();
  readonly #unanswered = new Map<CallId, string>();

  constructor(document: ParsedDocument, ids: IdSource) {
    this.#document = document;
    this.#ids = ids;
  }

  events(): NewEvent[] {
    const events: NewEvent[] = [];
    for (const entry of this.#document.entries) {
      if (entry.type === "notice") {
        const noticeId = this.#ids.make("notice");
        const { kind, text, at } = entry;
        events.push(this.#event("notice.added", { noticeId, kind, text, originalAt: at }));
        continue;
      }
      if (entry.role !== "tool") events.push(...this.#giveUpCalls());
      events.push(this.#message(entry));
    }
    events.push(...this.#giveUpCalls());
    return events;
  }

  #message(entry: Message): NewEvent {
    const { role, at, model, partial, superseded } = entry;
    const messageId = this.#ids.make("message");
    const parts = entry.parts.map((part) => this.#part(part));
    const common = { messageId, parts, originalAt: at };
    switch (role) {
      case "user":
        return this.#event("message.user", common);
      case "tool":
        return this.#event("message.tool", common);
      case "assistant":
        return this.#event("message.assistant", {
          ...common,
          ...(model !== undefined && { model }),
          ...(partial !== undefined && { partial }),
          ...(superseded && { superseded }),
        });
    }
  }

  #part(part: DocumentPart): Part {
    switch (part.type) {
      case "tool_call": {
        const callId = this.#ids.make("call");
        this.#calls.set(part.callId, callId);
        this.#unanswered.set(callId, part.name);
        return { ...part, callId };
      }
      case "tool_result": {
        const callId = this.#calls.get(part.callId) ?? this.#ids.make("call");
        this.#unanswered.delete(callId);
        return { ...part, callId };
      }
      case "file":
      case "image":
        if (this.#document.blobs.has(part.blobId)) return part;
        return {
          type: "notice",
          kind: "attachment_missing",
          text: `${part.name ?? "A picture"} was not part of the document.`,
        };
      default:
        return part;
    }
  }

  #giveUpCalls(): NewEvent[] {
    const parts = [...this.#unanswered].map(([callId, name]): ToolResultPart => ({
      type: "tool_result",
      callId,
      name,
      outcome: "unknown",
      output: "The document does not tell how this ended.",
    }));
    this.#unanswered.clear();
    if (parts.length === 0) return [];
    return [this.#event("message.tool", { messageId: this.#ids.make("message"), parts })];
  }

  #event<T extends Parameters<typeof newEvent>[1]>(
    type: T,
    data: Parameters<typeof newEvent<T>>[2],
  ): NewEvent {
    return newEvent(this.#ids.make("event"), type, data);
  }
}
