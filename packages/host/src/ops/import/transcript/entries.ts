import { createHash } from "node:crypto";

import type {
  ImportedMessage,
  ImportedNotice,
  ImportedPart,
  ImportedSession,
  Proof,
} from "../source.ts";

export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** A text that every store can hold. What isn't Unicode becomes the replacement character. */
export function cleanText(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\uFFFD");
}

export interface Said {
  readonly role: "user" | "assistant" | "tool";
  readonly at: number;
  readonly where: string;
  readonly model?: string | undefined;
  readonly partial?: ImportedMessage["partial"];
}

/** A message, and the hash of its texts: of a tool, of its outputs. */
export function messageOf(
  { role, at, where, model, partial }: Said,
  given: readonly ImportedPart[],
): ImportedMessage {
  const parts = given.map(cleanPart);
  const texts = parts.flatMap((part) =>
    part.type === "text" ? [part.text] : part.type === "tool_result" ? [part.output] : [],
  );
  const proof: Proof = { role, sha256: sha256(texts.join("\n")), where: [where] };
  return { type: "message", role, at, parts, model, partial, proof };
}

function cleanPart(part: ImportedPart): ImportedPart {
  switch (part.type) {
    case "text":
    case "reasoning":
      return { ...part, text: cleanText(part.text) };
    case "tool_call":
      return { ...part, name: toolName(part.name), input: cleanText(part.input) };
    case "tool_result":
      return { ...part, name: toolName(part.name), output: cleanText(part.output) };
    case "file":
    case "image":
      return { ...part, name: cleanText(part.name).slice(0, 255) || "file" };
    case "missing":
      return { ...part, name: cleanText(part.name) };
  }
}

function toolName(name: string): string {
  return cleanText(name).slice(0, 200) || "tool";
}

/** A line that no model is given. `system` is text that was sent to the model there, `card` what the person was shown. */
export function noticeOf(
  role: "system" | "card",
  { at, where, kind }: { readonly at: number; readonly where: string; readonly kind: string },
  given: string,
): ImportedNotice {
  const text = cleanText(given);
  const proof = { role, sha256: sha256(text), where: [where] };
  const noticeKind = role === "system" ? "system_message" : kind;
  return { type: "notice", noticeKind, at, text, proof };
}

/** A call without a result gets one that says so: nobody runs it again. */
export function unansweredCalls(
  calls: ReadonlyMap<string, string>,
  { at, program }: { readonly at: number; readonly program: string },
): ImportedMessage {
  const parts = [...calls].map(([call, name]): ImportedPart => ({
    type: "tool_result",
    call,
    name: toolName(name),
    outcome: "unknown",
    output: `${program} has no result of this call.`,
  }));
  const proof = { role: "added", sha256: sha256(""), where: [] };
  return { type: "message", role: "tool", at, parts, proof };
}

/** What most sessions of other programs have in common. */
export function plainSession(
  session: Pick<ImportedSession, "key" | "entries" | "from" | "to"> & Partial<ImportedSession>,
): ImportedSession {
  return {
    kind: "session",
    ids: [session.key],
    title: null,
    titleSource: "generated",
    pinned: false,
    archived: false,
    project: null,
    tags: [],
    hasBranches: false,
    outcome: "taken",
    remarks: [],
    ...session,
  };
}

const maxTime = 8_640_000_000_000_000;

/** Milliseconds. `null`: there is no such time. */
export function timeOf(value: unknown): number | null {
  if (typeof value === "number")
    return Number.isFinite(value) && value > 0 ? Math.min(Math.round(value * 1000), maxTime) : null;
  if (typeof value !== "string") return null;
  const time = Date.parse(value);
  return Number.isNaN(time) || time <= 0 ? null : time;
}
