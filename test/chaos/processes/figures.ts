import { isTerminal } from "./known-sessions.ts";
import type { Checked } from "./check.ts";
import { acknowledged, countBy, isFromSpill, known } from "./evidence.ts";
import type { FaultName, History } from "./history.ts";
import type { Effect } from "./protocol.ts";

/** A chaos run in numbers. */
export function figuresOf(
  history: History,
  { evidence, problems, events }: Checked,
  effects: readonly Effect[],
): Record<string, string | number> {
  const faults = countBy(history.of("fault"), ({ what }) => what);
  const count = (...names: FaultName[]): number =>
    names.reduce((sum, name) => sum + (faults.get(name) ?? 0), 0);
  const told = acknowledged(evidence);
  const inputs = told.filter(({ request }) => request.act === "send" || request.act === "retry");
  const names = new Set(inputs.map(({ told: { messageId } }) => messageId));
  const log = [...evidence.logs.values()].flatMap(known);
  const states = log.flatMap((event) =>
    event.type === "run.state" && isTerminal(event.data.state) ? [event.data.state] : [],
  );
  const unknown = log.filter(
    (event) =>
      event.type === "message.tool" &&
      event.data.parts.some((part) => part.type === "tool_result" && part.outcome === "unknown"),
  );
  const said = history.of("said").map(({ message }) => message.word);
  const seen = history.of("seen").reduce((sum, entry) => sum + entry.events.length, 0);
  const historyActs = new Set(["undo", "redo", "clear", "truncate", "retry", "branch"]);
  return {
    "kill -9": count("kill", "kill while starting"),
    "of all processes at once": count("kill all"),
    "while it was starting": count("kill while starting"),
    "SIGSTOP and SIGCONT": count("stop"),
    "orderly stops": count("orderly stop"),
    "database restarts and crashes": count("database restart", "database crash"),
    "connections cut": count("connections cut", "connection cut at a commit"),
    "disk full": count("disk full"),
    "inputs acknowledged": names.size,
    "of them acknowledged more than once": inputs.length - names.size,
    "cancels acknowledged": told.filter(({ request }) => request.act === "cancel").length,
    "changes of history acknowledged": told.filter(({ request }) => historyActs.has(request.act))
      .length,
    ...Object.fromEntries(
      [...countBy(states, (state) => `runs ${state}`)].toSorted(([a], [b]) => a.localeCompare(b)),
    ),
    "effects of tools": effects.length,
    "tools whose outcome is unknown": unknown.length,
    "take-overs": log.filter(isTakeOver).length,
    "answers brought in from a spill": log.filter(isFromSpill).length,
    "commits under a fence": said.filter((word) => word === "committed").length,
    "refused to a late holder (fenced)": said.filter((word) => word === "fenced").length,
    "events shown to followers": seen,
    "longest time until a run went on after a kill, in ms": longestGap(history, log),
    "events that fsck accounted for": events,
    "promises broken": problems.length,
  };
}

type Event = ReturnType<typeof known>[number];

function isTakeOver(event: Event): boolean {
  return event.type === "run.state" && (event.data.attempt ?? 0) > 0;
}

/** From the first kill after a run's last event to its takeover. */
function longestGap(history: History, log: readonly Event[]): number {
  const kills = history.of("fault").filter(({ what }) => what.startsWith("kill"));
  const lastSign = new Map<string, number>();
  let longest = 0;
  for (const event of log) {
    const { runId, at } = event;
    if (runId === undefined) continue;
    const since = lastSign.get(runId);
    if (isTakeOver(event) && since !== undefined) {
      const kill = kills.find((entry) => entry.at >= since && entry.at <= at);
      if (kill !== undefined) longest = Math.max(longest, at - kill.at);
    }
    if (event.type !== "run.cancel") lastSign.set(runId, at);
  }
  return longest;
}
