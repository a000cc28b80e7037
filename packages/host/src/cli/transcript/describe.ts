import { type Json, type RunState, type ToolOutcome, type SessionView } from "@holdfast/protocol";
import { cleanLine } from "../screen/text.ts";
import { exit } from "../command.ts";

/**
 * What exactly would run, in a form that a person can check: every argument separate, nothing left out or
 * interpreted.
 */
export function describeCall(name: string, input: Json): string {
  if (input === null) return name;
  if (typeof input !== "object" || Array.isArray(input)) return `${name} ${JSON.stringify(input)}`;
  const { command, ...rest } = input;
  const others = Object.entries(rest).map(([key, value]) => `${key}: ${formatArgument(value)}`);
  if (typeof command === "string")
    return [`${name} (by a shell): ${command}`, ...others].join("\n");
  if (Array.isArray(command) && command.every((argument) => typeof argument === "string"))
    return [`${name}: ${command.map(shellQuote).join(" ")}`, ...others].join("\n");
  const fields = Object.entries(input).map(([key, value]) => `${key}: ${formatArgument(value)}`);
  if (fields.length === 0) return name;
  return fields.length === 1 ? `${name} ${fields[0]}` : [name, ...fields].join("\n");
}

function formatArgument(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Quoted as for a shell, so that blanks and quotes cannot hide where an argument ends. */
function shellQuote(argument: string): string {
  if (/^[\w@%+=:,./-]+$/.test(argument)) return argument;
  return `'${argument.replaceAll("'", String.raw`'\''`)}'`;
}

/** Exit codes of `holdfast run`. Scripts rely on them: some may be added, none changed. */
export const runExitCodes = {
  ...exit,
  cancelled: 3,
  interrupted: 4,
  limit: 5,
  /** It waits for an approval. */
  waiting: 6,
  /** No host could be reached in time. A message that was accepted stays accepted. */
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

/** A tool that a person refused was denied, not interrupted. */
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

/** A session's title, or a substitute if it has none. */
export function sessionTitle({ title, preview }: SessionView): string {
  return cleanLine(title ?? preview).trim() || "(nothing said yet)";
}

export function formatTime(at: number): string {
  const date = new Date(at);
  const twoDigits = (value: number): string => String(value).padStart(2, "0");
  const day = `${date.getFullYear()}-${twoDigits(date.getMonth() + 1)}-${twoDigits(date.getDate())}`;
  return `${day} ${twoDigits(date.getHours())}:${twoDigits(date.getMinutes())}`;
}
