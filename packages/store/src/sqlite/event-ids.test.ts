import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Commit } from "@holdfast/engine";
import { createIds, type EventId, ids, idFromBytes } from "@holdfast/protocol";
import { aCommit, aSession, aUserMessage } from "@holdfast/testing/fixtures/factories";
import * as fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";

import { connect, type Connection } from "./connection.ts";
import { migrate } from "./migrate.ts";
import { createQueries } from "./read/queries.ts";
import { GroupWriter, type Outcome } from "./write/group-writer.ts";

async function openFile(): Promise<{ connection: Connection; openWriter: () => GroupWriter }> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-ids-"));
  const file = join(folder, "store.db");
  const connection = connect({ file, access: "write" });
  await migrate(connection);
  onTestFinished(() => {
    connection.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const open = () => connect({ file, access: "write" });
  const openWriter = () => new GroupWriter({ open, busyMs: 1_000, checkpointPages: 1_000 });
  return { connection, openWriter };
}

function write(writer: GroupWriter, request: Commit, now = Date.now()): Outcome {
  const [outcome] = writer.run([{ name: "commit", request }], () => now);
  if (outcome === undefined) throw new Error("A write without an outcome.");
  return outcome;
}

/** How an event's id relates to those before it in the log. */
type IdKind = "new" | "older" | "derived" | "future";

function idOf(kind: IdKind): EventId {
  if (kind === "derived") return idFromBytes("event", crypto.getRandomValues(new Uint8Array(16)));
  if (kind === "new") return ids.make("event");
  const distance = kind === "older" ? -5_000 : 60_000;
  return createIds(() => Date.now() + distance).make("event");
}

const step = fc.record({
  ids: fc.array(fc.constantFrom<IdKind>("new", "new", "new", "older", "derived", "future"), {
    minLength: 1,
    maxLength: 4,
  }),
  touch: fc.constantFrom("normal", "normal", "quiet"),
  /** Another writer goes on, which knows only what is stored. */
  isReopened: fc.boolean(),
  /** The rows so far are as an older version wrote them. */
  isUpgraded: fc.boolean(),
});

test("[P1] every event is found by its id, and no commit is written twice, whatever the order of the ids", async () => {
  const { connection, openWriter } = await openFile();
  let writer = openWriter();
  const queries = createQueries(connection);
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 40 }), (steps) => {
      const chat = aSession();
      const commits: Commit[] = [chat];
      write(writer, chat);
      for (const { ids: kinds, touch, isReopened, isUpgraded } of steps) {
        const events = kinds.map((kind) => ({ ...aUserMessage(), id: idOf(kind) }));
        const commit = aCommit(chat, events, { touch });
        expect(write(writer, commit)).toMatchObject({ status: "committed" });
        commits.push(commit);
        if (isUpgraded) connection.exec("UPDATE events SET unordered = NULL");
        if (!isReopened && !isUpgraded) continue;
        writer.close();
        writer = openWriter();
      }
      for (const commit of commits)
        expect(write(writer, commit)).toMatchObject({ status: "committed", repeated: true });
      const written = commits.flatMap(({ events }) => events.map(({ id }) => id));
      const found = written.map((id) =>
        queries.event(chat.owner, chat.session, id).map(([, each]) => each),
      );
      expect(found).toEqual(written.map((id) => [id]));
      expect(queries.event(chat.owner, chat.session, ids.make("event"))).toEqual([]);
      expect(queries.event(chat.owner, chat.session, idOf("older"))).toEqual([]);
    }),
    { numRuns: 60 },
  );
  writer.close();
});

const ahead = 60_000;

test.each([
  ["an event with an id from the future", "normal", 0],
  ["a quiet event from a clock that was ahead", "quiet", ahead],
] as const)("[P1] %s is found after many events that are not in order", async (_, touch, clock) => {
  const { connection, openWriter } = await openFile();
  const chat = aSession();
  const [first, last] = [openWriter(), openWriter()];
  write(first, chat);
  const early = aCommit(chat, [{ ...aUserMessage(), id: idOf("future") }], { touch });
  write(first, early, Date.now() + clock + 1);
  write(
    first,
    aCommit(
      chat,
      Array.from({ length: 100 }, () => ({ ...aUserMessage(), id: idOf("older") })),
    ),
  );
  // Its id is greater than the time of the last activity, not than the first id.
  const late = { ...aUserMessage(), id: createIds(() => Date.now() + 2).make("event") };
  write(last, aCommit(chat, [late]), Date.now() + 2);
  expect(write(last, early)).toMatchObject({ status: "committed", repeated: true });
  expect(connection.sql("SELECT count(*) AS n FROM events").get()).toEqual({ n: 103 });
  first.close();
  last.close();
});

test("a commit with an id that its log already has is refused whole", async () => {
  const { connection, openWriter } = await openFile();
  const writer = openWriter();
  const chat = aSession();
  const [said, more, twin] = [aUserMessage(), aUserMessage(), aUserMessage()];
  write(writer, chat);
  write(writer, aCommit(chat, [said]));
  for (const events of [
    [more, { ...aUserMessage(), id: said.id }],
    [twin, { ...aUserMessage(), id: twin.id }],
  ])
    expect(write(writer, aCommit(chat, events))).toMatchObject({ status: "failed" });
  expect(connection.sql("SELECT count(*) AS n FROM events").get()).toEqual({ n: 2 });
  writer.close();
});

test("an event at the beginning of a long log is found with few reads", async () => {
  const { connection, openWriter } = await openFile();
  const writer = openWriter();
  const chat = aSession();
  write(writer, chat);
  const [first, ...others] = Array.from({ length: 2_000 }, () => aUserMessage());
  if (first === undefined) throw new Error("No events.");
  write(writer, aCommit(chat, [first, ...others]));
  writer.close();
  let reads = 0;
  const sql: Connection["sql"] = (text) => {
    reads += 1;
    return connection.sql(text);
  };
  const queries = createQueries({ ...connection, sql });
  expect(queries.event(chat.owner, chat.session, first.id)).toHaveLength(1);
  expect(reads).toBeLessThan(20);
});
