import type { Mutant } from "../mutant.ts";

const leaving = "memory-and-eviction.pg.test.ts";
const durable = "memory-durability.pg.test.ts";
const memory = "memory.pg.test.ts";

/** Where a run that was completed is ended and marked. */
const ended = 'await $endRun($run, "completed", $settled, undefined, $mark);';
/** What it is bound to names the collaborators that the fault needs. */
const marked = "const $mark = $markOf($deps.$remembers, $run, $circumstances);";

/** Faults of what happens to memory when agents go, turns end and processes die: S2.10 to S2.18. */
export const lastingMutants: readonly Mutant[] = [
  {
    line: "S2.10",
    fault: "the handle outlives its agent",
    in: "engine/MemoryCommitter.evict",
    drop: "this.$handles.drop($session);",
    tests: leaving,
  },
  {
    line: "S2.10",
    fault: "the handle goes before the commit",
    in: "engine/MemoryCommitter.evict",
    replace: "this.$counts.eviction = (this.$counts.eviction ?? 0) + 1;",
    by: "this.$handles.drop($session);",
    given: ["this.$handles.drop($session)"],
    tests: leaving,
  },
  {
    line: "S2.11",
    fault: "an agent is closed while its memory is committed",
    in: "engine/AgentCache",
    replace: "await this.$within(() => this.$deps.beforeClose($agent, $sessions));",
    by: "void this.$within(() => this.$deps.beforeClose($agent, $sessions));",
    tests: leaving,
  },
  {
    line: "S2.11",
    fault: "eviction commits one segment, and not what is newer",
    in: "engine/MemoryCommitter",
    replace:
      'await this.$flush({ owner: $owner, session: $session }, { when: "due", reach: "known" });',
    by: "await this.$turns.get($session);",
    given: ["this.$turns.set($id, $done.promise)"],
    tests: leaving,
  },
  {
    line: "S2.11",
    fault: "an agent that goes is closed by each who finds it",
    in: "engine/AgentCache",
    replace: "await this.$within(() => $agent.close());",
    by: "$& $&",
    tests: leaving,
  },
  {
    line: "S2.12",
    fault: "who needs a place waits until the victims are closed",
    in: "engine/AgentCache",
    replace: "$entry.$its = $agent; this.$tend(); return $agent;",
    by: "$entry.$its = $agent; this.$tend(); await this.settled(); return $agent;",
    tests: leaving,
  },
  {
    line: "S2.12",
    fault: "a victim keeps its place in the cache until it is closed",
    in: "engine/AgentCache",
    replace: `this.$entries.delete($entry);
      this.$evictions[$reason] = (this.$evictions[$reason] ?? 0) + 1;`,
    by: `void Promise.resolve().then(() => this.settled()).then(() => this.$entries.delete($entry));
      this.$evictions[$reason] = (this.$evictions[$reason] ?? 0) + 1;`,
    tests: leaving,
  },
  {
    line: "S2.13",
    fault: "memory is committed under the lease of the session's runs",
    in: "engine/acquireMemoryLease",
    replace: 'kind: "memory"',
    by: 'kind: "run"',
    tests: leaving,
  },
  {
    line: "S2.13",
    fault: "what was cleared is not remembered",
    in: "engine/clearedEntries",
    replace: '$hiddenBy === "clear" ? $messages : []',
    by: "$hiddenBy === undefined ? $messages : []",
    tests: leaving,
  },
  {
    line: "S2.14",
    fault: "the mark is written before the run has ended, in a commit of its own",
    in: "engine/settleCall",
    replace: ended,
    given: [marked],
    by: `await $endRun($run, "completed", $settled);
      const { owner, session } = $run;
      for (const event of $mark)
        await $deps.log.commit({ owner, session, events: [event] });`,
    tests: durable,
  },
  {
    line: "S2.14",
    fault: "a turn that turns out to be cancelled is marked too",
    in: "engine/endRun",
    replace: "[...$entries, $cancelled]",
    by: "[...$entries, $cancelled, ...$behind]",
    given: ["[...$entries, $ended, ...$behind]"],
    also: [
      {
        in: "engine/checkMemory",
        replace: '$data["state"] === "completed"',
        by: '$data["state"] !== undefined',
      },
    ],
    tests: durable,
  },
  {
    line: "S2.14",
    fault: "every turn has to be remembered",
    in: "engine/memoryMark",
    replace: "$remembers?.($run) ?? null",
    by: '$remembers?.($run) ?? { provider: "noted", configuration: "one" }',
    tests: durable,
  },
  {
    line: "S2.14",
    fault: "a finished turn commits",
    in: "engine/settleCall",
    replace: ended,
    given: [marked],
    by: `await $endRun($run, "completed", $settled, undefined, $mark);
      const { owner, session } = $run;
      const { marks: open } = await $deps.log.store.reads.unremembered(owner, session, 1);
      const upTo = open[0]?.seq;
      if (upTo !== undefined) {
        const done = newEvent($run.ids.make("event"), "memory.committed", { key: "done", upTo });
        await $deps.log.commit({ owner, session, events: [done] });
      }`,
    also: [{ in: "engine/settleCall", import: 'import { newEvent } from "@holdfast/protocol";' }],
    tests: durable,
  },
  {
    line: "S2.15",
    fault: "each turn is a commit",
    in: "engine/nextSegment",
    replace: "$other === -1 ? $marks : $marks.slice(0, $other)",
    by: "$other === 0 ? $marks : $marks.slice(0, 1)",
    tests: memory,
  },
  {
    line: "S2.16",
    fault: "an empty id is registered like every other",
    in: "engine/MemoryCommitter.register",
    replace: 'if ($session !== "") $registers;',
    by: "$registers",
    tests: memory,
  },
  {
    line: "S2.17",
    fault: "that it was tried is not written down before the provider is called",
    in: "engine/commitUnderLease",
    replace: 'const $tried = await $write($event("memory.tried", $data));',
    by: 'const $tried = { status: "committed" };',
    tests: durable,
  },
  {
    line: "S2.17",
    fault: "a segment that was tried takes in what was completed since",
    in: "engine/nextSegment",
    replace: "$trying !== null",
    by: "$trying !== null && $trying.tries < 0",
    tests: durable,
  },
  {
    line: "S2.17",
    fault: "what a process left behind is nobody's until it rests long enough",
    in: "engine/MemoryCommitter",
    drop: 'await this.$commitDue(Infinity, "boot").catch($onError);',
    tests: durable,
  },
  {
    line: "S2.18",
    fault: "a provider that hangs is waited for",
    in: "engine/callProvider",
    replace: "withTimeout({ clock, ms, signal }, $commit)",
    by: "withTimeout({ clock, ms: Infinity, signal }, $commit)",
    tests: durable,
  },
  {
    line: "S2.18",
    fault: "a provider that fails is asked again every minute",
    in: "engine/commitUnderLease",
    replace: "backoffMs($retryBackoff, $tries - 1)",
    by: "backoffMs($retryBackoff, 0)",
    tests: durable,
  },
  {
    line: "S2.18",
    fault: "each failure leaves a handle in memory",
    in: "engine/MemoryCommitter",
    drop: "!$opened.includes($handle)",
    tests: durable,
  },
  {
    line: "S2.18",
    fault: "a boundary does not care when the provider may be asked again",
    in: "engine/MemoryCommitter",
    replace: "$next.retryAt !== null",
    by: "$next.retryAt === 0",
    tests: durable,
  },
];
