import { plural } from "@holdfast/protocol";

function formatSize(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 * 1024) return `${Math.round(bytes / 1024)} KB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}

/** How a conversation is told as lines of text. A translation replaces this table. */
export const transcriptStrings = {
  byShell: (name: string, command: string) => `${name} (by a shell): ${command}`,
  runStates: {
    queued: "Queued.",
    claimed: "Starting.",
    running: "Running.",
    waiting: "Needs your approval.",
    paused: "Paused.",
    completed: "Completed.",
    cancelled: "Stopped.",
    failed: "The answer failed.",
    interrupted: "The answer was interrupted.",
    limit: "A limit stopped the answer.",
  },
  partial: {
    cancelled: "stopped here",
    interrupted: "interrupted here",
    failed: "failed here",
    limit: "stopped here by a limit",
  },
  outcomes: {
    ok: "ok",
    failed: "failed",
    cancelled: "stopped",
    unknown: "outcome unknown",
    denied: "denied",
    expired: "not answered in time",
  },
  noMessages: "(no messages yet)",
  image: "image",
  picture: (name: string, bytes: number | undefined) =>
    bytes === undefined ? `▣ ${name}` : `▣ ${name} (${formatSize(bytes)})`,
  moreLines: (count: number) => plural(count, { one: "… # more line", other: "… # more lines" }),
  summary: "Earlier messages were summarised for the model.",
  undone: "Last turn undone. /redo brings it back.",
  redone: "Turn restored.",
  task: (facts: string, session: string) =>
    facts === "" ? `Task in session ${session}` : `${facts} · session ${session}`,
  seconds: (seconds: string) => `${seconds} s`,
} as const;
