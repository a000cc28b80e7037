import type { EventData, KnownEvent } from "../events/index.ts";
import type { LiveMessage, LiveTool, LiveView } from "../http/views.ts";
import type { RunId } from "../ids.ts";

export function emptyLiveView(runId: RunId): LiveView {
  return { runId, messages: [], tools: [], approvals: [] };
}

/**
 * The journal of one step, folded event by event. Nothing here looks at the history, so a delta costs the
 * same in a long session and in a short one.
 */
export function foldLiveView(live: LiveView, event: KnownEvent): LiveView {
  switch (event.type) {
    case "message.delta":
      return appendText(live, event.data, event.at);
    case "tool.started":
      return startTool(live, event.data, event.at);
    case "tool.output":
      return changeTool(live, event.data.callId, (tool) => ({
        ...tool,
        output: tool.output + event.data.text,
      }));
    case "tool.ended":
      return changeTool(live, event.data.callId, (tool) => endTool(tool, event.data, event.at));
    case "approval.asked":
      return {
        ...live,
        approvals: [...live.approvals, { ...event.data, askedAt: event.at }],
      };
    case "approval.answered":
      return {
        ...live,
        approvals: live.approvals.filter((each) => each.approvalId !== event.data.approvalId),
      };
    case "message.assistant":
      return {
        ...live,
        messages: live.messages.filter((each) => each.messageId !== event.data.messageId),
      };
    case "message.tool":
      return {
        ...live,
        tools: live.tools.filter((each) => each.resultId !== event.data.messageId),
      };
    default:
      return live;
  }
}

function appendText(live: LiveView, data: EventData<"message.delta">, at: number): LiveView {
  const index = live.messages.findIndex((each) => each.messageId === data.messageId);
  const message = live.messages[index];
  if (message !== undefined)
    return { ...live, messages: live.messages.with(index, growMessage(message, data)) };
  const begun: LiveMessage = { messageId: data.messageId, startedAt: at, parts: [] };
  return { ...live, messages: [...live.messages, growMessage(begun, data)] };
}

function growMessage(message: LiveMessage, data: EventData<"message.delta">): LiveMessage {
  const { part = 0, kind = "text", text } = data;
  const index = message.parts.findIndex((each) => each.part === part);
  const old = message.parts[index];
  if (old !== undefined)
    return { ...message, parts: message.parts.with(index, { ...old, text: old.text + text }) };
  const parts = [...message.parts, { part, kind, text }];
  return { ...message, parts: parts.toSorted((a, b) => a.part - b.part) };
}

function startTool(live: LiveView, data: EventData<"tool.started">, at: number): LiveView {
  const { callId, resultId, name, input, replay } = data;
  const tool: LiveTool = {
    callId,
    resultId,
    name,
    input,
    replay,
    startedAt: at,
    output: "",
    outcome: null,
    endedAt: null,
  };
  // A tool that may be replayed starts again under the same call.
  return { ...live, tools: [...live.tools.filter((each) => each.callId !== callId), tool] };
}

function changeTool(
  live: LiveView,
  callId: LiveTool["callId"],
  change: (tool: LiveTool) => LiveTool,
): LiveView {
  const index = live.tools.findIndex((each) => each.callId === callId);
  const tool = live.tools[index];
  return tool === undefined ? live : { ...live, tools: live.tools.with(index, change(tool)) };
}

function endTool(tool: LiveTool, data: EventData<"tool.ended">, at: number): LiveTool {
  const { outcome, output, blobId, details } = data;
  const more = { ...(blobId !== undefined && { blobId }), ...(details && { details }) };
  return { ...tool, outcome, output, endedAt: at, ...more };
}
