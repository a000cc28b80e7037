import { newEvent, type NewEvent, type Seq } from "@holdfast/protocol";

import type { CommitResult, Failed } from "../ports/commit.ts";
import type { InputRow, LeaseRow } from "../ports/rows.ts";
import type { Reads, Snapshot } from "../ports/reads.ts";
import {
  type StepEntries,
  settleUnrunCalls,
  type RunEvents,
  createRunEvents,
} from "../run/settle.ts";
import { maxEntriesPerStep } from "../recovery/take-over.ts";
import { foldStep } from "../run/fold-step.ts";
import { settleJournal } from "../recovery/settle-journal.ts";
import { inputEntry } from "../run/claim.ts";
import { type HistoryTarget, noSession } from "./cut.ts";
import type { InterruptDeps } from "./interrupt.ts";

type TrashDeps = Pick<InterruptDeps, "log" | "ids" | "holder">;

/** So often a stream may come between our look and our write before its runner is shut out. */
const triesBeforeEviction = 10;
const maxTries = 100;

/**
 * Puts a session in the trash, settled, in one commit: a run that is live ends as cancelled with all that it had said,
 * messages that wait become entries that nobody answered, and every lease goes, so that whatever is still on its way is
 * refused. Nothing runs in the trash, and nothing begins by surprise when the session comes back.
 */
export async function trash(deps: TrashDeps, target: HistoryTarget): Promise<CommitResult> {
  const { log, ids } = deps;
  const { owner, session } = target;
  for (let attempt = 1; ; attempt += 1) {
    const snapshot = await log.store.reads.snapshot(owner, session, { limit: maxEntriesPerStep });
    if (snapshot === null) return noSession;
    const trashed = newEvent(ids.make("event"), "session.trashed", {});
    const parts = splitCommits([...(await settleAll(deps, target, snapshot)), trashed]);
    // Between two parts nobody may claim what the next one settles.
    const failed = parts.length > 1 ? await evictRunner(deps, target) : undefined;
    if (failed !== undefined) return failed;
    const result = await commitParts(deps, target, snapshot.session.head, parts);
    const hasMoved = result.status === "refused" && result.code === "head_moved";
    if (!hasMoved || attempt === maxTries) return result;
    if (attempt === triesBeforeEviction) {
      const refused = await evictRunner(deps, target);
      if (refused !== undefined) return refused;
    }
  }
}

const maxCharacters = 4 * 1024 * 1024;
const maxEvents = 1_000;

/** What waits may be more than one commit takes: it is settled in parts, and the last of them is the delete. */
function splitCommits(events: readonly NewEvent[]): readonly (readonly NewEvent[])[] {
  const parts: NewEvent[][] = [[]];
  let characters = 0;
  for (const event of events) {
    const size = JSON.stringify(event.data).length;
    const isFull = characters + size > maxCharacters || (parts.at(-1)?.length ?? 0) >= maxEvents;
    // A message and the end of its run stay together.
    if (isFull && event.type !== "run.state") {
      parts.push([]);
      characters = 0;
    }
    parts.at(-1)?.push(event);
    characters += size;
  }
  return parts;
}

async function commitParts(
  { log }: TrashDeps,
  { owner, session }: HistoryTarget,
  from: Seq,
  parts: readonly (readonly NewEvent[])[],
): Promise<CommitResult> {
  let head = from;
  let result: CommitResult = noSession;
  for (const events of parts) {
    result = await log.commit({ owner, session, events, expect: { head, uncompacted: true } });
    if (result.status !== "committed") return result;
    head = result.last;
  }
  return result;
}

/** Brings a session back. One whose run was cut off without being settled is settled now: in the trash nothing moves. */
export async function restore(deps: TrashDeps, target: HistoryTarget): Promise<CommitResult> {
  const { log, ids } = deps;
  const { owner, session, command = ids.make("event") } = target;
  const snapshot = await log.store.reads.snapshot(owner, session, { limit: maxEntriesPerStep });
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
      : await endTrashedRun(log.store.reads, createRunEvents(ids, run.id), place, snapshot)),
    ...inbox.flatMap((input) => leaveUnanswered(ids, input)),
    ...(inbox.length === 0 ? [] : [unansweredNotice(ids)]),
  ];
}

type Ids = TrashDeps["ids"];

async function endTrashedRun(
  reads: Reads,
  run: RunEvents,
  place: StepEntries,
  snapshot: Snapshot,
): Promise<readonly NewEvent[]> {
  const fold = foldStep(snapshot.journal);
  const left = settleJournal(run, snapshot, { partial: "cancelled", mayStartAgain: false, fold });
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
    ...(await settleUnrunCalls(reads, run, place, { alreadySettled: fold.tools })),
    notice,
    run.event("run.state", { state: "cancelled", cause: "trashed" }),
  ];
}

/** P1: what was accepted is not lost. It stands in the conversation, and a person may ask it again. */
function leaveUnanswered(ids: Ids, input: InputRow): readonly NewEvent[] {
  const run = createRunEvents(ids, input.runId);
  return [inputEntry(run, input), run.event("run.state", { state: "cancelled", cause: "trashed" })];
}

function unansweredNotice(ids: Ids): NewEvent {
  return newEvent(ids.make("event"), "notice.added", {
    noticeId: ids.make("notice"),
    kind: "not_answered",
    text: "The session was put in the trash before this was answered.",
    details: { cause: "trashed" },
  });
}

/** P3: takes the lease, from whoever has it. From now on a runner's writes are refused. */
async function evictRunner(
  { log, holder }: TrashDeps,
  { session }: HistoryTarget,
): Promise<Failed | undefined> {
  const held: LeaseRow | null = await log.store.leases.read("run", session);
  const result = await log.store.leases.acquire({
    kind: "run",
    session,
    holder: holder(),
    ttlMs: 10_000,
    ...(held !== null && { replacing: held.fence }),
  });
  return result.status === "failed" ? result : undefined;
}
