import type { Mutant } from "../mutant.ts";
import { anyNonce } from "./compaction-lock.ts";

const cache = "agents/cache.test.ts";
const agents = "agents.pg.test.ts";
const lines = "contracts/reference-store.test.ts";

/** Faults of the cache of warm agents, which the lines S1.1 to S1.15 must notice. */
export const agentMutants: readonly Mutant[] = [
  {
    line: "S1.1",
    fault: "an agent serves the session that it was built for, and no other",
    in: "engine/AgentCache.borrow",
    replace: "const $found = this.$take($request, $signature);",
    by: `const taken = this.$take($request, $signature);
      const $found = taken?.knows($request.session) ? taken : undefined;`,
    tests: lines,
  },
  {
    line: "S1.1",
    fault: "the workspace is part of what an agent is built from",
    in: "host/createAgentFactory",
    replace: "$joinParts($ownSignature($name, $request.owner), $toolsSignature)",
    by: "$joinParts($ownSignature($name, $request.owner), await prompt.signature($request), $toolsSignature)",
    tests: "agent/agent-factory.test.ts",
  },
  {
    line: "S1.1",
    fault: "a switch to a session with another model closes the agent of the one before",
    in: "engine/AgentCache",
    replace: "$entry.signature !== $signature && $entry.knows($session)",
    by: "$entry.signature !== $signature",
    tests: cache,
  },
  {
    line: "S1.2",
    fault: "an agent's own writes make it stale",
    in: "engine/AgentCache.borrow",
    replace: "$entry.$baselines.set($session, $at.$version, $at.$kept)",
    by: "$entry.$baselines.set($session, $before ?? $at.$version, $at.$kept)",
    given: ["$baseline.version !== $before"],
    tests: lines,
  },
  {
    line: "S1.3",
    fault: "a version that has grown is taken for the agent's own writes",
    in: "engine/AgentCache.borrow",
    replace: "$baseline.version !== $version",
    by: "$baseline.version > $version",
    tests: agents,
  },
  {
    line: "S1.3",
    fault: "of what is new only what runs have written is folded in",
    in: "engine/refreshContext",
    replace: "$found.push($entry);",
    by: "if ($entry.runId !== undefined) $&",
    tests: agents,
  },
  {
    line: "S1.4",
    fault: "an agent that is returned twice is re-baselined twice",
    in: "engine/AgentCache.borrow",
    drop: "if (!$isBorrowed) return;",
    tests: cache,
  },
  {
    line: "S1.4",
    fault: "a turn on one session forgets what the agent knows of the others",
    in: "engine/Baselines.set",
    replace: "this.$known.delete($session); this.$known.set($session, $baseline);",
    by: "this.$known.clear(); this.$known.set($session, $baseline);",
    tests: lines,
  },
  {
    line: "S1.5",
    fault: "a baseline that is known is never moved",
    in: "engine/AgentCache.borrow",
    replace: "$entry.$baselines.set($session, $at.$version, $at.$kept);",
    by: "if (!$entry.$baselines.get($session)) $&",
    tests: lines,
  },
  {
    line: "S1.6",
    fault: "an agent that was returned without a version keeps what it knew",
    in: "engine/AgentCache.borrow",
    drop: "$entry.$baselines.forget($session)",
    tests: lines,
  },
  {
    line: "S1.6",
    fault: "an agent that is still being built may be evicted",
    in: "engine/AgentCache",
    replace: "this.$entries.add($entry); return $entry;",
    by: "$entry.isBorrowed = false; this.$entries.add($entry); return $entry;",
    tests: lines,
  },
  {
    line: "S1.7",
    fault: "only the session that was served last is compared",
    in: "engine/AgentCache.borrow",
    replace: "const $baseline = $entry.$baselines.get($session);",
    by: "const $baseline = $entry.session === $session ? $entry.$baselines.get($session) : undefined;",
    tests: lines,
  },
  {
    line: "S1.8",
    fault: "a version that is not known counts as another one",
    in: "engine/AgentCache.borrow",
    replace: "$baseline !== undefined && $version !== undefined && $baseline.version !== $version",
    by: "$baseline !== undefined && $baseline.version !== $version",
    tests: cache,
  },
  {
    line: "S1.8",
    fault: "a session that the agent does not know counts as changed",
    in: "engine/AgentCache.borrow",
    replace: "$baseline !== undefined && $version !== undefined && $baseline.version !== $version",
    by: "$version !== undefined && $baseline?.version !== $version",
    tests: lines,
  },
  {
    line: "S1.9",
    fault: "runs borrow one after the other, until the one before has given its agent back",
    in: "engine/AgentCache.borrow",
    replace: "const $signature = await this.$deps.factory.signature($request);",
    by: `const shared = this as unknown as { last?: Promise<unknown> };
      const before = shared.last ?? Promise.resolve();
      const mine = Promise.withResolvers<void>();
      shared.last = mine.promise;
      await before;
      const $signature = await this.$deps.factory.signature($request);`,
    also: [
      { in: "engine/AgentCache.borrow", replace: "isBorrowed = false;", by: "$& mine.resolve();" },
    ],
    tests: lines,
  },
  {
    line: "S1.10",
    fault: "an agent goes on with what it has of the session before",
    in: "engine/AgentCache.borrow",
    replace: "cached: $baseline?.$kept",
    by: "cached: $baseline?.$kept ?? $entry.$baselines.cached().at(-1)",
    given: ["const $baseline = $entry.$baselines.get($session);"],
    tests: agents,
  },
  {
    line: "S1.10",
    fault: "a run is bound to the session that its agent served first",
    in: "engine/borrowAgent",
    replace: "const { agent: $agent, $$rest } = $borrowed;",
    by: `$&
      const bound = $agent as { session?: typeof $run.session };
      bound.session ??= $run.session;
      Object.assign($run, { session: bound.session });`,
    given: ["$run.version"],
    tests: agents,
  },
  {
    line: "S1.11",
    fault: "what is in view is compared by the number of entries alone",
    in: "engine/refreshContext",
    replace: "!$sameRanges($row.$ranges, $known.$ranges)",
    by: "false",
    tests: agents,
  },
  {
    line: "S1.11",
    fault: "a cut does not count in the version",
    in: "protocol/countedChanges",
    replace: 'if ($role === "entry") return { $version: $facts.$version + 1 };',
    by: `if ($role === "entry")
      return { $version: $facts.$version + ($event.type === "history.cut" ? 0 : 1) };`,
    given: ["definitionOf($event.type, $event.v)"],
    tests: agents,
  },
  {
    line: "S1.12",
    fault: "what others wrote is put before what the agent knew",
    in: "engine/refreshContext",
    replace: "[...$known.$tail, ...$added]",
    by: "[...$added, ...$known.$tail]",
    tests: agents,
  },
  {
    line: "S1.12",
    fault: "what is read anew leaves out what was said before the frame",
    in: "engine/RunContext.read",
    replace: "$readContext($reads, $owner, $session)",
    by: "$&.then((all) => all && { ...all, tail: all.tail.slice(-3) })",
    tests: agents,
  },
  {
    line: "S1.13",
    fault: "turns are kept apart by lane, and whoever is of the same process has the lease",
    in: "engine/Runner",
    drop: "if (this.$working.has($session)) { this.$again.set($session, $isNews || this.$again.get($session) === true); return $nothing; }",
    also: [anyNonce],
    tests: agents,
  },
  {
    line: "S1.14",
    fault: "what an agent knew of a session before the last is used as it was",
    in: "engine/refreshContext",
    replace: "$row.$version === $known.$version",
    by: '$& || $row.lastState === "completed"',
    tests: agents,
  },
  {
    line: "S1.15",
    fault: "an agent is given back at the version that its run began with",
    in: "engine/borrowAgent",
    replace: "$run.version",
    by: "$run.versionBefore",
    tests: agents,
  },
  {
    line: "S1.15",
    fault: "an agent is given back only when its session has nothing left to do",
    in: "engine/Runner",
    replace: "$warm.release();",
    by: "void this.$working.get($run.session)?.then(() => $warm.release());",
    given: [
      "driveRun({ ...$deps, ...$warm.$setUp }, $run, $position, $warm.$known)",
      "if (this.$working.has($session)) { this.$again.set($session, $isNews || this.$again.get($session) === true); return $nothing; }",
    ],
    tests: agents,
  },
];
