import { citedSources } from "@holdfast/client";
import type { ApprovalId, RunId, Source } from "@holdfast/protocol";
import type { UIMessageChunk } from "ai";
import type { RunOutputItem } from "../run-output/item.ts";
import { endOfRun } from "../run-output/run-end.ts";

type Chunk = UIMessageChunk;
type ItemOf<K extends RunOutputItem["kind"]> = Extract<RunOutputItem, { kind: K }>;

/** What a reader of the stream may do. */
export interface ChunkOptions {
  /** Whether this client may answer approvals: it is asked, and the stream ends so that it can. */
  readonly mayAnswer: boolean;
}

/** One run as one assistant message: its id is the run's, so a replay on any host is the same message. */
export class UiChunks {
  readonly #options: ChunkOptions;
  #part: { readonly kind: "text" | "reasoning"; readonly id: string } | null = null;
  /** How many parts the open step has; `null` outside of a step. */
  #stepParts: number | null = null;
  readonly #calls = new Set<string>();
  readonly #asked = new Set<ApprovalId>();
  readonly #found: Source[] = [];
  #answer = "";

  constructor(options: ChunkOptions) {
    this.#options = options;
  }

  static start(runId: RunId): Chunk {
    return { type: "start", messageId: runId };
  }

  /** The approvals that this client was asked and has no answer to. */
  get asked(): ReadonlySet<ApprovalId> {
    return this.#asked;
  }

  /** The client can answer only once the stream has ended; its next request continues the message. */
  pause(): readonly Chunk[] {
    return this.#finish("tool-calls");
  }

  take(item: RunOutputItem): readonly Chunk[] {
    switch (item.kind) {
      case "step":
        return this.#startStep();
      case "text":
      case "reasoning":
        return this.#grow(item);
      case "message":
      case "asked_again":
        return this.#endPart();
      case "call":
      case "tool_started":
        return this.#call(item);
      case "tool_ended":
        this.#found.push(...(item.details?.sources ?? []));
        return [...this.#call({ ...item, input: null }), endOfTool(item)];
      case "approval_asked":
        return this.#ask(item);
      case "approval_answered":
        return this.#answered(item);
      case "notice":
        return [{ type: "data-notice", id: item.noticeId, data: noticeData(item) }];
      case "ended":
        return this.#end(item);
      case "state":
      case "input":
      case "tool_output":
      case "usage":
        return [];
    }
  }

  /** A step that was asked anew before anything came of it begins again, and is not a second one. */
  #startStep(): readonly Chunk[] {
    const ended = this.#endPart();
    if (this.#stepParts === 0) return [...ended, { type: "reset-step" }];
    const finished: Chunk[] = this.#stepParts === null ? [] : [{ type: "finish-step" }];
    this.#stepParts = 0;
    return [...ended, ...finished, { type: "start-step" }];
  }

  #grow({ kind, messageId, part, text }: ItemOf<"text" | "reasoning">): readonly Chunk[] {
    if (kind === "text") this.#answer += text;
    const id = `${messageId}:${part}`;
    const delta: Chunk = { type: `${kind}-delta`, id, delta: text };
    if (this.#part?.id === id) return [delta];
    const ended = this.#endPart();
    this.#part = { kind, id };
    this.#countPart();
    return [...ended, { type: `${kind}-start`, id }, delta];
  }

  #endPart(): readonly Chunk[] {
    if (this.#part === null) return [];
    const { kind, id } = this.#part;
    this.#part = null;
    return [{ type: `${kind}-end`, id }];
  }

  #countPart(): void {
    this.#stepParts = (this.#stepParts ?? 0) + 1;
  }

  /** Tools are ours, so the client knows none of them beforehand and runs none. */
  #call({
    callId,
    name,
    input,
  }: Pick<ItemOf<"call">, "callId" | "name" | "input">): readonly Chunk[] {
    const ended = this.#endPart();
    if (this.#calls.has(callId)) return ended;
    this.#calls.add(callId);
    this.#countPart();
    const call = { toolCallId: callId, toolName: name, input };
    return [
      ...ended,
      { type: "tool-input-available", ...call, dynamic: true, providerExecuted: true },
    ];
  }

  #ask({ approval, isQuestion }: ItemOf<"approval_asked">): readonly Chunk[] {
    const { approvalId, callId, name, input, shown, notes = [] } = approval;
    const call = this.#call({ callId, name, input });
    const reason = [shown ?? `${name} ${JSON.stringify(input)}`, ...notes].join("\n");
    if (!this.#options.mayAnswer)
      return [...call, { type: "data-waiting", id: approvalId, data: { isQuestion, reason } }];
    this.#asked.add(approvalId);
    return [...call, { type: "tool-approval-request", approvalId, toolCallId: callId, reason }];
  }

  #answered({ approvalId, decision, answer }: ItemOf<"approval_answered">): readonly Chunk[] {
    if (!this.#asked.delete(approvalId)) return [];
    const approved = decision !== "deny" && decision !== "expired";
    const reason = answer ?? (decision === "expired" ? "Nobody answered in time." : undefined);
    return [{ type: "tool-approval-response", approvalId, approved, ...(reason && { reason }) }];
  }

  #end({ state, cause }: ItemOf<"ended">): readonly Chunk[] {
    const end = endOfRun({ state, cause });
    if (end === "completed") return [...this.#cite(), ...this.#finish("stop")];
    // A notice before it says why the answer is cut.
    if (end === "output_limit") return [...this.#cite(), ...this.#finish("length")];
    const reason = cause === undefined ? state : `${state}: ${cause}`;
    if (state === "cancelled") return [...this.#close(), { type: "abort", reason }];
    const error: Chunk = { type: "error", errorText: `The run ended early (${reason}).` };
    return [...this.#close(), error, { type: "finish", finishReason: "error" }];
  }

  /** The pages that the answer rests on. */
  #cite(): readonly Chunk[] {
    const cited = citedSources(this.#found, this.#answer);
    const chunks = cited.map(({ url, title }): Chunk => {
      return { type: "source-url", sourceId: url, url, title };
    });
    return [...this.#endPart(), ...chunks];
  }

  #finish(finishReason: "stop" | "length" | "tool-calls"): readonly Chunk[] {
    return [...this.#close(), { type: "finish", finishReason }];
  }

  #close(): readonly Chunk[] {
    const ended = this.#endPart();
    if (this.#stepParts === null) return ended;
    this.#stepParts = null;
    return [...ended, { type: "finish-step" }];
  }
}

function endOfTool({ callId, outcome, output, details }: ItemOf<"tool_ended">): Chunk {
  const end = { toolCallId: callId, dynamic: true, providerExecuted: true };
  if (details?.refusal === "denied") return { type: "tool-output-denied", toolCallId: callId };
  if (outcome === "ok") return { type: "tool-output-available", ...end, output };
  return { type: "tool-output-error", ...end, errorText: output === "" ? outcome : output };
}

function noticeData({ notice, text }: ItemOf<"notice">) {
  return { kind: notice, text };
}
