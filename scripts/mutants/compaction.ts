import type { Mutant } from "./mutant.ts";

const compaction = "packages/store/src/contracts/compaction.pg.test.ts";
const history = "packages/store/src/contracts/history.pg.test.ts";
const ofCompact = "packages/engine/src/context/compact.ts";
const ofRefusals = "packages/engine/src/log/refusals.ts";

/** Faults of those who take the lock, or have to respect it. */
export const compactionMutants: readonly Mutant[] = [
  {
    line: "S0.11",
    fault: "agents of one process are one holder",
    file: "packages/engine/src/log/decide-lease.ts",
    from: "    a.nonce === b.nonce &&\n",
    to: "",
    tests: compaction,
  },
  {
    line: "S0.11",
    fault: "who does not get the lock compacts without it",
    file: ofCompact,
    from: 'if (lock === null) return unlessGone(deps, target, { status: "deferred", why: "held" });',
    to: `if (lock === null) {
    const [row, entries] = [before, await readContext(reads, owner, session)];
    if (entries === null) return { status: "refused", code: "session_not_found" };
    const fence = (await deps.log.store.leases.read("compaction", session))?.fence;
    if (fence === undefined) return { status: "deferred", why: "held" };
    return compactUnder(deps, target, { lock: { session, fence, safeUntil: Infinity }, row, entries });
  }`,
    tests: compaction,
  },
  {
    line: "S0.12",
    fault: "the host keeps a lock of its own, which nobody else sees",
    file: "packages/host/src/compaction.ts",
    from: "lock: createCompactionLock(log.store.leases, { liveness }),",
    to: `lock: {
      ...createCompactionLock(log.store.leases, { liveness }),
      acquire: async (session: SessionId | "") =>
        session === "" ? null : { session, fence: 1 as never, safeUntil: Infinity },
    },`,
    tests: "packages/host/src/api/context.test.ts",
  },
  {
    line: "S0.19",
    fault: "the summary covers whatever stands in the log when it is committed",
    file: ofCompact,
    from: "          covers: plan.covers,\n",
    to: `          covers: {
            from: plan.covers.from,
            to: (await deps.log.store.reads.session(target.owner, target.session))?.head ?? plan.covers.to,
          },\n`,
    tests: compaction,
  },
  {
    line: "S0.19",
    fault: "a message that comes meanwhile makes the compaction fail",
    file: ofCompact,
    from: "expect: { epoch: row.epoch },",
    to: "expect: { epoch: row.epoch, version: row.version },",
    tests: compaction,
  },
  {
    line: "S0.20",
    fault: "cuts do not look for the lock",
    file: ofRefusals,
    from: "if (expect.idle === undefined && expect.uncompacted === undefined) return undefined;",
    to: "if (expect.uncompacted === undefined) return undefined;",
    tests: history,
  },
  {
    line: "S0.20",
    fault: "truncate alone does not look for the lock",
    file: "packages/engine/src/history/cut.ts",
    from: "const expect = { head: expectedHead ?? row.head, idle: true } as const;",
    to: 'const expect = { head: expectedHead ?? row.head, ...(reason !== "truncate" && { idle: true as const }) };',
    tests: history,
  },
  {
    line: "S0.20",
    fault: "a delete does not look for the lock",
    file: "packages/engine/src/history/trash.ts",
    from: "expect: { head, uncompacted: true }",
    to: "expect: { head }",
    tests: history,
  },
  {
    line: "S0.20",
    fault: "on SQLite a delete leaves the lock's row behind",
    file: "packages/store/src/sqlite/write/write-commit.ts",
    from: 'connection.sql("DELETE FROM leases WHERE session_key = ?").run(key);',
    to: `connection.sql("DELETE FROM leases WHERE session_key = ? AND kind <> 'compaction'").run(key);`,
    tests: history,
  },
  {
    line: "S0.20",
    fault: "on PostgreSQL a delete leaves the lock's row behind",
    file: "packages/store/src/postgres/write/working-copy.ts",
    from: "if (plan.dropsLeases) for (const kind of state.leases.keys()) this.dropLease(kind, session.id);",
    to: 'if (plan.dropsLeases) this.dropLease("run", session.id);',
    tests: history,
  },
  {
    line: "S0.20",
    fault: "a summary of what was cut away is kept",
    file: "packages/engine/src/log/commit-fold.ts",
    from: "      this.#checkCovers(event) ??\n",
    to: "",
    also: [
      {
        file: ofCompact,
        from: 'under: { lease: "compaction", fence: lock.fence },',
        to: "",
      },
    ],
    tests: compaction,
  },
  {
    line: "S0.22",
    fault: "who comes after the winner does not look at the epoch again",
    file: ofCompact,
    from: '    if (row.epoch !== (target.epoch ?? before.epoch)) return { status: "deferred", why: "newer" };\n',
    to: "",
    tests: compaction,
  },
];
