import type { Edit, Mutant } from "../mutant.ts";

const lock = "compaction-lock.pg.test.ts";
const leases = "leases.pg.test.ts";
const older = "older-databases.pg.test.ts";

/** Processes that were given the same pid, and agents of one process, are one holder. */
export const anyNonce: Edit = { in: "engine/sameHolder", drop: "$a.nonce === $b.nonce" };

/** Faults of the lock itself, which the lines S0.1 to S0.21 must notice. */
export const lockMutants: readonly Mutant[] = [
  {
    line: "S0.1",
    fault: "who has acquired it is stored under another name",
    in: "store/leases",
    replace: 'holder: json("holder", $schema)',
    by: 'holder: json("holder", $schema.transform((holder) => ({ ...holder, agent: "another" })))',
    tests: lock,
  },
  {
    line: "S0.2",
    fault: "whoever is of the same process is taken for the holder",
    ...anyNonce,
    also: [{ in: "engine/sameHolder", drop: "$a.agent === $b.agent" }],
    tests: lock,
  },
  {
    line: "S0.3",
    fault: "the fence begins anew with each lease",
    in: "engine/decideLease",
    replace: "$lastFence + 1",
    by: "($current?.fence ?? 0) + 1",
    given: ["const $free = $current === null || $expired || $replaced;"],
    tests: lock,
  },
  {
    line: "S0.4",
    fault: "anybody may release",
    in: "engine/createCompactionLock.release",
    drop: "!$sameHolder($lease.$by, $holder)",
    tests: lock,
  },
  {
    line: "S0.5",
    fault: "a release of what is not held fails",
    in: "engine/createCompactionLock.release",
    drop: "$lease === null",
    tests: lock,
  },
  {
    line: "S0.6",
    fault: "a release takes the locks of all sessions along",
    in: "store/releaseLease",
    replace: `$connection.$sql("DELETE FROM leases WHERE session_key = ? AND kind = ?")
      .run($session.$key, $ref.$kind)`,
    by: '$connection.$sql("DELETE FROM leases WHERE kind = ?").run($ref.$kind)',
    tests: lock,
  },
  {
    line: "S0.7",
    fault: "a lock that has run out is still its holder's",
    in: "engine/decideLease",
    drop: "$current.$expiresAt <= $now",
    tests: lock,
  },
  {
    line: "S0.8",
    fault: "a lock is free as soon as half of its time is over",
    in: "engine/decideLease",
    replace: "$current.$expiresAt <= $now",
    by: "$current.$expiresAt - $ttlMs / 2 <= $now",
    given: ["const $until = $now + $ttlMs;"],
    tests: lock,
  },
  {
    line: "S0.9",
    fault: "an empty id is a session like every other, and the store is asked for it",
    in: "engine/createCompactionLock.acquire",
    drop: 'if ($session === "") return null;',
    tests: "compaction-lock.test.ts",
  },
  {
    line: "S0.10",
    fault:
      "on SQLite the lock is looked at in one transaction and taken in another, a moment later",
    in: "store/acquireLease",
    replace: "const $decision = decideLease($current, $lastFence, $request, $now);",
    by: `$connection.exec("COMMIT");
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
      for (;;) {
        try {
          $connection.exec("BEGIN IMMEDIATE");
          break;
        } catch {}
      }
      $&`,
    given: ["const $session = $cache.get($connection, $request.session);"],
    tests: leases,
  },
  {
    line: "S0.10",
    fault: "on PostgreSQL the row is not locked before it is looked at",
    in: "store/lockFreeHeads",
    text: "ORDER BY session_id FOR UPDATE SKIP LOCKED",
    by: "ORDER BY session_id",
    tests: leases,
  },
  {
    line: "S0.13",
    fault: "diagnostics do not tell the thread",
    in: "engine/describeHolder",
    replace: "`${$agent} on ${$host}, process ${$pid}, thread ${$thread} (${$nonce})`",
    by: "`${$agent} on ${$host}, process ${$pid} (${$nonce})`",
    tests: lock,
  },
  {
    line: "S0.13",
    fault: "every thread calls itself the first",
    in: "store/currentHolder",
    replace: "{ ...$own, thread: $thread, $$rest }",
    by: "{ ...$own, thread: 0, $$rest }",
    tests: leases,
  },
  {
    line: "S0.14",
    fault: "the time to live is one minute",
    in: "engine/compaction-lock.ts/defaultTtlMs",
    replace: "5 * 60 * 1000",
    by: "60 * 1000",
    tests: lock,
  },
  {
    line: "S0.14",
    fault: "the time to live cannot be set",
    in: "engine/createCompactionLock",
    replace: '{ kind: "compaction", $session, $holder, ttlMs: $ttlMs }',
    by: '{ kind: "compaction", $session, $holder, ttlMs: 5 * 60 * 1000 }',
    tests: lock,
  },
  {
    line: "S0.15",
    fault: "on SQLite the migration begins the log of each session anew",
    in: "store/0002-leases.sql",
    text: "CREATE TABLE fences ( session_key",
    by: "DELETE FROM events WHERE seq > 2;\n$&",
    tests: older,
  },
  {
    line: "S0.15",
    fault: "on PostgreSQL the migration resets what sessions count",
    in: "store/0002-leases.sql",
    text: "CREATE TABLE fences ( session_id",
    by: "UPDATE sessions SET revision = 0;\n$&",
    tests: older,
  },
  {
    line: "S0.16",
    fault: "any holder's lease lets a commit through, whatever its fence",
    in: "engine/holdsLease",
    drop: "$lease.fence === $under.fence",
    tests: leases,
  },
  {
    line: "S0.17",
    fault: "the heartbeat does not know that it has more time after a renewal",
    in: "engine/renewUntilStopped",
    drop: "$safeUntil = $askedAt + $ttlMs;",
    tests: leases,
  },
  {
    line: "S0.17",
    fault: "on SQLite a renewal is answered and gives no more time",
    in: "store/renewLeases",
    replace: "Math.max($before, $after)",
    by: "$before",
    tests: leases,
  },
  {
    line: "S0.17",
    fault: "on PostgreSQL a renewal is answered and gives no more time",
    in: "store/extendLeases",
    text: "greatest(",
    by: "least(",
    tests: leases,
  },
  {
    line: "S0.18",
    fault: "acquiring again answers with the lease as it was",
    in: "engine/decideLease",
    replace: "Math.max($before, $after)",
    by: "$before",
    tests: lock,
  },
  {
    line: "S0.18",
    fault: "acquiring again takes a new fence, and shuts the holder itself out",
    in: "engine/decideLease",
    replace: "{ ...$current, $expires }",
    by: "{ ...$current, fence: ($lastFence + 1) as Fence, $expires }",
    given: ["$lastFence + 1"],
    tests: lock,
  },
  {
    line: "S0.21",
    fault: "a proof of death is not acted upon",
    in: "engine/createCompactionLock",
    replace: "$replacing === undefined",
    by: "$replacing !== undefined",
    tests: leases,
  },
  {
    line: "S0.21",
    fault: "who cannot be proven alive is taken for dead",
    in: "engine/createCompactionLock",
    replace: '$liveness?.$isDead($holder) === "dead"',
    by: '$liveness?.$isDead($holder) !== "alive"',
    tests: leases,
  },
  {
    line: "S0.21",
    fault: "a pid says the same in every container",
    in: "store/createLiveness",
    drop: "$holder.pidNamespace !== $system.pidNamespace()",
    tests: leases,
  },
  {
    line: "S0.21",
    fault: "a pid says the same on every host",
    in: "store/createLiveness",
    drop: 'if ($holder.host !== $system.host()) return "unknown";',
    tests: leases,
  },
  {
    line: "S0.21",
    fault: "a pid says the same after a restart of the machine",
    in: "store/createLiveness",
    drop: "$holder.boot !== $system.boot()",
    tests: leases,
  },
  {
    line: "S0.21",
    fault: "an earlier process with the same pid counts as the holder",
    ...anyNonce,
    tests: leases,
  },
];
