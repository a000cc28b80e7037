import type { CallId, Json, MessageId, Part } from "@holdfast/protocol";
import type { RunOutputItem } from "../run-output/item.ts";

/** Items of a response's output. Holdfast's own types have its name before the colon, as Open Responses asks. */
export type OutputItem =
  | {
      readonly id: string;
      readonly type: "message";
      readonly role: "assistant";
      readonly status: ItemStatus;
      readonly content: readonly OutputText[];
    }
  | {
      readonly id: string;
      readonly type: "reasoning";
      readonly status: ItemStatus;
      readonly summary: readonly [];
      readonly content: readonly ReasoningText[];
    }
  | {
      readonly id: string;
      readonly type: "holdfast:tool_call";
      readonly status: ItemStatus;
      readonly name: string;
      readonly arguments: string;
      readonly outcome: string | null;
      readonly output: string | null;
    }
  | {
      readonly id: string;
      readonly type: "holdfast:approval";
      readonly status: ItemStatus;
      readonly kind: "approval" | "question";
      readonly name: string;
      readonly arguments: string;
      readonly shown: string | null;
      readonly decision: string | null;
    }
  | {
      readonly id: string;
      readonly type: "holdfast:notice";
      readonly status: ItemStatus;
      readonly kind: string;
      readonly text: string;
    };

type ItemStatus = "in_progress" | "completed" | "incomplete";

interface OutputText {
  readonly type: "output_text";
  readonly text: string;
  readonly annotations: readonly [];
  readonly logprobs: readonly [];
}

interface ReasoningText {
  readonly type: "reasoning_text";
  readonly text: string;
}

/** A message's text part and its thoughts are items of their own. */
export function textItemId(kind: "text" | "reasoning", messageId: MessageId, part: number): string {
  const body = messageId.slice("msg_".length);
  const prefix = kind === "text" ? "msg" : "rs";
  return part === 0 ? `${prefix}_${body}` : `${prefix}_${body}_${part}`;
}

export function textItem(
  kind: "text" | "reasoning",
  id: string,
  status: ItemStatus,
  text: string | null,
): OutputItem {
  if (kind === "text") {
    const content = text === null ? [] : [textPart(text)];
    return { id, type: "message", role: "assistant", status, content };
  }
  const content = text === null ? [] : [reasoningPart(text)];
  return { id, type: "reasoning", status, summary: [], content };
}

export function textPart(text: string): OutputText {
  return { type: "output_text", text, annotations: [], logprobs: [] };
}

export function reasoningPart(text: string): ReasoningText {
  return { type: "reasoning_text", text };
}

export function toolItem({
  callId,
  name,
  input,
}: {
  callId: CallId;
  name: string;
  input: Json;
}): OutputItem {
  return {
    id: callId,
    type: "holdfast:tool_call",
    status: "in_progress",
    name,
    arguments: JSON.stringify(input),
    outcome: null,
    output: null,
  };
}

export function approvalItem(item: Extract<RunOutputItem, { kind: "approval_asked" }>): OutputItem {
  const { approvalId, name, input, shown } = item.approval;
  return {
    id: approvalId,
    type: "holdfast:approval",
    status: "in_progress",
    kind: item.isQuestion ? "question" : "approval",
    name,
    arguments: JSON.stringify(input),
    shown: shown ?? null,
    decision: null,
  };
}

/** A message of the user, as input items and conversations show it. */
export function userItem(messageId: MessageId, parts: readonly Part[]): object {
  const content = parts.flatMap((part): object[] => {
    if (part.type === "text") return [{ type: "input_text", text: part.text }];
    if (part.type === "image")
      return [{ type: "input_image", file_id: part.blobId, image_url: null, detail: "auto" }];
    if (part.type === "file")
      return [{ type: "input_file", file_id: part.blobId, filename: part.name }];
    return [];
  });
  return { id: messageId, type: "message", role: "user", status: "completed", content };
}

export interface PageQuery {
  readonly after: string | undefined;
  readonly limit: number;
  readonly order: "asc" | "desc";
}

/** A page of a list in the protocol's form; `all` is oldest first. `null`: nothing has the id to begin after. */
export function pageOf(all: readonly object[], { after, limit, order }: PageQuery) {
  const sorted = order === "asc" ? all : all.toReversed();
  const last = after === undefined ? -1 : sorted.findIndex((item) => idOf(item) === after);
  if (after !== undefined && last === -1) return null;
  const start = last + 1;
  const data = sorted.slice(start, start + limit);
  return {
    object: "list",
    data,
    first_id: data[0] === undefined ? null : idOf(data[0]),
    last_id: data.length === 0 ? null : idOf(data.at(-1)),
    has_more: start + limit < sorted.length,
  };
}

export function idOf(item: object | undefined): string {
  return item !== undefined && "id" in item && typeof item.id === "string" ? item.id : "";
}
