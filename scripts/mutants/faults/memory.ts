import type { Edit, Mutant } from "../mutant.ts";

const memory = "memory.pg.test.ts";

/** A handle whose commit has failed is not kept. */
const forgotten = {
  in: "engine/MemoryCommitter",
  drop: "this.$handles.keep($owner, $session, $handle);",
} as const satisfies Edit;

/** Faults of commits and of who makes them: S2.1 to S2.9. */
export const memoryMutants: readonly Mutant[] = [
  {
    line: "S2.1",
    fault: "a commit clears all that is marked when it ends",
    in: "engine/commitUnderLease",
    replace: `const $clear = () =>
      $end($event("memory.committed", { key: $key, upTo: $upTo }), ...$notice);`,
    by: `const $clear = async () => {
        const { marks } = await $log.store.reads.unremembered($owner, $session, 1_000);
        const upToAll = marks.at(-1)?.seq ?? $upTo;
        return $end($event("memory.committed", { key: $key, upTo: upToAll }), ...$notice);
      };`,
    given: ["readSegment($log, $target)", "const { owner: $owner, session: $session } = $target;"],
    tests: memory,
  },
  {
    line: "S2.2",
    fault: "what the provider answers is not looked at",
    in: "engine/commitUnderLease",
    replace: '$answer.status === "committed" ? await $clear() : await $fail($answer)',
    by: "await $clear()",
    tests: memory,
  },
  {
    line: "S2.2",
    fault: "a failure forgets the handle",
    in: "engine/MemoryCommitter",
    replace: 'if ($outcome === "failed") $away.add($key);',
    by: 'if ($outcome === "failed") this.$handles.drop($session);',
    given: ["this.$handles.settle($session, $owner)"],
    also: [forgotten],
    tests: memory,
  },
  {
    line: "S2.3",
    fault: "a handle that was passed in is not remembered",
    ...forgotten,
    tests: memory,
  },
  {
    line: "S2.4",
    fault: "whoever is registered commits, whosever turns they are",
    in: "engine/MemoryHandles.find",
    drop: "ownerKey($registered.$its) === ownerKey($owner)",
    tests: memory,
  },
  {
    line: "S2.5",
    fault: "whoever is passed in commits, whosever turns they are",
    in: "engine/MemoryCommitter",
    drop: "ownerKey($passed.$its) === ownerKey($owner)",
    tests: memory,
  },
  {
    line: "S2.5",
    fault: "a segment goes on over turns of another owner",
    in: "engine/nextSegment",
    replace: "$other === -1 ? $marks : $marks.slice(0, $other)",
    by: "$marks",
    tests: memory,
  },
  {
    line: "S2.6",
    fault: "nothing to commit is answered as committed",
    in: "engine/MemoryCommitter.commit",
    replace: '(await $next) === "committed"',
    by: '!["failed", "held", "unreachable"].includes(await $next)',
    tests: memory,
  },
  {
    line: "S2.6",
    fault: "a session without a turn is committed to its provider all the same",
    in: "engine/MemoryCommitter",
    replace: 'if ($next === null || $away.has($key)) return "nothing";',
    by: `const handle = this.$handles.first($target.session);
      if ($next === null && handle)
        await handle.commit({ ...$target, key: "none", turns: [] }, this.$stop.signal);
      $&`,
    given: [
      "const $next = await readSegment($log, $target);",
      "this.$handles.find($session, $owner)",
      "const $done = await commitSegment(this.$deps, $target, $find, this.$stop.signal);",
    ],
    also: [
      {
        in: "engine/MemoryHandles",
        member: `first(session: SessionId): MemoryHandle | null {
          return this.$sessions.get(session)?.registered ?? null;
        }`,
        given: ["this.$sessions.get($session)?.owner"],
      },
    ],
    tests: memory,
  },
  {
    line: "S2.7",
    fault: "who has unregistered goes on committing",
    in: "engine/MemoryCommitter.unregister",
    replace: '$session !== ""',
    by: '$session === ""',
    tests: memory,
  },
  {
    line: "S2.7",
    fault: "without a handle the oldest turn is given up",
    in: "engine/commitUnderLease",
    replace: 'outcome: "unreachable"',
    by: 'outcome: (await $clear(), "unreachable")',
    given: ['$answer.status === "committed" ? await $clear() : $failed'],
    tests: memory,
  },
  {
    line: "S2.8",
    fault: "the drain does not wait for the commit under way",
    in: "engine/MemoryCommitter",
    replace: "await $before; return await $work();",
    by: "return await $work();",
    tests: memory,
  },
  {
    line: "S2.8",
    fault: "the drain waits for the commit under way, and for nothing else",
    in: "engine/MemoryCommitter",
    replace: 'this.$commitDue(Infinity, "shutdown")',
    by: "Promise.all(this.$turns.values())",
    given: ["this.$turns.set($session, $done.promise)"],
    tests: memory,
  },
  {
    line: "S2.9",
    fault: "the host takes no notice of which session is left",
    in: "host/sessionRoutes",
    drop: 'void $memory.boundary($owner, $previous, "new_session");',
    tests: "page/connection-loss.test.ts",
  },
];
