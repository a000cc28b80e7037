import type { StopReason } from "@agentclientprotocol/sdk";
import type { MessageId, RunId, RunState } from "@holdfast/protocol";
import { terminalStates } from "@holdfast/protocol";
import { endOfRun } from "../../server/run-output/run-end.ts";
import { describeRunEnd } from "../transcript/describe.ts";
import { failedRequest } from "./errors.ts";

/** How a run has ended. */
export interface RunEnd {
  readonly state: RunState;
  readonly cause: string | null;
}

/** A prompt of this connection whose run has not ended. */
export interface PendingPrompt {
  readonly runId: RunId;
  readonly messageId: MessageId | null;
  /** After a cancel the answer is `cancelled`, even if the run was faster. */
  isCancelled: boolean;
  readonly ended: PromiseWithResolvers<StopReason>;
}

const maxEndedRuns = 200;

/** Resolves each prompt when its own run ends, also if that was seen before the host answered the request. */
export class PendingPrompts {
  readonly #pending = new Map<RunId, PendingPrompt>();
  readonly #endedRuns = new Map<RunId, RunEnd>();

  add(runId: RunId, messageId: MessageId | null): PendingPrompt {
    const known = this.#pending.get(runId);
    if (known !== undefined) return known;
    const ended = Promise.withResolvers<StopReason>();
    // Whoever sent it may be gone by then.
    ended.promise.catch(() => undefined);
    const prompt = { runId, messageId, isCancelled: false, ended };
    this.#pending.set(runId, prompt);
    const end = this.#endedRuns.get(runId);
    if (end !== undefined) this.end(runId, end);
    return prompt;
  }

  all(): readonly PendingPrompt[] {
    return [...this.#pending.values()];
  }

  end(runId: RunId, end: RunEnd): void {
    if (!terminalStates.has(end.state)) return;
    this.#endedRuns.set(runId, end);
    if (this.#endedRuns.size > maxEndedRuns) {
      const [oldest] = this.#endedRuns.keys();
      if (oldest !== undefined) this.#endedRuns.delete(oldest);
    }
    const prompt = this.#pending.get(runId);
    if (prompt === undefined) return;
    this.#pending.delete(runId);
    const reason = prompt.isCancelled ? "cancelled" : stopReasonOf(end);
    if (reason !== undefined) prompt.ended.resolve(reason);
    else prompt.ended.reject(failedRequest(describeRunEnd(end), { runId, ...end }));
  }

  /** A message that was taken back before its run began. */
  removed(messageId: unknown): void {
    const prompt = this.all().find((each) => each.messageId === messageId);
    if (prompt !== undefined) this.end(prompt.runId, { state: "cancelled", cause: null });
  }

  /** The editor does not want to know any more. */
  cancelAll(): void {
    for (const { ended } of this.#pending.values()) ended.resolve("cancelled");
    this.#pending.clear();
  }

  fail(error: Error): void {
    for (const { ended } of this.#pending.values()) ended.reject(error);
    this.#pending.clear();
  }
}

/** `undefined`: the protocol has no word for it, so the request fails with a sentence. */
function stopReasonOf({ state, cause }: RunEnd): StopReason | undefined {
  switch (endOfRun({ state, cause: cause ?? undefined })) {
    case "completed":
      return "end_turn";
    case "cancelled":
      return "cancelled";
    case "output_limit":
      return "max_tokens";
    case "run_limit":
      return "max_turn_requests";
    // A refusal would tell the editor that the prompt is forgotten, which it is not.
    case "filtered":
    case "spend_limit":
    case "failed":
      return undefined;
  }
}
