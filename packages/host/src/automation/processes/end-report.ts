import type { ProcessEnd } from "./process-folder.ts";
import type { ProcessRecord } from "./process-store.ts";

/** Completes "it …". */
export function describeEnd(end: ProcessEnd): string {
  switch (end.kind) {
    case "exited":
      return `ended with exit code ${end.code}`;
    case "killed":
      return `was ended by ${end.signal}`;
    case "stopped":
      return end.why === "time" ? "took too long and was stopped" : "was stopped";
    case "not_started":
      return `could not be started (${end.code})`;
    case "lost":
      return "was lost with its host: nobody has seen its end, and what it did until then is not known";
  }
}

/** Why an end begins no turn. */
export function turnLimitText(turns: number): string {
  const why =
    turns === 0
      ? "Ends of background commands begin no turns here"
      : turns === 1
        ? "The last turn was begun by the end of a background command, and by no person"
        : `The last ${turns} turns were begun by ends of background commands, and none by a person`;
  return `${why}, so this one begins none: say something, and it goes on.`;
}

/** What the session is told when a process has ended. The host's own words: nothing of what the process wrote. */
export function endReportText(
  { id, shown, startedAt, endedAt }: ProcessRecord,
  end: ProcessEnd,
): string {
  const seconds = Math.max(0, Math.round(((endedAt ?? startedAt) - startedAt) / 1000));
  return `[background process ${id}]\n\n${JSON.stringify(shown)} ${describeEnd(end)}, ${seconds} s after it was started. Its output can be read with the tool processes. This was said by the host, and by no person.`;
}
