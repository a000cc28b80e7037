import {
  type Alternative,
  alternativesOf,
  type AlternativeView,
  clipRanges,
  decodeEvent,
  type EventData,
  type HiddenAlternative,
  hiddenAlternatives,
  type MessageId,
  newEvent,
  type OwnerId,
  previewOf,
  roleOf,
  type Seq,
  type SeqRange,
  type SessionId,
  type StoredEvent,
} from "@holdfast/protocol";

import { rangeContaining } from "../log/read-views.ts";
import type { Committed } from "../ports/commit.ts";
import type { Reads } from "../ports/reads.ts";
import type { SessionRow } from "../ports/rows.ts";
import {
  commitView,
  type HistoryDeps,
  type HistoryResult,
  type HistoryTarget,
  noSession,
  refuseHistory,
  runLive,
  runOnce,
  textOfEntry,
  type View,
  viewOf,
} from "./cut.ts";

const pageSize = 200;

/**
 * Shows another version of a turn, with everything that followed it when it was left. The version in view until now can
 * be chosen again in the same way. The turn itself need not be in view, if it is part of another version of one that is.
 */
export function switchAlternative(
  deps: HistoryDeps,
  target: HistoryTarget,
  messageId: MessageId,
): Promise<HistoryResult> {
  return runOnce(deps, target, async () => {
    const row = await deps.log.store.reads.session(target.owner, target.session);
    if (row === null) return noSession;
    const { set = [], index = 0 } = alternativesOf(row.alternatives, messageId) ?? {};
    const chosen = set[index];
    const inView = set.find(({ seq }) => isInView(row, seq));
    // A new version that waits for its run would follow the one chosen here.
    if (set.some(({ seq }) => seq === undefined)) return runLive;
    if (chosen === undefined) return notAnAlternative;
    if (chosen === inView) return alreadyDone(row);
    if (inView === undefined) {
      const hidden = await readHiddenAlternatives(deps.log.store.reads, row);
      if (!hidden.some((entry) => entry.messageId === messageId)) return notAnAlternative;
    }
    return showAlternative(deps, target, row, chosen, "switch");
  });
}

/** Every version out of view that can be chosen, with what would be in view then. */
export async function readHiddenAlternatives(
  reads: Reads,
  row: SessionRow,
): Promise<readonly HiddenAlternative[]> {
  const views = new Map<Seq, readonly SeqRange[]>();
  for (const { left } of row.alternatives.flat()) {
    if (left === undefined || views.has(left)) continue;
    const view = await readViewBefore(reads, row, left);
    if (view !== null) views.set(left, view.ranges);
  }
  return hiddenAlternatives(row, (left) => views.get(left));
}

function isInView({ ranges }: SessionRow, seq: Seq | undefined): boolean {
  return seq !== undefined && rangeContaining(ranges, seq) !== undefined;
}

/** Shows a version of a turn as it was left. */
export async function showAlternative(
  deps: HistoryDeps,
  target: HistoryTarget,
  row: SessionRow,
  { left }: Alternative,
  cause: NonNullable<EventData<"history.restored">["cause"]>,
): Promise<HistoryResult> {
  const { command = deps.ids.make("event") } = target;
  const { reads } = deps.log.store;
  const view = left === undefined ? null : await readViewBefore(reads, row, left);
  if (left === undefined || view === null) return notAnAlternative;
  const { messageCount, preview } = view;
  const own = (row.head + 1) as Seq;
  const shown = await withoutBareEnd(reads, row, clipRanges(view.ranges, (left - 1) as Seq));
  const ranges = [...shown, { from: own, to: null }];
  const restored = { ranges, messageCount, preview, cause, before: viewOf(row) };
  return commitView(deps, target, row, [newEvent(command, "history.restored", restored)]);
}

/**
 * Without a last range that nothing was said in: it begins with the event that showed this version before, and going
 * back and forth would add one such range each time.
 */
async function withoutBareEnd(
  reads: Reads,
  { owner, id }: SessionRow,
  ranges: readonly SeqRange[],
): Promise<readonly SeqRange[]> {
  const last = ranges.at(-1);
  if (last === undefined || last.to === null || last.log !== undefined) return ranges;
  const { from, to: upTo } = last;
  const after = (from - 1) as Seq;
  const page = await reads.events(owner, id, { after, upTo, limit: pageSize });
  const [first, ...rest] = page?.events ?? [];
  const isBare =
    page?.more === false &&
    first?.type === "history.restored" &&
    rest.every((event) => roleOf(event) !== "entry");
  return isBare ? ranges.slice(0, -1) : ranges;
}

/** What was visible before the event with this seq, which has changed that. */
async function readViewBefore(
  reads: Reads,
  { owner, id }: SessionRow,
  seq: Seq,
): Promise<View | null> {
  const page = await reads.events(owner, id, { after: (seq - 1) as Seq, limit: 1 });
  const event = page?.events[0];
  const decoded = event?.seq === seq ? decodeEvent(event) : undefined;
  if (decoded?.kind !== "known") return null;
  const known = decoded.event;
  if (known.type !== "history.cut" && known.type !== "history.restored") return null;
  return known.data.before ?? null;
}

function alreadyDone({ head, version, revision, activityAt }: SessionRow): Committed {
  const seqs = { first: head, last: head };
  return { status: "committed", ...seqs, at: activityAt, version, revision, repeated: true };
}

const notAnAlternative = refuseHistory(
  "entry_not_found",
  "There is no such alternative of a message in view.",
);

/** The turns in view that have more than one version, oldest first, each with its versions. `null`: no session. */
export async function listAlternatives(
  reads: Reads,
  owner: OwnerId,
  session: SessionId,
): Promise<readonly (readonly AlternativeView[])[] | null> {
  const row = await reads.session(owner, session);
  if (row === null) return null;
  const inView = row.alternatives
    .map((set) => ({ set, seq: set.find(({ seq }) => isInView(row, seq))?.seq }))
    .filter(({ seq }) => seq !== undefined)
    .toSorted((a, b) => (a.seq ?? 0) - (b.seq ?? 0));
  const turns: (readonly AlternativeView[])[] = [];
  for (const { set } of inView) {
    const listed: AlternativeView[] = [];
    for (const entry of set) {
      const found = await describeAlternative(reads, row, entry);
      if (found !== null) listed.push(found);
    }
    turns.push(listed);
  }
  return turns;
}

async function describeAlternative(
  reads: Reads,
  row: SessionRow,
  { messageId, seq, left }: Alternative,
): Promise<AlternativeView | null> {
  if (seq === undefined) return null;
  const { owner, id } = row;
  const inView = isInView(row, seq);
  const view = inView || left === undefined ? row : await readViewBefore(reads, row, left);
  const log = rangeContaining(view?.ranges ?? [], seq)?.log ?? id;
  const turn = await readTurnStart(reads, owner, log, seq);
  if (turn === null) return null;
  const { question, answer } = turn;
  const model = answer?.data["model"];
  return {
    messageId,
    seq,
    at: question.at,
    text: textOfEntry(question),
    answer: answer === null ? "" : previewOf(textOfEntry(answer)),
    model: typeof model === "string" ? model : null,
    inView,
    ...(left !== undefined && { left }),
  };
}

/** An answer that begins after this many events is listed without its text. */
const maxEventsToAnswer = 2_000;

/** A message and the first text that answers it. */
async function readTurnStart(
  reads: Reads,
  owner: OwnerId,
  log: SessionId,
  seq: Seq,
): Promise<{ readonly question: StoredEvent; readonly answer: StoredEvent | null } | null> {
  let question: StoredEvent | null = null;
  for (let after = seq - 1; after < seq + maxEventsToAnswer;) {
    const page = await reads.events(owner, log, { after: after as Seq, limit: pageSize });
    for (const event of page?.events ?? []) {
      question ??= event;
      const isAnswer = event.type === "message.assistant" && event.runId === question.runId;
      if (isAnswer && textOfEntry(event) !== "") return { question, answer: event };
    }
    const last = page?.events.at(-1);
    if (page?.more !== true || last === undefined) break;
    after = last.seq;
  }
  return question?.seq === seq ? { question, answer: null } : null;
}
