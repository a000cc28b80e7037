import {
  type ChildDetails,
  formatDollars,
  type Json,
  type RunState,
  type SessionView,
  type ToolFile,
  type ToolOutcome,
} from "@holdfast/protocol";
import { cleanLine } from "../screen/text.ts";
import { transcriptStrings } from "../strings/transcript.ts";
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
    return [transcriptStrings.byShell(name, command), ...others].join("\n");
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

export function describeRunEnd({
  state,
  cause,
}: {
  state: RunState;
  cause: string | null;
}): string {
  const sentence = transcriptStrings.runStates[state];
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
  const { outcomes } = transcriptStrings;
  if (refusal === "denied" || refusal === "forbidden") return outcomes.denied;
  return refusal === "expired" ? outcomes.expired : outcomes[outcome];
}

/** A session's title, or a substitute if it has none. */
export function sessionTitle({ title, preview }: SessionView): string {
  return cleanLine(title ?? preview).trim() || transcriptStrings.noMessages;
}

/** Sweden writes dates as ISO 8601 does, which sorts and lines up in columns. */
const dateAndTime = new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeStyle: "short" });

/** `2026-11-18 08:05`, in the time zone of this machine. */
export function formatTime(at: number): string {
  return dateAndTime.format(at);
}

interface ReturnedByTool {
  readonly child?: ChildDetails | undefined;
  readonly files?: readonly ToolFile[] | undefined;
}

/** The delegated task with its cost, and the files that a tool returned, one to a line. */
export function resultLines({ child, files = [] }: ReturnedByTool): readonly string[] {
  const { profile, title, costMicros, tookMs, sessionId } = child ?? {};
  const facts = [
    ...(profile === undefined ? [] : [profile]),
    ...(title === undefined ? [] : [title]),
    ...(costMicros === undefined ? [] : [formatDollars(costMicros)]),
    ...(tookMs === undefined ? [] : [transcriptStrings.seconds((tookMs / 1000).toFixed(1))]),
  ];
  return [
    ...(sessionId === undefined ? [] : [transcriptStrings.task(facts.join(" · "), sessionId)]),
    ...files.map(({ name = transcriptStrings.image, size }) =>
      transcriptStrings.picture(name, size),
    ),
  ];
}
