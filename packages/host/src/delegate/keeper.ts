import { type Clock, type Log, requestCancel, type Runner, StoreFailure } from "@holdfast/engine";
import {
  callId,
  type IdSource,
  type LaneKey,
  type OwnerId,
  runId,
  sessionId,
  terminalStates,
} from "@holdfast/protocol";

import { childOf, everyChild, type GivenBy } from "./child.ts";

export interface ChildKeeperParts {
  readonly log: Log;
  readonly ids: IdSource;
  readonly clock: Clock;
  readonly owner: OwnerId;
  readonly runner: Pick<Runner, "poke">;
  readonly report: (bug: Error) => void;
  readonly lookMs?: number;
}

const usualLookMs = 10_000;
/** The newest ones: a child does not outlive its call by so many others. */
const mostLookedAt = 200;
const mostRemembered = 2_000;

/**
 * Ends children whose parent has ended without them: its host was killed between a cancel and theirs. P6: so a cancel
 * reaches them whatever dies.
 */
export function createChildKeeper(parts: ChildKeeperParts) {
  const { clock } = parts;
  const stopping = new AbortController();
  const ended = new Set<LaneKey>();
  let working: Promise<void> = Promise.resolve();

  async function look(): Promise<void> {
    const { log, owner } = parts;
    const lanes = await log.store.reads.lanes(owner, everyChild, mostLookedAt);
    if (ended.size > mostRemembered) ended.clear();
    for (const { lane } of lanes) {
      if (stopping.signal.aborted) return;
      if (!ended.has(lane) && (await tend(parts, lane)) === "ended") ended.add(lane);
    }
  }

  async function work(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        await look();
      } catch (error) {
        if (!(error instanceof StoreFailure))
          parts.report(error instanceof Error ? error : new Error(String(error)));
      }
      await clock.sleep(parts.lookMs ?? usualLookMs, stopping.signal);
    }
  }

  return {
    look,
    start(): void {
      working = work();
    },
    async stop(): Promise<void> {
      stopping.abort();
      await working;
    },
  };
}

async function tend(
  { log, ids, owner, runner }: ChildKeeperParts,
  lane: LaneKey,
): Promise<"ended" | "goes on"> {
  const { reads } = log.store;
  const given = givenBy(owner, lane);
  if (given === null) return "ended";
  const child = childOf(given);
  const run = await reads.run(owner, child.runId);
  if (run === null || terminalStates.has(run.state)) return "ended";
  const parent = await reads.run(owner, given.runId);
  const isOver = parent === null || parent.cancelRequested || terminalStates.has(parent.state);
  if (!isOver || run.cancelRequested) return "goes on";
  await requestCancel(log, ids, owner, child.runId);
  runner.poke(owner, child.session);
  return "goes on";
}

function givenBy(owner: OwnerId, lane: LaneKey): GivenBy | null {
  const [session, run, call] = lane.slice(everyChild.length).split(":");
  const [of, by, named] = [
    sessionId.safeParse(session),
    runId.safeParse(run),
    callId.safeParse(call),
  ];
  if (!of.success || !by.success || !named.success) return null;
  return { owner, session: of.data, runId: by.data, callId: named.data };
}
