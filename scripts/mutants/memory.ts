import type { Mutant } from "./mutant.ts";

const memory = "packages/store/src/contracts/memory.pg.test.ts";
const ofKeeper = "packages/engine/src/memory/keeper.ts";
const ofHandles = "packages/engine/src/memory/handles.ts";
const ofCommit = "packages/engine/src/memory/commit-segment.ts";
const ofSegment = "packages/engine/src/memory/segment.ts";

/** Faults of commits and of who makes them: S2.1 to S2.9. */
export const memoryMutants: readonly Mutant[] = [
  {
    line: "S2.1",
    fault: "a commit clears all that is marked when it ends",
    file: ofCommit,
    from: 'const done = await write("memory.committed", { key, upTo });',
    to: `const { marks } = await log.store.reads.unremembered(owner, session, 1_000);
    const done = await write("memory.committed", { key, upTo: marks.at(-1)?.seq ?? upTo });`,
    tests: memory,
  },
  {
    line: "S2.2",
    fault: "what the provider answers is not looked at",
    file: ofCommit,
    from: 'answer.status === "committed" ? await clear() : await fail(answer)',
    to: "await clear()",
    tests: memory,
  },
  {
    line: "S2.2",
    fault: "a failure forgets the handle",
    file: ofKeeper,
    from: 'if (outcome === "failed") away.add(ownerKey(segment.owner));',
    to: 'if (outcome === "failed") this.#handles.drop(session);',
    also: [
      {
        file: ofKeeper,
        from: "this.#handles.keep(owner, session, handle);",
        to: "{}",
      },
    ],
    tests: memory,
  },
  {
    line: "S2.3",
    fault: "a handle that was passed in is not remembered",
    file: ofKeeper,
    from: "this.#handles.keep(owner, session, handle);",
    to: "{}",
    tests: memory,
  },
  {
    line: "S2.4",
    fault: "whoever is registered commits, whosever turns they are",
    file: ofHandles,
    from: "if (registered !== null && ownerKey(registered.owner) === ownerKey(owner)) return registered;",
    to: "if (registered !== null) return registered;",
    tests: memory,
  },
  {
    line: "S2.5",
    fault: "whoever is passed in commits, whosever turns they are",
    file: ofKeeper,
    from: "if (passed !== undefined && ownerKey(passed.owner) === ownerKey(owner)) return passed;",
    to: "if (passed !== undefined) return passed;",
    tests: memory,
  },
  {
    line: "S2.5",
    fault: "a segment goes on over turns of another owner",
    file: ofSegment,
    from: "const stretch = other === -1 ? marks : marks.slice(0, other);",
    to: "const stretch = other < 0 ? marks : marks;",
    tests: memory,
  },
  {
    line: "S2.6",
    fault: "nothing to commit is answered as committed",
    file: ofKeeper,
    from: 'return (await this.#commitNext({ owner, session }, asked)) === "committed";',
    to: 'return !["failed", "held", "unreachable"].includes(await this.#commitNext({ owner, session }, asked));',
    tests: memory,
  },
  {
    line: "S2.6",
    fault: "a session without a turn is committed to its provider all the same",
    file: ofKeeper,
    from: 'if (next === null || away.has(ownerKey(next.owner))) return "nothing";',
    to: `const handle = this.#handles.first(target.session);
      if (next === null && handle) await handle.commit({ ...target, key: "none", turns: [] }, this.#stop.signal);
      if (next === null || away.has(ownerKey(next.owner))) return "nothing";`,
    also: [
      {
        file: ofHandles,
        from: "  drop(session: SessionId): void {",
        to: `  first(session: SessionId): MemoryHandle | null {
    return this.#sessions.get(session)?.registered ?? null;
  }

  drop(session: SessionId): void {`,
      },
    ],
    tests: memory,
  },
  {
    line: "S2.7",
    fault: "who has unregistered goes on committing",
    file: ofKeeper,
    from: 'if (session !== "") this.#handles.unregister(session);',
    to: 'if (session === "") this.#handles.unregister(session as SessionId);',
    tests: memory,
  },
  {
    line: "S2.7",
    fault: "without a handle the oldest turn is given up",
    file: "packages/engine/src/memory/commit-segment.ts",
    from: 'if (handle === undefined) return { outcome: "unreachable", segment };',
    to: 'if (handle === undefined) return { outcome: (await clear(), "unreachable"), segment };',
    tests: memory,
  },
  {
    line: "S2.8",
    fault: "the drain does not wait for the commit under way",
    file: ofKeeper,
    from: "      await before;\n",
    to: "",
    tests: memory,
  },
  {
    line: "S2.8",
    fault: "the drain waits for the commit under way, and for nothing else",
    file: ofKeeper,
    from: 'const drained = this.#commitDue(Infinity, "shutdown").catch(onError);',
    to: "const drained = Promise.all(this.#turns.values()).catch(onError);",
    tests: memory,
  },
  {
    line: "S2.9",
    fault: "the host takes no notice of which session is left",
    file: "packages/host/src/api/sessions.ts",
    from: 'void memory.boundary(owner, previousSessionId, "new_session");',
    to: "{}",
    tests: "test/whole/page-honesty.test.ts",
  },
];
