import { noticeLink } from "@holdfast/protocol";
import type { ContentBlock, PlanEntry, SessionUpdate } from "@agentclientprotocol/sdk";
import type {
  EntryView,
  LiveMessage,
  LiveTool,
  MessageEntry,
  Part,
  ToolDetails,
} from "@holdfast/protocol";
import {
  type Call,
  type Ending,
  kindOf,
  locationsOf,
  outputContent,
  plannedContent,
  resultContent,
  titleOf,
} from "./tool-call.ts";

export interface TranscriptDeps {
  readonly send: (update: SessionUpdate) => void;
  /** The session's folder, which paths of tools start from. */
  readonly folder: () => string;
  /** What the editor has announced that it shows. */
  readonly shows: { readonly notices: boolean; readonly compaction: boolean };
  /** Where attachments can be read. */
  readonly blobUrl: (blobId: string) => string;
  readonly now: () => number;
}

const outputEveryMs = 500;
const maxLiveOutput = 8_000;

/** How far a call has been shown. */
interface ShownCall {
  status: "pending" | "in_progress" | "ended";
  outputAt: number;
}

/**
 * Sends a conversation to an editor, each thing once: whatever is given again is compared with what was sent, and only
 * the rest goes out. So events, a second read after a lost connection and a replay can all be given to it.
 */
export class Transcript {
  readonly #deps: TranscriptDeps;
  /** Entries that are complete, by message, notice or compaction. */
  readonly #settled = new Set<string>();
  /** How many characters of a message's part were sent. */
  readonly #sentLengths = new Map<string, number>();
  readonly #calls = new Map<string, ShownCall>();

  constructor(deps: TranscriptDeps) {
    this.#deps = deps;
  }

  /** Counts as sent: the editor has it already, or does not want it. */
  skipEntry(entry: EntryView): void {
    this.#settled.add(keyOf(entry));
    if (entry.type !== "message") return;
    for (const part of entry.parts) {
      if (part.type === "tool_call")
        this.#calls.set(part.callId, { status: "pending", outputAt: 0 });
      if (part.type === "tool_result")
        this.#calls.set(part.callId, { status: "ended", outputAt: 0 });
    }
  }

  skipLive(messages: readonly LiveMessage[], tools: readonly LiveTool[]): void {
    for (const { messageId, parts } of messages)
      for (const { part, text } of parts)
        this.#sentLengths.set(`${messageId} ${part}`, text.length);
    for (const { callId } of tools) this.#calls.set(callId, { status: "in_progress", outputAt: 0 });
  }

  showEntry(entry: EntryView): void {
    const key = keyOf(entry);
    if (this.#settled.has(key)) return;
    this.#settled.add(key);
    if (entry.type === "message") this.#showMessage(entry);
    else if (entry.type === "notice")
      this.showNotice(
        severityOf(entry.kind),
        [entry.text, noticeLink(entry) ?? ""].join(" ").trim(),
      );
    else if (entry.type === "compaction" && this.#deps.shows.compaction)
      this.#deps.send({
        sessionUpdate: "compaction_update",
        compactionId: `${entry.epoch}`,
        status: "completed",
        summary: [{ type: "text", text: entry.summary }],
      });
  }

  /** Only to editors that have announced that they show them: others may end on an update that they do not know. */
  showNotice(severity: "info" | "warning" | "error", title: string): void {
    if (this.#deps.shows.notices) this.#deps.send({ sessionUpdate: "notice", severity, title });
  }

  showLiveMessage({ messageId, parts }: LiveMessage): void {
    for (const { part, kind, text } of parts) this.#showText(messageId, part, kind, text);
  }

  showLiveTool(tool: LiveTool): void {
    const { callId, name, output, outcome, details } = tool;
    const call = this.showCall(tool);
    if (call.status === "pending") {
      call.status = "in_progress";
      this.#deps.send({
        sessionUpdate: "tool_call_update",
        toolCallId: callId,
        status: "in_progress",
      });
    }
    if (outcome !== null) {
      this.#endCall(tool, { outcome, output, details });
      return;
    }
    const now = this.#deps.now();
    if (output === "" || now - call.outputAt < outputEveryMs) return;
    call.outputAt = now;
    this.#deps.send({
      sessionUpdate: "tool_call_update",
      toolCallId: callId,
      content: [outputContent(name, output.slice(-maxLiveOutput))],
    });
  }

  /** Announces a call that was not announced yet. */
  showCall(call: Call): ShownCall {
    const known = this.#calls.get(call.callId);
    if (known !== undefined) return known;
    const shown: ShownCall = { status: "pending", outputAt: 0 };
    this.#calls.set(call.callId, shown);
    const { folder } = this.#deps;
    this.#deps.send({
      sessionUpdate: "tool_call",
      toolCallId: call.callId,
      title: titleOf(call),
      name: call.name,
      kind: kindOf(call.name),
      status: "pending",
      content: plannedContent(call, folder()),
      locations: locationsOf(call, folder()),
      rawInput: call.input,
    });
    return shown;
  }

  #showMessage({ role, messageId, parts }: MessageEntry): void {
    for (const [index, part] of parts.entries()) {
      if (role === "user") this.#showUserPart(messageId, part);
      else if (part.type === "text" || part.type === "reasoning")
        this.#showText(messageId, index, part.type, part.text);
      else if (part.type === "tool_call") this.showCall(part);
      else if (part.type === "tool_result") this.#endCall({ ...part, input: null }, part);
      else if (part.type === "image" || part.type === "file")
        this.#deps.send({
          sessionUpdate: "agent_message_chunk",
          content: this.#linkTo(part),
          messageId,
        });
    }
    for (let part = 0; part < parts.length; part += 1)
      this.#sentLengths.delete(`${messageId} ${part}`);
  }

  #showUserPart(messageId: string, part: Part): void {
    const content: ContentBlock | undefined =
      part.type === "text"
        ? { type: "text", text: part.text }
        : part.type === "image" || part.type === "file"
          ? this.#linkTo(part)
          : undefined;
    if (content !== undefined)
      this.#deps.send({ sessionUpdate: "user_message_chunk", content, messageId });
  }

  #linkTo({
    blobId,
    name,
    mediaType,
    ...part
  }: Extract<Part, { type: "image" | "file" }>): ContentBlock {
    const size = "size" in part && typeof part.size === "number" ? { size: part.size } : {};
    return {
      type: "resource_link",
      name: name ?? "image",
      uri: this.#deps.blobUrl(blobId),
      mimeType: mediaType,
      ...size,
    };
  }

  #showText(messageId: string, part: number, kind: "text" | "reasoning", text: string): void {
    const key = `${messageId} ${part}`;
    const sent = this.#sentLengths.get(key) ?? 0;
    if (text.length <= sent) return;
    this.#sentLengths.set(key, text.length);
    this.#deps.send({
      sessionUpdate: kind === "text" ? "agent_message_chunk" : "agent_thought_chunk",
      content: { type: "text", text: text.slice(sent) },
      messageId,
    });
  }

  #endCall(call: Call, ending: Ending): void {
    const shown = this.showCall(call);
    if (shown.status === "ended") return;
    shown.status = "ended";
    const { outcome, details } = ending;
    this.#deps.send({
      sessionUpdate: "tool_call_update",
      toolCallId: call.callId,
      status: outcome === "ok" ? "completed" : "failed",
      content: resultContent(call.name, ending, this.#deps.folder()),
      rawOutput: { outcome, ...(details?.refusal !== undefined && { refusal: details.refusal }) },
    });
    if (details?.todos !== undefined)
      this.#deps.send({ sessionUpdate: "plan", entries: planOf(details.todos) });
  }
}

const planStates = { open: "pending", doing: "in_progress", done: "completed" } as const;

function planOf(todos: NonNullable<ToolDetails["todos"]>): PlanEntry[] {
  return todos.map(({ text, state }) => ({
    content: text,
    priority: "medium",
    status: planStates[state],
  }));
}

function keyOf(entry: EntryView): string {
  switch (entry.type) {
    case "message":
      return entry.messageId;
    case "notice":
      return `${entry.noticeId} ${entry.kind}`;
    case "compaction":
    case "epoch":
      return `${entry.type} ${entry.seq}`;
  }
}

const quietKinds: ReadonlySet<string> = new Set(["recovered", "model_fallback", "memory_waiting"]);

function severityOf(kind: string): "info" | "warning" | "error" {
  if (quietKinds.has(kind)) return "info";
  return /fail|error/.test(kind) ? "error" : "warning";
}
