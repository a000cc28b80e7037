import { outboxState, type OwnerId } from "@holdfast/protocol";

import type { LeaseKind, ListCursor, Store } from "@holdfast/engine";
import { toSeq } from "../fixtures/factories.ts";
import { assertPresent, assertSameJson, seqsOf, readListPage } from "../fixtures/open-session.ts";
import type { ModelSession } from "./model-session.ts";
import type { ModelStore } from "./model-store.ts";
import type { ListSketch } from "./steps.ts";

const kinds: readonly LeaseKind[] = ["run", "compaction", "memory", "history", "outbox"];

/** Compares everything that can be read of one session, through both handles in turn. */
export async function compareSession(
  [one, two]: readonly [Store, Store],
  model: ModelStore,
  session: ModelSession,
): Promise<void> {
  const { owner, id } = session;
  if (session.purged) {
    assertSameJson(await two.reads.session(owner, id), null);
    assertSameJson(await one.reads.snapshot(owner, id, { limit: 1 }), null);
    return;
  }
  const snapshot = assertPresent(await two.reads.snapshot(owner, id, { limit: 1_000 }));
  assertSameJson(snapshot.session, session.row);
  assertSameJson(await one.reads.session(owner, id), session.row);
  assertSameJson(
    seqsOf(snapshot.entries.entries),
    model.entries(session).map(({ seq }) => seq),
  );
  assertSameJson(
    snapshot.inbox.map((input) => input.messageId),
    session.waiting.map(({ action }) => action.messageId),
  );
  assertSameJson(snapshot.run?.id ?? null, session.live?.runId ?? null);

  const events = assertPresent(
    await one.reads.events(owner, id, { after: toSeq(0), limit: 1_000 }),
  );
  const seen = events.events.map((event) => [event.seq, event.at, event.quiet === true]);
  assertSameJson(
    seen,
    session.readable.map((recorded) => [recorded.seq, recorded.at, recorded.quiet]),
  );
  assertSameJson([events.head, events.more], [session.head, false]);

  for (const kind of kinds) {
    assertSameJson(
      (await two.leases.read(kind, id))?.fence ?? null,
      model.holder(session, kind),
      kind,
    );
  }
  const runs = new Map(session.all("run").map(({ action }) => [action.runId, action.state]));
  for (const [run, state] of [...runs].slice(-3)) {
    assertSameJson((await two.reads.run(owner, run))?.state, state);
  }
  await compareApprovals(one, session);
  await compareMemory(two, session);
  await compareOutbox(one, session);
  await compareLedgers(one, model, session);
}

async function compareApprovals(store: Store, session: ModelSession): Promise<void> {
  const { owner, id } = session;
  const asked = session.all("ask").map(({ action }) => action.approvalId);
  if (asked.length === 0) return;
  const open = await store.reads.approvals(owner, { session: id, limit: 1_000 });
  assertSameJson(
    open.approvals.map((approval) => approval.id).toSorted(),
    asked.filter((approval) => session.approval(approval) === "open").toSorted(),
  );
  for (const approval of asked.slice(-3)) {
    const row = assertPresent(await store.reads.approval(owner, approval));
    assertSameJson(row.decision ?? row.state, session.approval(approval));
  }
}

async function compareMemory(store: Store, session: ModelSession): Promise<void> {
  const { marks, trying } = session;
  const read = await store.reads.unremembered(session.owner, session.id, 1_000);
  assertSameJson(
    read.marks.map((mark) => [mark.seq, mark.runId]),
    marks.map(({ seq, action }) => [seq, action.runId]),
  );
  assertSameJson(
    read.trying && [read.trying.upTo, read.trying.tries, read.trying.code !== null],
    trying && [trying.action.upTo, trying.action.tries, trying.action.how === "failed"],
  );
}

async function compareOutbox(store: Store, session: ModelSession): Promise<void> {
  const query = { session: session.id, states: outboxState.options, limit: 1_000 };
  const rows = await store.reads.outbox(session.owner, query);
  const expected = session.trashed ? [] : [...session.chunks];
  assertSameJson(
    rows.map((row) => `${row.delivery} ${row.chunk} ${row.state} ${row.attempts}`).toSorted(),
    expected.map(([chunk, said]) => `${chunk} ${said.join(" ")}`).toSorted(),
  );
}

async function compareLedgers(
  store: Store,
  model: ModelStore,
  { owner, id, ...rest }: ModelSession,
): Promise<void> {
  const spent = rest.actions.flatMap(({ action }) =>
    action.do === "spend" ? [action.tokens] : [],
  );
  const used = await store.reads.usage(owner, { session: id });
  assertSameJson(
    [used.calls, used.input],
    [spent.length, spent.reduce((sum, tokens) => sum + tokens, 0)],
  );
  for (const { action } of rest.actions) {
    if (action.do !== "bind") continue;
    assertSameJson(
      await store.reads.lane(owner, action.lane),
      model.lanes.get(`${owner} ${action.lane}`) ?? null,
    );
  }
}

/** Walks the list to its end. */
export async function compareList(
  store: Store,
  model: ModelStore,
  owner: OwnerId,
  query: ListSketch,
  limit: number,
): Promise<void> {
  const expected = model
    .living(owner)
    .map((session) => session.row)
    .filter((row) => {
      const shelf = row.trashedAt !== null ? "trash" : row.archived ? "archived" : "active";
      const { pinned, project = row.project, tag } = query;
      return (
        shelf === query.shelf &&
        (pinned === undefined || row.pinned) &&
        project === row.project &&
        (tag === undefined || row.tags.includes(tag))
      );
    })
    .toSorted((a, b) => b.sortAt - a.sortAt || (a.id < b.id ? 1 : -1));
  const found = [];
  let after: ListCursor | null | undefined;
  do {
    const page = await readListPage(store, owner, { ...query, limit, ...(after && { after }) });
    found.push(...page.sessions);
    assertSameJson(found, expected.slice(0, found.length));
    assertSameJson(page.next === null, found.length === expected.length);
    after = page.next;
  } while (after !== null);
  assertSameJson(found, expected);
}

export async function comparePage(
  store: Store,
  model: ModelStore,
  session: ModelSession,
  before: number,
  limit: number,
): Promise<void> {
  const older = model.entries(session).filter(({ seq }) => seq < before);
  const query = { before: toSeq(before), limit };
  const page = assertPresent(await store.reads.entries(session.owner, session.id, query));
  assertSameJson(
    seqsOf(page.entries),
    older.slice(-limit).map(({ seq }) => seq),
  );
  assertSameJson(page.more, older.length > limit);
  const newer = session.readable.filter(({ seq }) => seq > before);
  const events = assertPresent(
    await store.reads.events(session.owner, session.id, { after: toSeq(before), limit }),
  );
  assertSameJson(
    seqsOf(events.events),
    newer.slice(0, limit).map(({ seq }) => seq),
  );
  assertSameJson(events.more, newer.length > limit);
}
