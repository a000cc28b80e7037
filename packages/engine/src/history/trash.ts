import { newEvent, type NewEvent } from "@holdfast/protocol";

import type { CommitResult, Failed, InputRow, LeaseRow, Reads, Snapshot } from "../ports/index.ts";
import {
  type AskedIn,
  entriesOfAStep,
  foldStep,
  type RunWriter,
  leftoversOf,
  takenInput,
  tellUnrun,
  writerFor,
} from "../run/index.ts";
import { type HistoryTarget, noSession } from "./cut.ts";
import type { InterruptDeps } from "./interrupt.ts";

type TrashDeps = Pick<InterruptDeps, "log" | "ids" | "holder">;

/** So often a stream may come between our look and our write before its runner is shut out. */
const politeTries = 10;
const tries = 100;

/**
 * Puts a session in the trash, settled, in one commit: a run that is live ends as cancelled with all that it had said,
 * messages that wait become entries that nobody answered, and every lease goes, so that whatever is still on its way is
 * refused. Nothing runs in the trash, and nothing begins by surprise when the session comes back.
 */
export async function trash(deps: TrashDeps, target: HistoryTarget): Promise<CommitResult> {
  const { log, ids } = deps;
  const { owner, session } = target;
  for (let attempt = 1; ; attempt += 1) {
    const snapshot = await log.store.reads.snapshot(owner, session, { limit: entriesOfAStep });
    if (snapshot === null) return noSession;
    const trashed = newEvent(ids.make("event"), "session.trashed", {});
    const result = await log.commit({
      owner,
      session,
      events: [...(await settleAll(deps, target, snapshot)), trashed],
      expect: { head: snapshot.session.head, uncompacted: true },
    });
    const hasMoved = result.status === "refused" && result.code === "head_moved";
    if (!hasMoved || attempt === tries) return result;
    if (attempt === politeTries) {
      const failed = await shutOut(deps, target);
      if (failed !== undefined) return failed;
    }
  }
}

/** Brings a session back. One whose run was cut off without being settled is settled now: in the trash nothing moves. */
export async function restore(deps: TrashDeps, target: HistoryTarget): Promise<CommitResult> {
  const { log, ids } = deps;
  const { owner, session, command = ids.make("event") } = target;
  const snapshot = await log.store.reads.snapshot(owner, session, { limit: entriesOfAStep });
  if (snapshot === null) return noSession;
  const restored = newEvent(command, "session.restored", {});
  const left = snapshot.session.trashedAt === null ? [] : await settleAll(deps, target, snapshot);
  return log.commit({ owner, session, events: [restored, ...left] });
}

async function settleAll(
  { log, ids }: TrashDeps,
  { owner, session }: Pick<HistoryTarget, "owner" | "session">,
  snapshot: Snapshot,
): Promise<readonly NewEvent[]> {
  const { run, inbox } = snapshot;
  const place = { owner, session, entries: snapshot.entries.entries };
  return [
    ...(run === null
      ? []
      : await endCutOff(log.store.reads, writerFor(ids, run.id), place, snapshot)),
    ...inbox.flatMap((input) => leaveUnanswered(ids, input)),
    ...(inbox.length === 0 ? [] : [unansweredNotice(ids)]),
  ];
}

type Ids = TrashDeps["ids"];

async function endCutOff(
  reads: Reads,
  run: RunWriter,
  place: AskedIn,
  snapshot: Snapshot,
): Promise<readonly NewEvent[]> {
  const fold = foldStep(snapshot.journal);
  const left = leftoversOf(run, snapshot, { partial: "cancelled", mayStartAgain: false, fold });
  const warning = left.unknown === "" ? "" : ` ${left.unknown}`;
  const notice = run.event("notice.added", {
    noticeId: run.ids.make("notice"),
    kind: "cut_off",
    text: `The session was put in the trash in the middle of this answer. What was said and done until then is above.${warning}`,
    details: { cause: "trashed", runId: run.runId },
    ...(left.dropped.length > 0 && { deltas: [...left.dropped] }),
  });
  return [
    run.event("run.cancel", { by: "trash" }),
    ...left.settled,
    ...(await tellUnrun(reads, run, place, { told: fold.tools })),
    notice,
    run.event("run.state", { state: "cancelled", cause: "trashed" }),
  ];
}

/** P1: what was accepted is not lost. It stands in the conversation, and a person may ask it again. */
function leaveUnanswered(ids: Ids, input: InputRow): readonly NewEvent[] {
  const run = writerFor(ids, input.runId);
  return [takenInput(run, input), run.event("run.state", { state: "cancelled", cause: "trashed" })];
}

function unansweredNotice(ids: Ids): NewEvent {
  return newEvent(ids.make("event"), "notice.added", {
    noticeId: ids.make("notice"),
    kind: "not_answered",
    text: "The session was put in the trash before this was answered.",
    details: { cause: "trashed" },
  });
}

/** P3: takes the lease from a runner that writes faster than we can read. From now on its writes are refused. */
async function shutOut(
  { log, holder }: TrashDeps,
  { session }: HistoryTarget,
): Promise<Failed | undefined> {
  const held: LeaseRow | null = await log.store.leases.read("run", session);
  if (held === null) return undefined;
  const result = await log.store.leases.acquire({
    kind: "run",
    session,
    holder: holder(),
    ttlMs: 10_000,
    replacing: held.fence,
  });
  return result.status === "failed" ? result : undefined;
}
