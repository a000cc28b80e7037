import { type FindingCode, fsckExit } from "../src/fsck/findings.ts";
import { type FsckMode } from "../src/fsck/check-session.ts";
import { runFsck } from "../src/fsck/fsck.ts";
import { type Store } from "../src/ports/store.ts";
import { aLane, anEvent, aRange, toSeq, aUserMessage } from "@holdfast/testing/fixtures/factories";
import { openFullSession } from "@holdfast/testing/fixtures/damaged-audit";
import { openTestSession, type TestSession } from "@holdfast/testing/fixtures/open-session";
import type { LaneKey } from "@holdfast/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { createDatabase } from "@holdfast/testing/postgres/create-database";
import {
  openStoreAt,
  type StoreAddress,
  postgresDatabase,
  sqliteDatabase,
  type TestDatabase,
} from "@holdfast/testing/contracts/test-database";

const databases = [sqliteDatabase, postgresDatabase(createDatabase)];

/** A session of its own, and how to find its rows. */
interface Victim {
  readonly chat: TestSession;
  readonly lane: LaneKey;
  /** A condition for the session's rows. */
  readonly its: string;
  readonly kind: StoreAddress["kind"];
}

interface Damage {
  readonly what: string;
  readonly sql: (victim: Victim) => string;
  readonly found: readonly `${string} ${FindingCode}`[];
}

const damagedRows: readonly Damage[] = [
  {
    what: "a title that nobody set",
    sql: ({ chat }) => `UPDATE sessions SET title = 'Other' WHERE id = '${chat.session}'`,
    found: ["sessions row_differs"],
  },
  {
    what: "a run in another state",
    sql: ({ its }) => `UPDATE runs SET state = 'failed' WHERE ${its}`,
    found: ["runs row_differs"],
  },
  {
    what: "a missing input",
    sql: ({ its }) => `DELETE FROM inputs WHERE ${its}`,
    found: ["inputs row_missing"],
  },
  {
    what: "a missing cost",
    sql: ({ chat }) => `DELETE FROM usage WHERE session_id = '${chat.session}'`,
    found: ["usage row_missing"],
  },
  {
    what: "a cost that never occurred",
    sql: ({ chat }) => `INSERT INTO usage
      SELECT session_id, 1, run_id, owner_id, at, model, input, output, cache_read, cache_write, cost_micros
        FROM usage WHERE session_id = '${chat.session}'`,
    found: ["usage row_extra"],
  },
  {
    what: "a missing lane",
    sql: ({ lane }) => `DELETE FROM lanes WHERE lane = '${lane}'`,
    found: ["lanes lane_differs"],
  },
  {
    what: "miscounted references to a blob",
    sql: ({ chat }) => `UPDATE blobs SET refs = refs + 1 WHERE owner_id = '${chat.owner}'`,
    found: ["blobs blob_refs_differ"],
  },
];

const beyondRepair: readonly Damage[] = [
  {
    what: "a head below the log",
    sql: ({ its, kind }) =>
      `UPDATE ${kind === "sqlite" ? "live" : "heads"} SET head = head - 1 WHERE ${its}`,
    found: ["sessions head_differs"],
  },
  {
    what: "a missing event",
    sql: ({ its }) => `DELETE FROM events WHERE ${its} AND type = 'future.thing'`,
    found: ["events number_missing"],
  },
  {
    what: "a changed payload",
    sql: ({ its }) =>
      `UPDATE events SET data = '{"any":"other"}' WHERE ${its} AND type = 'future.thing'`,
    found: ["events event_unreadable"],
  },
  {
    what: "an event that its own schema refuses",
    sql: ({ its }) =>
      `UPDATE events SET type = 'usage.recorded' WHERE ${its} AND type = 'future.thing'`,
    found: ["events event_invalid"],
  },
  {
    what: "a seq issued twice",
    sql: ({ its }) =>
      `UPDATE deltas SET seq = 2 WHERE ${its} AND seq = (SELECT max(seq) FROM deltas WHERE ${its})`,
    found: ["events number_missing", "events number_repeated"],
  },
  {
    what: "a blob whose bytes have changed",
    sql: ({ chat, kind }) =>
      `UPDATE blobs SET bytes = ${kind === "sqlite" ? "x'00'" : "'\\x00'"} WHERE owner_id = '${chat.owner}'`,
    found: ["blobs blob_damaged"],
  },
  {
    what: "a lease that never ends",
    sql: ({ its }) => `UPDATE leases SET expires_at = 9000000000000000 WHERE ${its}`,
    found: ["leases lease_unsound"],
  },
  {
    what: "a row of a missing session",
    sql: ({ its, kind }) =>
      `UPDATE fences SET ${kind === "sqlite" ? "session_key = -1" : "session_id = 'ses_none'"} WHERE ${its}`,
    found: ["fences row_orphaned"],
  },
];

describe.each(databases)("fsck on $name", ({ name: kind, create }) => {
  let database: TestDatabase;
  let store: Store;
  beforeAll(async () => {
    database = await create();
    store = await openStoreAt(database.address);
  });
  afterAll(async () => {
    await store.close();
    await database.drop();
  });

  const check = async (mode: FsckMode = "check") =>
    runFsck(store.audit, { mode, now: await store.now() });

  const reported = new Set<string>();
  /** Findings that were not there before. */
  async function newlyFound(): Promise<readonly string[]> {
    const { found } = await check();
    const fresh = found.filter(({ code, key }) => !reported.has(`${code} ${key}`));
    for (const { code, key } of fresh) reported.add(`${code} ${key}`);
    return [...new Set(fresh.map(({ table, code }) => `${table} ${code}`))].toSorted();
  }

  async function aVictim(): Promise<Victim> {
    const lane = aLane();
    const { chat } = await openFullSession(store, lane);
    const its =
      kind === "sqlite"
        ? `session_key = (SELECT key FROM sessions WHERE id = '${chat.session}')`
        : `session_id = '${chat.session}'`;
    return { chat, lane, its, kind };
  }

  test("[P14] a store with every kind of data is sound, and all of it was checked", async () => {
    const { chat } = await aVictim();
    const branch = { sessionId: chat.session, seq: toSeq(3) };
    const left = await openTestSession(
      store,
      { origin: branch, ranges: [aRange(1, 3, chat.session)] },
      chat.owner,
    );
    await left.commit([aUserMessage("on its own")]);
    const gone = await openTestSession(store);
    await gone.commit([anEvent("session.trashed", {})]);
    expect(await store.purge(gone.owner, gone.session)).toMatchObject({ status: "purged" });

    const { found, exitCode, unproven, sessions, events } = await check();
    expect({ found, exitCode, unproven }).toEqual({ found: [], exitCode: 0, unproven: [] });
    const count = async (table: string) =>
      Number((await database.query(`SELECT count(*) AS n FROM ${table}`))[0]?.["n"]);
    expect(sessions).toBe(await count("sessions"));
    expect(events).toBe((await count("events")) + (await count("deltas")));
  });

  test.each(damagedRows)("[P14] $what: found, and derived again from the log", async (damage) => {
    await database.query(damage.sql(await aVictim()));
    expect(await newlyFound()).toEqual(damage.found);
    const rebuilt = await check("rebuild");
    expect(rebuilt).toMatchObject({ exitCode: fsckExit.repaired, findings: rebuilt.repaired });
    reported.clear();
  });

  test("[P14] the rebuilt rows equal the rows stored before", async () => {
    const { chat, its } = await aVictim();
    const before = await store.audit.derived(chat.session);
    await database.query(`DELETE FROM runs WHERE ${its}`);
    await database.query(
      `UPDATE sessions SET preview = '', message_count = 99 WHERE id = '${chat.session}'`,
    );
    await check("rebuild");
    expect(await store.audit.derived(chat.session)).toEqual(before);
    expect((await check()).found).toEqual([]);
  });

  test.each(beyondRepair)("[P14] $what: found, and left for a person to decide", async (damage) => {
    await database.query(damage.sql(await aVictim()));
    expect(await newlyFound()).toEqual(damage.found);
    expect((await check("rebuild")).exitCode).toBe(fsckExit.damaged);
  });
});
