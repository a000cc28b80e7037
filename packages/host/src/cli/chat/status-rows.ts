import { type ConnectionState, liveRun, type SessionState, describeRetry } from "@holdfast/client";
import { cleanLine } from "../screen/text.ts";
import { fitTo } from "../screen/width.ts";
import { type RenderStyle } from "../screen/paint.ts";
import type { OpenApproval } from "../transcript/open-approval.ts";

const maxQueuedRows = 3;

/** The status in one row; empty if there is nothing to say. */
export function statusRow(
  state: SessionState | undefined,
  connection: ConnectionState,
  hint: string,
): string {
  const parts = [connectionTexts[connection], runText(state), cleanLine(hint)];
  return parts.filter((part) => part !== "").join(" · ");
}

const connectionTexts: Record<ConnectionState, string> = {
  live: "",
  reconnecting: "The host does not answer; trying again …",
  offline: "The host is away. What you say is sent when it is back.",
};

function runText(state: SessionState | undefined): string {
  const run = state === undefined ? null : liveRun(state);
  if (state === undefined || run === null) return "";
  if (run.cancelRequested) return "stopping …";
  if (run.state === "waiting") return "waits for your word";
  if (run.state === "paused") return "paused: /resume goes on";
  const tool = state.live?.tools.find(({ outcome }) => outcome === null);
  if (tool !== undefined) return `${cleanLine(tool.name)} is running …`;
  const retryText = describeRetry(run);
  if (retryText !== null) return retryText;
  const isWriting = state.live?.messages.some(({ parts }) =>
    parts.some(({ kind }) => kind === "text"),
  );
  return isWriting === true ? "" : "thinking …";
}

/** Messages that were accepted and are queued. */
export function queuedRows(
  state: SessionState | undefined,
  { width, paint }: RenderStyle,
): string[] {
  const inbox = state?.inbox ?? [];
  const shown = inbox.slice(0, maxQueuedRows).map(({ text, mode }) => {
    const label = mode === "queue" ? "queued" : mode;
    return paint("dim", fitTo(`  ${label}: ${cleanLine(text)}`, width));
  });
  const hidden = inbox.length - shown.length;
  return hidden > 0 ? [...shown, paint("dim", `  … and ${hidden} more`)] : shown;
}

/** The prompt before the input. It names the replies when no choices are shown. */
export function promptMark(approval: OpenApproval | undefined): string {
  if (approval === undefined) return "› ";
  return approval.kind === "question" ? "answer › " : "o/s/a/d › ";
}
