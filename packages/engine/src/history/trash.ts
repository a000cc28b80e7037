import { newEvent, type NewEvent, ownerRights, type Seq } from "@holdfast/protocol";

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

/** How often a stream may write between our read and our write before its runner is fenced out. */
const triesBeforeEviction = 10;
const maxTries = 100;

/**
 * Puts a session in the trash, settled, in one commit: a live run ends as cancelled with everything it had output,
 * queued messages become unanswered entries, and all leases go, so that writes still in flight are refused. Nothing
 * runs in the trash, and nothing starts by surprise after a restore.
 */
export async function trash(deps: TrashDeps, target: HistoryTarget): Promise<CommitResult> {
  const { log, ids } = deps;
  const { owner, session } = target;
  for (let attempt = 1; ; attempt += 1) {
    const snapshot = await log.store.reads.snapshot(owner, session, { limit: maxEntriesPerStep });
    if (snapshot === null) return noSession;
    const trashed = newEvent(ids.make("event"), "session.trashed", {});
    const parts = splitCommits([...(await settleAll(deps, target, snapshot)), trashed]);
    // Nobody may claim between two parts what the next one settles.
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

/** The queued messages may not fit into one commit: they are settled in parts, and the last part is the deletion. */
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

/** Restores a session. A run that was cut off without settlement is settled now: nothing changes in the trash. */
export async function restore(deps: TrashDeps, target: HistoryTarget): Promise<CommitResult> {
  const { log, ids } = deps;
  const { owner, session, command = ids.make("event") } = target;
  const snapshot = await log.store.reads.snapshot(owner, session, { limit: maxEntriesPerStep });
  if (snapshot === null) return noSession;
  const restored = newEvent(command, "session.restored", {});
  const leftover =
    snapshot.session.trashedAt === null ? [] : await settleAll(deps, target, snapshot);
  return log.commit({ owner, session, events: [restored, ...leftover] });
}

async function settleAll(
  { log, ids }: TrashDeps,
  { owner, session }: Pick<HistoryTarget, "owner" | "session">,
  snapshot: Snapshot,
): Promise<readonly NewEvent[]> {
  const { run, inbox } = snapshot;
  const stepEntries = { owner, session, entries: snapshot.entries.entries };
  return [
    ...(run === null
      ? []
      : await endTrashedRun(log.store.reads, createRunEvents(ids, run.id), stepEntries, snapshot)),
    ...inbox.flatMap((input) => leaveUnanswered(ids, input)),
    ...(inbox.length === 0 ? [] : [unansweredNotice(ids)]),
  ];
}

type Ids = TrashDeps["ids"];

async function endTrashedRun(
  reads: Reads,
  run: RunEvents,
  stepEntries: StepEntries,
  snapshot: Snapshot,
): Promise<readonly NewEvent[]> {
  const fold = foldStep(snapshot.journal);
  const leftover = settleJournal(run, snapshot, {
    partial: "cancelled",
    mayStartAgain: false,
    fold,
  });
  const warning = leftover.unknown === "" ? "" : ` ${leftover.unknown}`;
  const notice = run.event("notice.added", {
    noticeId: run.ids.make("notice"),
    kind: "cut_off",
    text: `The session was put in the trash in the middle of this answer. What was said and done until then is above.${warning}`,
    details: { cause: "trashed", runId: run.runId },
    ...(leftover.dropped.length > 0 && { deltas: [...leftover.dropped] }),
  });
  return [
    run.event("run.cancel", { by: "trash" }),
    ...leftover.settled,
    ...(await settleUnrunCalls(reads, run, stepEntries, { alreadySettled: fold.tools })),
    notice,
    run.event("run.state", { state: "cancelled", cause: "trashed" }),
  ];
}

/** P1: accepted messages are not lost. They stay in the conversation, and a person may ask them again. */
function leaveUnanswered(ids: Ids, input: InputRow): readonly NewEvent[] {
  const run = createRunEvents(ids, input.runId);
  const rights = input.content?.rights ?? ownerRights;
  return [
    inputEntry(run, input, { rights }),
    run.event("run.state", { state: "cancelled", cause: "trashed" }),
  ];
}

function unansweredNotice(ids: Ids): NewEvent {
  return newEvent(ids.make("event"), "notice.added", {
    noticeId: ids.make("notice"),
    kind: "not_answered",
    text: "The session was put in the trash before this was answered.",
    details: { cause: "trashed" },
  });
}

/** P3: takes the lease from whoever holds it. From now on that runner's writes are refused. */
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
