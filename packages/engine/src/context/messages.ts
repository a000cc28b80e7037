import {
  type CallId,
  decodeEvent,
  eventsInReadingOrder,
  type Part,
  type Seq,
  type StoredEvent,
  textOf,
  type ToolCallPart,
  type ToolResultPart,
} from "@holdfast/protocol";

import type { AssistantPart, ModelCall, ModelMessage } from "../ports/model.ts";

/** A message as the model gets it, and the entry that it was made from. */
export interface RenderedMessage {
  readonly seq: Seq;
  readonly message: ModelMessage;
}

/**
 * What the model gets, as a function of the entries. Every call is followed by its result; a call without one gets an
 * answer that says so, since a provider refuses a call that stands alone. P9: an entry is rendered the same whatever
 * comes behind it, but for a call whose result is still to come.
 */
export function renderEntries(visible: readonly StoredEvent[]): readonly RenderedMessage[] {
  const entries = entriesForModel(visible);
  const results = resultsIn(entries);
  const rendered: RenderedMessage[] = [];
  for (const entry of entries) {
    if (entry.type !== "message.user" && entry.type !== "message.assistant") continue;
    const decoded = decodeEvent(entry);
    if (decoded.kind !== "known") continue;
    const { event } = decoded;
    const add = (message: ModelMessage) => rendered.push({ seq: entry.seq, message });
    if (event.type === "message.user") add(userMessage(event.data.parts));
    if (event.type !== "message.assistant") continue;
    const parts = assistantParts(event.data.parts);
    if (!parts.some(hasContent)) continue;
    add({ role: "assistant", parts });
    const calls = callsOf(event.data.parts);
    for (const call of calls) add(toolMessage(call, results.get(call.callId)));
    const { partial } = event.data;
    if (partial !== undefined && calls.length === 0) add(partialNotice(partial));
  }
  return rendered;
}

function hasContent(part: AssistantPart): boolean {
  return part.kind === "call" || (part.kind === "text" && part.text !== "");
}

/** A model is not asked to go on with its own words: some providers refuse a request that ends with them. */
function partialNotice(cause: string): ModelMessage {
  return { role: "notice", text: `[host: the answer above ended early (${cause}).]` };
}

function userMessage(parts: readonly Part[]): ModelMessage {
  const images = parts.flatMap((part) =>
    part.type === "image" ? [{ blobId: part.blobId, mediaType: part.mediaType }] : [],
  );
  return { role: "user", text: userText(parts), ...(images.length > 0 && { images }) };
}

/** What was given beside a person's words is told apart from them: it is material, and nobody's request. */
function userText(parts: readonly Part[]): string {
  const texts = [textOf(parts)];
  for (const part of parts) {
    if (part.type === "file" || part.type === "image")
      texts.push(`[attached: ${part.name ?? "image"}, ${part.mediaType}, ${part.blobId}]`);
    if (part.type === "attached") texts.push(quoteMaterial(part.source, part.text));
  }
  return texts.filter((text) => text !== "").join("\n\n");
}

/** Text that did not come from the person: set off, with where it came from, and without power over what is around it. */
export function quoteMaterial(source: string, text: string): string {
  const lines = text.split("\n").map((line) => `> ${line}`);
  return `[${source}: material from the host, not a request]\n${lines.join("\n")}`;
}

/** The calls of the newest assistant message that have no result yet: what a run that goes on has to do first. */
export function pendingCalls(visible: readonly StoredEvent[]): readonly ModelCall[] {
  const entries = entriesForModel(visible);
  const results = resultsIn(entries);
  const newest = entries.findLast(
    (entry) => entry.type === "message.assistant" || entry.type === "message.user",
  );
  const decoded = newest && decodeEvent(newest);
  if (decoded?.kind !== "known" || decoded.event.type !== "message.assistant") return [];
  return callsOf(decoded.event.data.parts).filter((call) => !results.has(call.callId));
}

/** In the order in which a person reads them, without what another attempt has replaced. */
function entriesForModel(visible: readonly StoredEvent[]): readonly StoredEvent[] {
  return eventsInReadingOrder(visible).filter((entry) => entry.data["superseded"] !== true);
}

function assistantParts(parts: readonly Part[]): readonly AssistantPart[] {
  return parts.flatMap((part): AssistantPart[] => {
    switch (part.type) {
      case "text":
      case "reasoning":
        return [{ kind: part.type, text: part.text, ...(part.opaque && { opaque: part.opaque }) }];
      case "tool_call":
        return [{ kind: "call", ...callOf(part) }];
      default:
        return [];
    }
  });
}

function callOf({ callId, name, input, malformed, opaque }: ToolCallPart): ModelCall {
  return { callId, name, input, ...(malformed && { malformed }), ...(opaque && { opaque }) };
}

function callsOf(parts: readonly Part[]): readonly ModelCall[] {
  return parts.flatMap((part) => (part.type === "tool_call" ? [callOf(part)] : []));
}

function resultsIn(entries: readonly StoredEvent[]): ReadonlyMap<CallId, ToolResultPart> {
  const results = new Map<CallId, ToolResultPart>();
  for (const entry of entries) {
    if (entry.type !== "message.tool") continue;
    const decoded = decodeEvent(entry);
    if (decoded.kind !== "known" || decoded.event.type !== "message.tool") continue;
    for (const part of decoded.event.data.parts)
      if (part.type === "tool_result") results.set(part.callId, part);
  }
  return results;
}

const unknownOutcome =
  "It is not known whether this took effect: it was started, and its end was not seen. Look before you repeat it.";

function toolMessage(call: ModelCall, result: ToolResultPart | undefined): ModelMessage {
  const { callId, name } = call;
  if (result === undefined) return { role: "tool", callId, name, output: unknownOutcome };
  const { outcome, output } = result;
  if (outcome === "ok") return { role: "tool", callId, name, output };
  const said =
    outcome === "unknown"
      ? unknownOutcome
      : `The tool ${outcome === "failed" ? "failed" : "was cancelled"}.`;
  return { role: "tool", callId, name, output: output === "" ? said : `${said}\n${output}` };
}
