import type { Commit } from "../src/ports/commit.ts";
import type { Store } from "../src/ports/store.ts";
import {
  aCommit,
  aDelta,
  aHolder,
  aNotice,
  aRunId,
  toSeq,
  type SessionRef,
} from "@holdfast/testing/fixtures/factories";
import { openTestSession, assertPresent, textsOf } from "@holdfast/testing/fixtures/open-session";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { createDatabase } from "@holdfast/testing/postgres/create-database";
import {
  openStoreAt,
  type StoreAddress,
  postgresDatabase,
  sqliteDatabase,
  type TestDatabase,
} from "@holdfast/testing/contracts/test-database";
import { type Peer, startPeers } from "@holdfast/testing/contracts/peer";
import { holdOptions, untilLockWaiters } from "@holdfast/testing/contracts/held-writes";

const databases = [sqliteDatabase, postgresDatabase(createDatabase)];

let sleeper: Peer;
let successor: Peer;
beforeAll(async () => {
  const [one, two] = await startPeers("process", 2);
  [sleeper, successor] = [assertPresent(one), assertPresent(two)];
});
afterAll(async () => {
  await Promise.all([sleeper, successor].map((peer) => peer.end()));
});

describe.each(databases)("the single writer on $name", ({ create }) => {
  let database: TestDatabase;
  let store: Store;
  let gate: string | undefined;
  beforeAll(async () => {
    database = await create();
    const { address } = database;
    store = await openStoreAt(address);
    gate = address.kind === "sqlite" ? `${address.file}.gate` : undefined;
    await sleeper.open(address, holdOptions(address));
    await successor.open(address);
  });
  afterAll(async () => {
    await store.close();
    await Promise.all([sleeper, successor].map((peer) => peer.close()));
    await database.drop();
  });

  /** A run that the sleeper has claimed briefly and that has started to answer. */
  async function aRunOfTheSleeper() {
    const { owner, session } = await openTestSession(store);
    const runId = aRunId();
    const request = { kind: "run", session, ttlMs: 100 } as const;
    const lease = await sleeper.store.leases.acquire({ ...request, holder: aHolder() });
    if (lease.status !== "acquired") throw new Error("the sleeper must be first");
    const say = (text: string, fence = lease.lease.fence): Commit =>
      aCommit({ owner, session }, [aDelta(runId, text)], { under: { lease: "run", fence } });
    await sleeper.store.commit(say("before"));
    const takeOver = async () => {
      const deadline = performance.now() + 20_000;
      for (;;) {
        const taken = await successor.store.leases.acquire({ ...request, holder: aHolder() });
        if (taken.status === "acquired") return taken.lease.fence;
        if (performance.now() > deadline) throw new Error(`not taken over: ${taken.status}`);
        await wait(10);
      }
    };
    const { lease: mine } = lease;
    return { owner, session, mine, say, takeOver };
  }

  async function logOf({ owner, session }: SessionRef) {
    const page = await store.reads.events(owner, session, { after: toSeq(0), limit: 100 });
    return textsOf(assertPresent(page).events);
  }

  test("[P3] a paused runner that wakes up late is refused, whatever it tries", async () => {
    const run = await aRunOfTheSleeper();
    sleeper.signal("SIGSTOP");
    try {
      const late = sleeper.store.commit(run.say("late"));
      const fence = await run.takeOver();
      expect(fence).toBeGreaterThan(run.mine.fence);
      const taken = await successor.store.commit(run.say("taken over", fence));
      expect(taken.status).toBe("committed");
      sleeper.signal("SIGCONT");
      expect(await late).toMatchObject({ status: "refused", code: "fenced" });
      expect(await sleeper.store.commit(run.say("again"))).toMatchObject({ code: "fenced" });
      const notice = aCommit(run, [aNotice("the end")], {
        under: { lease: "run", fence: run.mine.fence },
      });
      expect(await sleeper.store.commit(notice)).toMatchObject({ code: "fenced" });
      const renewed = await sleeper.store.leases.renew([run.mine], 30_000);
      expect(renewed).toMatchObject({ status: "renewed", lost: [{ fence: run.mine.fence }] });
      expect(await sleeper.store.leases.release(run.mine)).toEqual({ status: "not_held" });
      expect(await successor.store.commit(run.say("and on", fence))).toMatchObject({
        status: "committed",
      });
    } finally {
      sleeper.signal("SIGCONT");
    }
    expect(await logOf(run)).toEqual(["session.created", "before", "taken over", "and on"]);
  });

  test("[P3] a write in flight during a take-over is refused inside its transaction", async () => {
    const run = await aRunOfTheSleeper();
    const hold = gate === undefined ? holdByLock : holdBeforeTransaction;
    const { late, fence } = await hold(run);
    expect(await late).toMatchObject({ status: "refused", code: "fenced" });
    expect(await successor.store.commit(run.say("taken over", await fence))).toMatchObject({
      status: "committed",
    });
    expect(await logOf(run)).toEqual(["session.created", "before", "taken over"]);
  });

  type SleepersRun = Awaited<ReturnType<typeof aRunOfTheSleeper>>;

  /** SQLite: the writer pauses right before BEGIN, when everything outside the transaction is prepared. */
  async function holdBeforeTransaction(run: SleepersRun) {
    const file = assertPresent(gate);
    writeFileSync(file, "");
    const late = sleeper.store.commit(run.say("late"));
    while (!existsSync(`${file}.reached`)) await wait(2);
    try {
      return { late, fence: Promise.resolve(await run.takeOver()) };
    } finally {
      rmSync(`${file}.reached`);
    }
  }

  /** PostgreSQL: the transaction has started and waits for the session's row behind the take-over. */
  async function holdByLock(run: SleepersRun) {
    const { kind, session } = run.mine;
    while ((await store.leases.read(kind, session)) !== null) await wait(10);
    const client = new Client({ connectionString: addressOf(database.address) });
    await client.connect();
    try {
      await client.query("BEGIN");
      await client.query(`SELECT 1 FROM heads WHERE session_id = '${session}' FOR UPDATE`);
      const fence = run.takeOver();
      await untilLockWaiters(client, 1);
      const late = sleeper.store.commit(run.say("late"));
      await untilLockWaiters(client, 2);
      await client.query("ROLLBACK");
      return { late, fence };
    } finally {
      await client.end();
    }
  }
});

function addressOf(address: StoreAddress): string {
  if (address.kind !== "postgres") throw new Error("only PostgreSQL has an address");
  return address.url;
}
