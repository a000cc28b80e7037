import type { Mutant } from "../mutant.ts";
import { anyNonce } from "./compaction-lock.ts";

const compaction = "compaction.pg.test.ts";
const history = "history.pg.test.ts";

/** Faults of those who take the lock, or have to respect it. */
export const compactionMutants: readonly Mutant[] = [
  {
    line: "S0.11",
    fault: "agents of one process are one holder",
    ...anyNonce,
    tests: compaction,
  },
  {
    line: "S0.11",
    fault: "who does not get the lock compacts without it",
    in: "engine/compactSession",
    replace: `if ($lock === null)
      return $unlessGone($deps, $target, { status: "deferred", why: "held" });`,
    by: `if ($lock === null) {
      const [row, entries] = [$before, await $readContext($reads, $owner, $session)];
      if (entries === null) return { status: "refused", code: "session_not_found" };
      const fence = (await $deps.log.store.leases.read("compaction", $session))?.fence;
      if (fence === undefined) return { status: "deferred", why: "held" };
      const lock = { session: $session, fence, safeUntil: Infinity };
      return $compactUnder($deps, $target, { lock, row, entries });
    }`,
    given: [
      'if ($before === null) return { status: "refused", code: "session_not_found" };',
      "const $entries = await $readContext($reads, $owner, $session);",
      "await $compactUnder($deps, $target, { $$hold })",
    ],
    tests: compaction,
  },
  {
    line: "S0.12",
    fault: "the host keeps a lock of its own, which nobody else sees",
    in: "engine/createCompactor",
    replace: "lock: createCompactionLock($$args)",
    by: `lock: {
      ...createCompactionLock($$args),
      acquire: async (session: SessionId | "") =>
        session === "" ? null : { session, fence: 1 as never, safeUntil: Infinity },
    }`,
    tests: "api/context.test.ts",
  },
  {
    line: "S0.19",
    fault: "the summary covers whatever stands in the log when it is committed",
    in: "engine/compactUnderLock",
    replace: "covers: $plan.covers",
    by: `covers: {
      from: $plan.covers.from,
      to: (await $deps.log.store.reads.session($target.owner, $target.session))?.head
        ?? $plan.covers.to,
    }`,
    given: ["const $plan = planCompaction($entries, $deps.$count, $target.$sizes);"],
    tests: compaction,
  },
  {
    line: "S0.19",
    fault: "a message that comes meanwhile makes the compaction fail",
    in: "engine/compactUnderLock",
    replace: "expect: { epoch: $row.epoch }",
    by: "expect: { epoch: $row.epoch, version: $row.version }",
    tests: compaction,
  },
  {
    line: "S0.20",
    fault: "cuts do not look for the lock",
    in: "engine/checkExpectations",
    drop: "$expect.idle === undefined",
    tests: history,
  },
  {
    line: "S0.20",
    fault: "truncate alone does not look for the lock",
    in: "engine/commitView",
    replace: "{ head: $head, idle: true }",
    by: '{ head: $head, ...(events[0]?.data["reason"] !== "truncate" && { idle: true as const }) }',
    tests: history,
  },
  {
    line: "S0.20",
    fault: "a delete does not look for the lock",
    in: "engine/commitParts",
    drop: "uncompacted: true",
    tests: history,
  },
  {
    line: "S0.20",
    fault: "on SQLite a delete leaves the lock's row behind",
    in: "store/writePlan",
    text: "DELETE FROM leases WHERE session_key = ?",
    by: "$& AND kind <> 'compaction'",
    tests: history,
  },
  {
    line: "S0.20",
    fault: "on PostgreSQL a delete leaves the lock's row behind",
    in: "store/WorkingCopy.apply",
    replace: "for (const $kind of $leases.keys()) this.$dropLease($kind, $id);",
    by: 'this.$dropLease("run", $id);',
    tests: history,
  },
  {
    line: "S0.20",
    fault: "a summary of what was cut away is kept",
    in: "engine/CommitFold",
    replace: 'refuse("covers_cut", $words)',
    by: "undefined",
    also: [
      {
        in: "engine/compactUnderLock",
        drop: 'under: { lease: "compaction", fence: $lock.fence }',
      },
    ],
    tests: compaction,
  },
  {
    line: "S0.22",
    fault: "who comes after the winner does not look at the epoch again",
    in: "engine/compactSession",
    drop: `if ($row.epoch !== ($target.epoch ?? $before.epoch))
      return { status: "deferred", why: "newer" };`,
    tests: compaction,
  },
];
