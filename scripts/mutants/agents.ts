import type { Mutant } from "./mutant.ts";

const cache = "packages/engine/src/agents/cache.test.ts";
const agents = "packages/store/src/contracts/agents.pg.test.ts";
const ofCache = "packages/engine/src/agents/cache.ts";
const ofBaselines = "packages/engine/src/agents/baselines.ts";
const ofEntry = "packages/engine/src/agents/entry.ts";
const ofContext = "packages/engine/src/context/read-context.ts";
const ofWarmRun = "packages/engine/src/run/warm-run.ts";
const ofRunner = "packages/engine/src/run/runner.ts";
const ofLease = "packages/engine/src/log/decide-lease.ts";

/** Faults of the cache of warm agents, which the lines S1.1 to S1.15 must notice. */
export const agentMutants: readonly Mutant[] = [
  {
    line: "S1.1",
    fault: "an agent serves the session that it was built for, and no other",
    file: ofCache,
    from: "const found = this.#take(request.lane, signature);",
    to: `const taken = this.#take(request.lane, signature);
    const found = taken?.session === request.session ? taken : undefined;`,
    tests: cache,
  },
  {
    line: "S1.2",
    fault: "an agent's own writes make it stale",
    file: ofCache,
    from: "else this.rebaseline(entry, session, at.version, at.kept);",
    to: "else this.rebaseline(entry, session, live ?? at.version, at.kept);",
    tests: cache,
  },
  {
    line: "S1.3",
    fault: "a version that has grown is taken for the agent's own writes",
    file: ofBaselines,
    from: "known.version === live ?",
    to: "known.version <= live ?",
    tests: agents,
  },
  {
    line: "S1.3",
    fault: "of what is new only what runs have written is folded in",
    file: ofContext,
    from: "    found.push(entry);\n  }\n  const after",
    to: "    if (entry.runId !== undefined) found.push(entry);\n  }\n  const after",
    tests: agents,
  },
  {
    line: "S1.4",
    fault: "re-baselining does not ask whose entry it is",
    file: ofCache,
    from: "    if (entry.session !== null && entry.session !== session) return;\n",
    to: "",
    tests: cache,
  },
  {
    line: "S1.5",
    fault: "a baseline that is known is never moved",
    file: ofCache,
    from: "    entry.baselines.move(session, version, kept);",
    to: "    if (!entry.baselines.get(session)) entry.baselines.move(session, version, kept);",
    tests: cache,
  },
  {
    line: "S1.6",
    fault: "entries that opted out are re-baselined",
    file: ofEntry,
    from: 'this.agent !== null && this.coherence === "checked"',
    to: "this.agent !== null",
    tests: cache,
  },
  {
    line: "S1.6",
    fault: "placeholders are re-baselined",
    file: ofEntry,
    from: 'this.agent !== null && this.coherence === "checked"',
    to: 'this.coherence === "checked"',
    tests: cache,
  },
  {
    line: "S1.6",
    fault: "entries that opted out are compared all the same",
    file: ofCache,
    from: 'entry.coherence === "unchecked" ? "unknown" : entry.baselines.standing(session, live);',
    to: "entry.baselines.standing(session, live);",
    tests: cache,
  },
  {
    line: "S1.7",
    fault: "a baseline without a session is not looked at",
    file: ofBaselines,
    from: 'const known = this.get(session) ?? this.get("any");\n    if',
    to: "const known = this.get(session);\n    if",
    tests: cache,
  },
  {
    line: "S1.7",
    fault: "a baseline without a session is never re-baselined",
    file: ofCache,
    from: "    if (entry.session !== null && entry.session !== session) return;\n",
    to: '    if (entry.session !== session || entry.baselines.get("any")) return;\n',
    tests: cache,
  },
  {
    line: "S1.8",
    fault: "a version that cannot be read fails the run",
    file: ofCache,
    from: "    } catch {\n      return null;\n    }",
    to: "    } catch (error) {\n      throw error;\n    }",
    tests: cache,
  },
  {
    line: "S1.8",
    fault: "a version that cannot be read counts as another one",
    file: ofBaselines,
    from: '    if (live === null) return "unknown";\n',
    to: "",
    tests: cache,
  },
  {
    line: "S1.8",
    fault: "a session that the agent does not know counts as changed",
    file: ofBaselines,
    from: 'if (known === undefined) return "new";',
    to: 'if (known === undefined) return "behind";',
    tests: cache,
  },
  {
    line: "S1.9",
    fault: "versions are read one after the other, under one lock for all lanes",
    file: ofCache,
    from: "const live = await this.#liveVersion(request);",
    to: `const shared = this.#closing as unknown as { last?: Promise<unknown> };
    const before = shared.last ?? Promise.resolve();
    const reading = before.then(() => this.#liveVersion(request));
    shared.last = reading;
    const live = await reading;`,
    tests: "packages/engine/src/agents/eviction.test.ts",
  },
  {
    line: "S1.10",
    fault: "an agent goes on with what it has of the session before",
    file: ofCache,
    from: "kept: baseline?.kept,",
    to: "kept: baseline?.kept ?? entry.baselines.kept().at(-1),",
    tests: agents,
  },
  {
    line: "S1.10",
    fault: "a run is bound to the session that its agent served first",
    file: ofWarmRun,
    from: "  const known = borrowed.kept ?? emptyContext();\n",
    to: `  const known = borrowed.kept ?? emptyContext();
  const bound = agent as { session?: typeof run.session };
  bound.session ??= run.session;
  Object.assign(run, { session: bound.session });\n`,
    tests: agents,
  },
  {
    line: "S1.11",
    fault: "what is in view is compared by the number of entries alone",
    file: ofContext,
    from: "if (last === undefined || !sameRanges(row.ranges, known.ranges))",
    to: "if (last === undefined)",
    tests: agents,
  },
  {
    line: "S1.11",
    fault: "a cut does not count in the version",
    file: "packages/protocol/src/reducer/session.ts",
    from: 'if (role === "entry") return { version: facts.version + 1 };',
    to: 'if (role === "entry") return { version: facts.version + (event.type === "history.cut" ? 0 : 1) };',
    tests: agents,
  },
  {
    line: "S1.12",
    fault: "what others wrote is put before what the agent knew",
    file: ofContext,
    from: "tail: [...known.tail, ...added] };",
    to: "tail: [...added, ...known.tail] };",
    tests: agents,
  },
  {
    line: "S1.12",
    fault: "what is read anew leaves out what was said before the frame",
    file: "packages/engine/src/run/run-context.ts",
    from: "        ? await readContext(reads, owner, session)\n",
    to: `        ? await readContext(reads, owner, session).then(
            (all) => all && { ...all, tail: all.tail.slice(-3) },
          )\n`,
    tests: agents,
  },
  {
    line: "S1.13",
    fault: "turns are kept apart by lane, and whoever is of the same process has the lease",
    file: ofRunner,
    from: `    if (this.#working.has(session)) {
      this.#again.add(session);
      return nothing;
    }
    const work`,
    to: "    const work",
    also: [{ file: ofLease, from: "    a.nonce === b.nonce &&\n", to: "" }],
    tests: agents,
  },
  {
    line: "S1.14",
    fault: "an agent knows the version of the last session alone",
    file: ofBaselines,
    from: "    this.#known.delete(key);\n    this.#known.set",
    to: "    this.#known.clear();\n    this.#known.set",
    tests: cache,
  },
  {
    line: "S1.14",
    fault: "what an agent knew of a session before the last is used as it was",
    file: ofContext,
    from: "  if (row.version === known.version) return known;\n",
    to: '  if (row.version === known.version || row.lastState === "completed") return known;\n',
    tests: agents,
  },
  {
    line: "S1.15",
    fault: "an agent is given back at the version that its run began with",
    file: ofWarmRun,
    from: "const { version } = run;",
    to: "const { versionBefore: version } = run;",
    tests: agents,
  },
  {
    line: "S1.15",
    fault: "an agent is given back only when its session has nothing left to do",
    file: ofRunner,
    from: "      warm.release();\n",
    to: "      void this.#working.get(run.session)?.then(() => warm.release());\n",
    tests: agents,
  },
];
