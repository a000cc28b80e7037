import type { ProcessEnd } from "./process-folder.ts";
import type { ProcessRecord } from "./process-store.ts";
import type { Reads } from "@holdfast/engine";
import { type OwnerId, type ProcessId, type Seq, type SessionId } from "@holdfast/protocol";

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

/** Why an end starts no turn. */
export function turnLimitText(turns: number): string {
  const reason =
    turns === 0
      ? "Ends of background commands begin no turns here"
      : turns === 1
        ? "The last turn was begun by the end of a background command, and by no person"
        : `The last ${turns} turns were begun by ends of background commands, and none by a person`;
  return `${reason}, so this one begins none: say something, and it goes on.`;
}

/** The message to the session when a process ends. It contains only the host's words, nothing the process wrote. */
export function endReportText(
  { id, shown, startedAt, endedAt }: ProcessRecord,
  end: ProcessEnd,
): string {
  const seconds = Math.max(0, Math.round(((endedAt ?? startedAt) - startedAt) / 1000));
  return `[background process ${id}]\n\n${JSON.stringify(shown)} ${describeEnd(end)}, ${seconds} s after it was started. Its output can be read with the tool processes. This was said by the host, and by no person.`;
}

/** Input in such a lane comes from the host, not from a person. */
export const processLanePrefix = "process:";
const pageSize = 100;

/** Identifies the message about a process's end permanently. */
export function reportKey(id: ProcessId): string {
  return `${processLanePrefix}${id}`;
}

/**
 * Whether a process's end starts a turn or is only shown: the latter once `maxTurns` turns in a row were started
 * by process ends alone. Counted from the log, so that a restart does not reset it.
 */
export async function reportKindFor(
  reads: Pick<Reads, "snapshot" | "entries">,
  owner: OwnerId,
  { id, session }: { readonly id: ProcessId; readonly session: SessionId },
  maxTurns: number,
): Promise<"turn" | "notice"> {
  const key = reportKey(id);
  let count = 0;
  for await (const clientId of newestClientIds(reads, owner, session)) {
    // A host reported it and died before recording that.
    if (clientId === key) return "turn";
    if (clientId?.startsWith(processLanePrefix) !== true) break;
    count += 1;
    if (count >= maxTurns) return "notice";
  }
  return count < maxTurns ? "turn" : "notice";
}

/** Client ids of the session's input, newest first: queued input is newer than all entries. */
async function* newestClientIds(
  reads: Pick<Reads, "snapshot" | "entries">,
  owner: OwnerId,
  session: SessionId,
): AsyncGenerator<string | null> {
  const snapshot = await reads.snapshot(owner, session, { limit: pageSize });
  for (const { clientId } of snapshot?.inbox.toReversed() ?? []) yield clientId;
  let page = snapshot?.entries ?? null;
  while (page !== null) {
    for (const { type, data } of page.entries.toReversed())
      if (type === "message.user")
        yield typeof data["clientId"] === "string" ? data["clientId"] : null;
    const before: Seq | undefined = page.entries[0]?.seq;
    page =
      page.more && before !== undefined
        ? await reads.entries(owner, session, { before, limit: pageSize })
        : null;
  }
}
