import {
  type CallId,
  decodeEvent,
  type EventData,
  type JsonObject,
  type Part,
  type StoredEvent,
  textOf,
  type ToolResultPart,
} from "@holdfast/protocol";

import type { ModelCall, ModelMessage } from "../ports/index.ts";

type Assistant = EventData<"message.assistant">;

/**
 * What the model gets, as a function of the visible entries. Every call is followed by its result; a call without one
 * gets an answer that says so, since a provider refuses a call that stands alone.
 */
export function modelMessages(entries: readonly StoredEvent[]): readonly ModelMessage[] {
  const results = resultsIn(entries);
  const messages: ModelMessage[] = [];
  for (const entry of entries) {
    const decoded = decodeEvent(entry);
    if (decoded.kind !== "known") continue;
    const { event } = decoded;
    if (event.type === "message.user")
      messages.push({ role: "user", text: textOf(event.data.parts) });
    if (event.type !== "message.assistant") continue;
    const message = assistantMessage(event.data);
    if (message.text === "" && message.calls.length === 0) continue;
    messages.push(message);
    for (const call of message.calls) messages.push(toolMessage(call, results.get(call.callId)));
  }
  return messages;
}

/** The calls of the newest assistant message that have no result yet: what a run that goes on has to do first. */
export function pendingCalls(entries: readonly StoredEvent[]): readonly ModelCall[] {
  const results = resultsIn(entries);
  const newest = entries.findLast(
    (entry) => entry.type === "message.assistant" || entry.type === "message.user",
  );
  const decoded = newest && decodeEvent(newest);
  if (decoded?.kind !== "known" || decoded.event.type !== "message.assistant") return [];
  return callsOf(decoded.event.data.parts).filter((call) => !results.has(call.callId));
}

function assistantMessage(data: Assistant): Extract<ModelMessage, { role: "assistant" }> {
  const reasoning = data.parts.flatMap((part) =>
    part.type === "reasoning" ? [{ text: part.text, ...opaqueOf(part.opaque) }] : [],
  );
  return { role: "assistant", text: textOf(data.parts), reasoning, calls: callsOf(data.parts) };
}

function opaqueOf(opaque: JsonObject | undefined): { opaque?: JsonObject } {
  return opaque === undefined ? {} : { opaque };
}

function callsOf(parts: readonly Part[]): readonly ModelCall[] {
  return parts.flatMap((part) =>
    part.type === "tool_call" ? [{ callId: part.callId, name: part.name, input: part.input }] : [],
  );
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
