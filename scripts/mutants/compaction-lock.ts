import type { Mutant } from "./mutant.ts";

const lock = "packages/store/src/contracts/compaction-lock.pg.test.ts";
const leases = "packages/store/src/contracts/leases.pg.test.ts";
const older = "packages/store/src/contracts/older-databases.pg.test.ts";
const ofLock = "packages/engine/src/context/compaction-lock.ts";
const ofLease = "packages/engine/src/log/decide-lease.ts";
const ofIdentity = "packages/store/src/identity/index.ts";
const ofMigrations = (kind: "sqlite" | "postgres") =>
  `packages/store/src/${kind}/migrations/0002-leases.sql`;

/** Faults of the lock itself, which the lines S0.1 to S0.21 must notice. */
export const lockMutants: readonly Mutant[] = [
  {
    line: "S0.1",
    fault: "who has acquired it is stored under another name",
    file: "packages/store/src/sqlite/derived-rows.ts",
    from: "holder: (lease) => JSON.stringify(lease.holder),",
    to: "holder: (lease) => JSON.stringify({ ...lease.holder, agent: lease.kind }),",
    tests: lock,
  },
  {
    line: "S0.2",
    fault: "whoever is of the same process is taken for the holder",
    file: ofLease,
    from: "    a.nonce === b.nonce &&\n",
    to: "",
    also: [{ file: ofLease, from: "    a.agent === b.agent &&\n", to: "" }],
    tests: lock,
  },
  {
    line: "S0.3",
    fault: "the fence begins anew with each lease",
    file: ofLease,
    from: "(lastFence + 1) as Fence",
    to: "((current?.fence ?? 0) + 1) as Fence",
    tests: lock,
  },
  {
    line: "S0.4",
    fault: "anybody may release",
    file: ofLock,
    from: "if (lease === null || !sameHolder(lease.holder, holder)) return;",
    to: "if (lease === null) return;",
    tests: lock,
  },
  {
    line: "S0.5",
    fault: "a release of what is not held fails",
    file: ofLock,
    from: "if (lease === null || !sameHolder(lease.holder, holder)) return;",
    to: "if (!sameHolder(lease!.holder, holder)) return;",
    tests: lock,
  },
  {
    line: "S0.6",
    fault: "a release takes the locks of all sessions along",
    file: "packages/store/src/sqlite/write/write-lease.ts",
    from: '.sql("DELETE FROM leases WHERE session_key = ? AND kind = ?")\n    .run(session.key, ref.kind);',
    to: '.sql("DELETE FROM leases WHERE kind = ?")\n    .run(ref.kind);',
    tests: lock,
  },
  {
    line: "S0.7",
    fault: "a lock that has run out is still its holder's",
    file: ofLease,
    from: "current === null || current.expiresAt <= now || current.fence === replacing",
    to: "current === null || current.fence === replacing",
    tests: lock,
  },
  {
    line: "S0.8",
    fault: "a lock is free as soon as half of its time is over",
    file: ofLease,
    from: "current.expiresAt <= now ||",
    to: "current.expiresAt - ttlMs / 2 <= now ||",
    tests: lock,
  },
  {
    line: "S0.9",
    fault: "an empty id is a session like every other, and the store is asked for it",
    file: ofLock,
    from: '      if (session === "") return null;\n      const askedAt',
    to: "      const askedAt",
    tests: "packages/engine/src/context/compaction-lock.test.ts",
  },
  {
    line: "S0.10",
    fault:
      "on SQLite the lock is looked at in one transaction and taken in another, a moment later",
    file: "packages/store/src/sqlite/write/write-lease.ts",
    from: "  const decision = decideLease(",
    to: `  connection.exec("COMMIT");
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
  for (;;) {
    try {
      connection.exec("BEGIN IMMEDIATE");
      break;
    } catch {}
  }
  const decision = decideLease(`,
    tests: leases,
  },
  {
    line: "S0.10",
    fault: "on PostgreSQL the row is not locked before it is looked at",
    file: "packages/store/src/postgres/write/load.ts",
    from: "ORDER BY session_id FOR UPDATE`",
    to: "ORDER BY session_id`",
    tests: leases,
  },
  {
    line: "S0.13",
    fault: "diagnostics do not tell the thread",
    file: ofLease,
    from: ", thread ${thread} (",
    to: " (",
    tests: lock,
  },
  {
    line: "S0.13",
    fault: "every thread calls itself the first",
    file: ofIdentity,
    from: "return { ...own, thread, agent,",
    to: "return { ...own, thread: 0, agent,",
    tests: leases,
  },
  {
    line: "S0.14",
    fault: "the time to live is one minute",
    file: ofLock,
    from: "const fiveMinutes = 5 * 60 * 1000;",
    to: "const fiveMinutes = 60 * 1000;",
    tests: lock,
  },
  {
    line: "S0.14",
    fault: "the time to live cannot be set",
    file: ofLock,
    from: '{ kind: "compaction", session, holder, ttlMs };',
    to: '{ kind: "compaction", session, holder, ttlMs: fiveMinutes };',
    tests: lock,
  },
  {
    line: "S0.15",
    fault: "on SQLite the migration begins the log of each session anew",
    file: ofMigrations("sqlite"),
    from: "-- The greatest fence ever given;",
    to: "DELETE FROM events WHERE seq > 2;\n-- The greatest fence ever given;",
    tests: older,
  },
  {
    line: "S0.15",
    fault: "on PostgreSQL the migration resets what sessions count",
    file: ofMigrations("postgres"),
    from: "-- The greatest fence ever given;",
    to: "UPDATE sessions SET revision = 0;\n-- The greatest fence ever given;",
    tests: older,
  },
  {
    line: "S0.16",
    fault: "any holder's lease lets a commit through, whatever its fence",
    file: "packages/engine/src/log/decide.ts",
    from: "lease.kind === under.lease && lease.fence === under.fence",
    to: "lease.kind === under.lease",
    tests: leases,
  },
  {
    line: "S0.17",
    fault: "the heartbeat does not know that it has more time after a renewal",
    file: "packages/engine/src/context/compaction-lock-heartbeat.ts",
    from: "      safeUntil = askedAt + ttlMs;\n",
    to: "",
    tests: leases,
  },
  {
    line: "S0.17",
    fault: "on SQLite a renewal is answered and gives no more time",
    file: "packages/store/src/sqlite/write/write-lease.ts",
    from: "expiresAt: Math.max(lease.expiresAt, expiresAt)",
    to: "expiresAt: lease.expiresAt",
    tests: leases,
  },
  {
    line: "S0.17",
    fault: "on PostgreSQL a renewal is answered and gives no more time",
    file: "packages/store/src/postgres/write/leases.ts",
    from: "expiresAt: Math.max(lease.expiresAt, until)",
    to: "expiresAt: lease.expiresAt",
    tests: leases,
  },
  {
    line: "S0.18",
    fault: "acquiring again answers with the lease as it was",
    file: ofLease,
    from: "expiresAt: Math.max(current.expiresAt, expiresAt)",
    to: "expiresAt: current.expiresAt",
    tests: lock,
  },
  {
    line: "S0.18",
    fault: "acquiring again takes a new fence, and shuts the holder itself out",
    file: ofLease,
    from: "lease: { ...current, expiresAt: Math.max(",
    to: "lease: { ...current, fence: (lastFence + 1) as Fence, expiresAt: Math.max(",
    tests: lock,
  },
  {
    line: "S0.21",
    fault: "a proof of death is not acted upon",
    file: ofLock,
    from: "return isStale && replacing === undefined",
    to: "return isStale && replacing !== undefined",
    tests: leases,
  },
  {
    line: "S0.21",
    fault: "who cannot be proven alive is taken for dead",
    file: ofLock,
    from: 'liveness?.isDead(result.by.holder) === "dead"',
    to: 'liveness?.isDead(result.by.holder) !== "alive"',
    tests: leases,
  },
  {
    line: "S0.21",
    fault: "a pid says the same in every container",
    file: ofIdentity,
    from: " || holder.pidNamespace !== system.pidNamespace()",
    to: "",
    tests: leases,
  },
  {
    line: "S0.21",
    fault: "a pid says the same on every host",
    file: ofIdentity,
    from: '      if (holder.host !== system.host()) return "unknown";\n',
    to: "",
    tests: leases,
  },
  {
    line: "S0.21",
    fault: "a pid says the same after a restart of the machine",
    file: ofIdentity,
    from: "holder.boot !== system.boot() || ",
    to: "",
    tests: leases,
  },
  {
    line: "S0.21",
    fault: "an earlier process with the same pid counts as the holder",
    file: ofLease,
    from: "    a.nonce === b.nonce &&\n",
    to: "",
    tests: leases,
  },
];
