import { type ConnectionState, liveRun, type SessionState, tryingAgain } from "@holdfast/client";
import { cleanLine } from "../screen/text.ts";
import { fitTo } from "../screen/width.ts";
import { type Look } from "../screen/markdown.ts";

const mostWaiting = 3;

/** How things stand, in one row; empty when there is nothing to say. */
export function statusRow(
  state: SessionState | undefined,
  connection: ConnectionState,
  hint: string,
): string {
  const parts = [connectionWords[connection], runWords(state), cleanLine(hint)];
  return parts.filter((part) => part !== "").join(" · ");
}

const connectionWords: Record<ConnectionState, string> = {
  live: "",
  reconnecting: "The host does not answer; trying again …",
  offline: "The host is away. What you say is sent when it is back.",
};

function runWords(state: SessionState | undefined): string {
  const run = state === undefined ? null : liveRun(state);
  if (state === undefined || run === null) return "";
  if (run.cancelRequested) return "stopping …";
  if (run.state === "waiting") return "waits for your word";
  if (run.state === "paused") return "paused: /resume goes on";
  const tool = state.live?.tools.find(({ outcome }) => outcome === null);
  if (tool !== undefined) return `${cleanLine(tool.name)} is running …`;
  const again = tryingAgain(run);
  if (again !== null) return again;
  const isSpeaking = state.live?.messages.some(({ parts }) =>
    parts.some(({ kind }) => kind === "text"),
  );
  return isSpeaking === true ? "" : "thinking …";
}

/** What was accepted and waits its turn. */
export function waitingRows(state: SessionState | undefined, { width, paint }: Look): string[] {
  const inbox = state?.inbox ?? [];
  const shown = inbox.slice(0, mostWaiting).map(({ text, mode }) => {
    const how = mode === "queue" ? "queued" : mode;
    return paint("dim", fitTo(`  ${how}: ${cleanLine(text)}`, width));
  });
  const hidden = inbox.length - shown.length;
  return hidden > 0 ? [...shown, paint("dim", `  … and ${hidden} more`)] : shown;
}
