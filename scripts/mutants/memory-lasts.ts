import type { Mutant } from "./mutant.ts";

const leaving = "packages/store/src/contracts/memory-agents.pg.test.ts";
const durable = "packages/store/src/contracts/memory-durable.pg.test.ts";
const memory = "packages/store/src/contracts/memory.pg.test.ts";
const ofKeeper = "packages/engine/src/memory/keeper.ts";
const ofCommit = "packages/engine/src/memory/commit-segment.ts";
const ofSegment = "packages/engine/src/memory/segment.ts";
const ofCache = "packages/engine/src/agents/cache.ts";
const ofDrive = "packages/engine/src/run/drive.ts";

/** Faults of what happens to memory when agents go, turns end and processes die: S2.10 to S2.18. */
export const lastingMutants: readonly Mutant[] = [
  {
    line: "S2.10",
    fault: "the handle outlives its agent",
    file: ofKeeper,
    from: "    this.#handles.drop(session);\n",
    to: "",
    tests: leaving,
  },
  {
    line: "S2.10",
    fault: "the handle goes before the commit",
    file: ofKeeper,
    from: "      this.#counts.eviction = (this.#counts.eviction ?? 0) + 1;\n",
    to: "      this.#handles.drop(session);\n",
    tests: leaving,
  },
  {
    line: "S2.11",
    fault: "an agent is closed while its memory is committed",
    file: ofCache,
    from: "    await this.#within(() => this.#deps.beforeClose(agent, sessions));\n",
    to: "    void this.#within(() => this.#deps.beforeClose(agent, sessions));\n",
    tests: leaving,
  },
  {
    line: "S2.11",
    fault: "eviction commits one segment, and not what is newer",
    file: ofKeeper,
    from: 'await this.#flush({ owner, session }, { when: "due", reach: "known" });',
    to: "await this.#turns.get(session);",
    tests: leaving,
  },
  {
    line: "S2.11",
    fault: "an agent that goes is closed by each who finds it",
    file: ofCache,
    from: "    await this.#within(() => agent.close());\n",
    to: "    await this.#within(() => agent.close());\n    await this.#within(() => agent.close());\n",
    tests: leaving,
  },
  {
    line: "S2.12",
    fault: "who needs a place waits until the victims are closed",
    file: ofCache,
    from: "      entry.agent = agent;\n      this.tend();\n",
    to: "      entry.agent = agent;\n      this.tend();\n      await this.settled();\n",
    tests: leaving,
  },
  {
    line: "S2.12",
    fault: "a victim keeps its place in the cache until it is closed",
    file: ofCache,
    from: `      this.#entries.delete(entry);
      this.#evictions`,
    to: `      void Promise.resolve().then(() => this.settled()).then(() => this.#entries.delete(entry));
      this.#evictions`,
    tests: leaving,
  },
  {
    line: "S2.13",
    fault: "memory is committed under the lease of the session's runs",
    file: ofCommit,
    from: 'const request = { kind: "memory", session,',
    to: 'const request = { kind: "run", session,',
    tests: leaving,
  },
  {
    line: "S2.13",
    fault: "what was cleared is not remembered",
    file: "packages/engine/src/memory/cleared.ts",
    from: 'return hiddenBy === "clear" ? messages : [];',
    to: "return hiddenBy === undefined ? messages : [];",
    tests: leaving,
  },
  {
    line: "S2.14",
    fault: "the mark is written before the run has ended, in a commit of its own",
    file: ofDrive,
    from: '      await endRun(run, "completed", settled, undefined, markOf(deps.remembers, run));',
    to: `      await endRun(run, "completed", settled);
      const { owner, session } = run;
      for (const event of markOf(deps.remembers, run))
        await deps.log.commit({ owner, session, events: [event] });`,
    tests: durable,
  },
  {
    line: "S2.14",
    fault: "a turn that turns out to be cancelled is marked too",
    file: ofDrive,
    from: "result = await run.sendUntilTaken({ events: [...entries, cancelled] });",
    to: "result = await run.sendUntilTaken({ events: [...entries, cancelled, ...behind] });",
    also: [
      {
        file: "packages/engine/src/log/fold-memory.ts",
        from: 'data["state"] === "completed"',
        to: 'data["state"] !== undefined',
      },
    ],
    tests: durable,
  },
  {
    line: "S2.14",
    fault: "every turn has to be remembered",
    file: "packages/engine/src/run/mark.ts",
    from: "remembers?.(run) ?? null;",
    to: 'remembers?.(run) ?? { provider: "noted", configuration: "one" };',
    tests: durable,
  },
  {
    line: "S2.14",
    fault: "a finished turn commits",
    file: ofDrive,
    from: '      await endRun(run, "completed", settled, undefined, markOf(deps.remembers, run));',
    to: `      const marks = markOf(deps.remembers, run);
      await endRun(run, "completed", settled, undefined, marks);
      const { owner, session } = run;
      const { marks: open } = await deps.log.store.reads.unremembered(owner, session, 1);
      const upTo = open[0]?.seq;
      if (upTo !== undefined) {
        const done = newEvent(run.ids.make("event"), "memory.committed", { key: "done", upTo });
        await deps.log.commit({ owner, session, events: [done] });
      }`,
    also: [
      {
        file: ofDrive,
        from: "import type { NewEvent, RequestRecord, RunState, StoredEvent } from",
        to: "import { newEvent, type NewEvent, type RequestRecord, type RunState, type StoredEvent } from",
      },
    ],
    tests: durable,
  },
  {
    line: "S2.15",
    fault: "each turn is a commit",
    file: ofSegment,
    from: "const stretch = other === -1 ? marks : marks.slice(0, other);",
    to: "const stretch = other === 0 ? marks : marks.slice(0, 1);",
    tests: memory,
  },
  {
    line: "S2.16",
    fault: "an empty id is registered like every other",
    file: ofKeeper,
    from: 'if (session !== "") this.#handles.register(owner, session, handle);',
    to: "this.#handles.register(owner, session as SessionId, handle);",
    tests: memory,
  },
  {
    line: "S2.17",
    fault: "that it was tried is not written down before the provider is called",
    file: ofCommit,
    from: 'const tried = await write("memory.tried", { key, upTo, tries, owner: { ...segment.owner } });',
    to: 'const tried = { status: "committed" };',
    tests: durable,
  },
  {
    line: "S2.17",
    fault: "a segment that was tried takes in what was completed since",
    file: ofSegment,
    from: "  if (trying !== null) {",
    to: "  if (trying !== null && trying.tries < 0) {",
    tests: durable,
  },
  {
    line: "S2.17",
    fault: "what a process left behind is nobody's until it rests long enough",
    file: ofKeeper,
    from: '    await this.#commitDue(Infinity, "boot").catch(onError);\n',
    to: "",
    tests: durable,
  },
  {
    line: "S2.18",
    fault: "a provider that hangs is waited for",
    file: ofCommit,
    from: "return await Promise.race([handle.commit(batch, either), late]);",
    to: "return await handle.commit(batch, either);",
    tests: durable,
  },
  {
    line: "S2.18",
    fault: "a provider that fails is asked again every minute",
    file: ofCommit,
    from: "firstPauseMs * 2 ** Math.min(tries - 1, 20)",
    to: "firstPauseMs",
    tests: durable,
  },
  {
    line: "S2.18",
    fault: "each failure leaves a handle in memory",
    file: ofKeeper,
    from: " && !opened.includes(handle))",
    to: ")",
    tests: durable,
  },
  {
    line: "S2.18",
    fault: "a boundary does not care when the provider may be asked again",
    file: ofKeeper,
    from: 'if (asked.when === "due" && next.retryAt !== null',
    to: 'if (asked.when === "due" && next.retryAt === 0',
    tests: durable,
  },
];
