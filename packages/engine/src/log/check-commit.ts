import type { Expectation, RefusalCode, Refused } from "../ports/commit.ts";
import type { LeaseRow, SessionRow } from "../ports/rows.ts";

export function refuse(code: RefusalCode, message: string): Refused {
  return { status: "refused", code, message };
}

/** What the writer expected to find and did not, if anything. */
export function checkExpectations(
  session: SessionRow,
  leases: readonly LeaseRow[],
  expect: Expectation | undefined,
  now: number,
): Refused | undefined {
  if (expect === undefined) return undefined;
  if (differs(expect.revision, session.revision)) {
    return refuse("revision_conflict", `The session is at revision ${session.revision}.`);
  }
  if (differs(expect.version, session.version)) {
    return refuse("version_conflict", `The session is at version ${session.version}.`);
  }
  if (differs(expect.head, session.head)) {
    return refuse("head_moved", `The session's newest event is ${session.head}.`);
  }
  if (differs(expect.epoch, session.epoch)) {
    return refuse("epoch_moved", `The session is in epoch ${session.epoch}.`);
  }
  if (expect.idle === true && session.liveRun !== null)
    return refuse("run_live", "A run is going on in this session.");
  if (expect.idle === undefined && expect.uncompacted === undefined) return undefined;
  const compacting = leases.some((lease) => lease.kind === "compaction" && lease.expiresAt > now);
  return compacting ? refuse("compaction_live", "The session is being compacted.") : undefined;
}

function differs(expected: number | undefined, actual: number): boolean {
  return expected !== undefined && expected !== actual;
}
