import { type Json, type RunState, type ToolOutcome, type SessionView } from "@holdfast/protocol";
import { cleanLine, fitTo, padTo } from "../screen/text.ts";
import { exit } from "../command.ts";
import { shortId } from "@holdfast/client";
import { type Paint } from "../screen/screen.ts";

/** What exactly would run, as a person can check it: each argument apart, nothing left out, nothing interpreted. */
export function describeCall(name: string, input: Json): string {
  if (input === null) return name;
  if (typeof input !== "object" || Array.isArray(input)) return `${name} ${JSON.stringify(input)}`;
  const { command, ...rest } = input;
  const others = Object.entries(rest).map(([key, value]) => `${key}: ${formatArgument(value)}`);
  if (typeof command === "string")
    return [`${name} (by a shell): ${command}`, ...others].join("\n");
  if (Array.isArray(command) && command.every((each) => typeof each === "string"))
    return [`${name}: ${command.map(shellQuote).join(" ")}`, ...others].join("\n");
  const all = Object.entries(input).map(([key, value]) => `${key}: ${formatArgument(value)}`);
  if (all.length === 0) return name;
  return all.length === 1 ? `${name} ${all[0]}` : [name, ...all].join("\n");
}

function formatArgument(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** As a shell would have to be given it, so that blanks and quotes cannot hide where an argument ends. */
function shellQuote(argument: string): string {
  if (/^[\w@%+=:,./-]+$/.test(argument)) return argument;
  return `'${argument.replaceAll("'", String.raw`'\''`)}'`;
}

/** How `holdfast run` ends, by how its run did. Scripts rely on these numbers: one may be added, none changed. */
export const runExitCodes = {
  ...exit,
  cancelled: 3,
  interrupted: 4,
  limit: 5,
  /** It waits for a person's word. */
  waiting: 6,
  /** No host could be reached in time. The message stands where it was accepted. */
  unreachable: 7,
} as const;

export function exitCodeOf(state: RunState): number {
  switch (state) {
    case "completed":
      return runExitCodes.done;
    case "cancelled":
      return runExitCodes.cancelled;
    case "interrupted":
      return runExitCodes.interrupted;
    case "limit":
      return runExitCodes.limit;
    case "waiting":
    case "paused":
      return runExitCodes.waiting;
    case "failed":
    case "queued":
    case "claimed":
    case "running":
      return runExitCodes.failed;
  }
}

const runStateTexts: Record<RunState, string> = {
  queued: "It waits its turn.",
  claimed: "It is being written.",
  running: "It is being written.",
  waiting: "It waits for your word.",
  paused: "It is paused.",
  completed: "Completed.",
  cancelled: "Stopped.",
  failed: "The answer failed.",
  interrupted: "The answer was broken off.",
  limit: "The answer was stopped by a limit.",
};

export function describeRunEnd({
  state,
  cause,
}: {
  state: RunState;
  cause: string | null;
}): string {
  const sentence = runStateTexts[state];
  return cause === null ? sentence : `${sentence} (${cleanLine(cause)})`;
}

/** A tool that a person did not allow was not cut off: it was denied. */
export function describeOutcome({
  outcome,
  refusal,
}: {
  readonly outcome: ToolOutcome;
  readonly refusal?: string | undefined;
}): string {
  if (refusal === "denied" || refusal === "forbidden") return "denied";
  return refusal === "expired" ? "not answered in time" : outcome;
}

/** What stands in a list for a session that has no title. */
export function sessionTitle({ title, preview }: SessionView): string {
  return cleanLine(title ?? preview).trim() || "(nothing said yet)";
}

/** One row of a list: what it is called by, when it was last used, whether it works or asks, and its title. */
export function sessionRow(
  session: SessionView,
  { width, paint, mark = " " }: { width: number; paint: Paint; mark?: string },
): string {
  const { id, sortAt, messageCount, liveState } = session;
  const head = `${mark} ${shortId(id)}  ${formatTime(sortAt)}  ${padTo(String(messageCount), 4)} `;
  const state = liveState === null ? "" : `[${liveState}] `;
  const room = Math.max(8, width - head.length);
  return paint("dim", head) + fitTo(state + sessionTitle(session), room);
}

export function formatTime(at: number): string {
  const when = new Date(at);
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = `${when.getFullYear()}-${two(when.getMonth() + 1)}-${two(when.getDate())}`;
  return `${day} ${two(when.getHours())}:${two(when.getMinutes())}`;
}
