import {
  type ConnectionState,
  liveRun,
  type SessionState,
  describeRetry,
  waitsForPerson,
} from "@holdfast/client";
import { chatStrings } from "../strings/chat.ts";
import { cleanLine } from "../screen/text.ts";
import { fitTo } from "../screen/width.ts";
import { type RenderStyle } from "../screen/paint.ts";
import { activityText } from "./activity.ts";
import type { OpenApproval } from "../transcript/open-approval.ts";

const maxQueuedRows = 3;
const texts = chatStrings.activity;

/** The status in one row; empty if there is nothing to say. */
export function statusRow(
  state: SessionState | undefined,
  connection: ConnectionState,
  hint: string,
  elapsedMs: number,
): string {
  const activity = runActivity(state);
  const run = activity.isBusy ? activityText(activity.text, elapsedMs) : activity.text;
  const parts = [chatStrings.connection[connection], run, cleanLine(hint)];
  return parts.filter((part) => part !== "").join(" · ");
}

export interface RunActivity {
  readonly text: string;
  /** Whether the host works on it, so that a spinner turns. */
  readonly isBusy: boolean;
}

/** What the current run is doing. */
export function runActivity(state: SessionState | undefined): RunActivity {
  const run = state === undefined ? null : liveRun(state);
  const still = (text: string): RunActivity => ({ text, isBusy: false });
  const busy = (text: string): RunActivity => ({ text, isBusy: true });
  if (state === undefined || run === null) return still("");
  if (run.cancelRequested) return busy(texts.stopping);
  if (waitsForPerson(state)) {
    const isQuestion = state.live?.approvals[0]?.kind === "question";
    return still(isQuestion ? texts.question : texts.approval);
  }
  if (run.state === "paused") return still(texts.paused);
  const tool = state.live?.tools.find(({ outcome }) => outcome === null);
  if (tool !== undefined) return busy(texts.tool(cleanLine(tool.name)));
  const retryText = describeRetry(run);
  if (retryText !== null) return busy(retryText);
  const isWriting = state.live?.messages.some(({ parts }) =>
    parts.some(({ kind }) => kind === "text"),
  );
  return busy(isWriting === true ? texts.writing : texts.thinking);
}

/** Messages that are being sent, or were accepted and are queued. */
export function queuedRows(
  state: SessionState | undefined,
  sending: readonly string[],
  { width, paint }: RenderStyle,
): string[] {
  const { inbox: labels } = chatStrings;
  const waiting = [
    ...(state?.inbox ?? []).map(({ text, mode }) => `  ${labels[mode]}: ${cleanLine(text)}`),
    ...sending.map((text) => `  ${labels.sending}: ${cleanLine(text)}`),
  ];
  const shown = waiting.slice(0, maxQueuedRows).map((row) => paint("dim", fitTo(row, width)));
  const hidden = waiting.length - shown.length;
  return hidden > 0 ? [...shown, paint("dim", labels.more(hidden))] : shown;
}

/** The prompt before the input. It names the replies when no choices are shown. */
export function promptMark(approval: OpenApproval | undefined): string {
  const { prompt } = chatStrings;
  if (approval === undefined) return prompt.message;
  return approval.kind === "question" ? prompt.answer : prompt.decision;
}
