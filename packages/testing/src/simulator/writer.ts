import type { IdSource, SessionId } from "@holdfast/protocol";

import {
  branch,
  clear,
  duplicate,
  type HistoryTarget,
  interruptThen,
  redo,
  restore,
  retry,
  trash,
  truncate,
  undo,
} from "@holdfast/engine";
import type { SimHost } from "./host.ts";
import type { SimWorld } from "./world.ts";

/** What a person does to a conversation as a whole, and how often. */
export const historyCommandWeights = {
  undo: 1,
  redo: 1,
  retry: 1,
  truncate: 0.5,
  clear: 0.3,
  branch: 0.4,
  duplicate: 0.2,
  trash: 0.4,
  restore: 0.6,
} as const;

/** Every answer that a command on the history can have, as far as a client looks at it. */
type HistoryAnswer =
  | { readonly status: "committed" | "refused" | "failed" }
  | { readonly status: "branched"; readonly session: SessionId }
  | Extract<Awaited<ReturnType<typeof retry>>, { status: "accepted" }>;

interface Command {
  readonly session: SessionId;
  readonly ids: IdSource;
  readonly words: { readonly clientId: string };
}

const mostSessions = 4;

/**
 * A command with everything drawn that it needs, so that it can be sent again and is the same. Some put a run that is in
 * their way to its end first.
 */
export function drawHistoryCommand(
  world: SimWorld,
  act: keyof typeof historyCommandWeights,
  { session, ids, words }: Command,
): (host: SimHost) => Promise<HistoryAnswer> {
  const { chance } = world.scheduler;
  const target: HistoryTarget = { owner: world.owner, session, command: ids.make("event") };
  const branched = ids.make("session");
  const turns = chance.between(1, 2);
  const known = world.record.acknowledged.filter((each) => each.session === session);
  const from = known.length === 0 ? undefined : chance.pick(known).seq;
  const isFull = world.sessions.length >= mostSessions;

  async function carryOut(host: SimHost, on: HistoryTarget): Promise<HistoryAnswer> {
    switch (act) {
      case "undo":
        return undo(host, on, turns);
      case "redo":
        return redo(host, on);
      case "retry":
        return retry(host, on, words);
      case "clear":
        return clear(host, on);
      case "truncate":
        return from === undefined ? refused : truncate(host, on, from);
      case "branch":
        return isFull ? refused : branch(host, on, { session: branched });
      case "duplicate":
        return isFull ? refused : duplicate(host, on, { session: branched });
      case "trash":
        return trash(historyDeps(host), on);
      case "restore":
        return restore(historyDeps(host), on);
    }
  }

  const cuts = act === "undo" || act === "retry" || act === "truncate" || act === "clear";
  if (!cuts || chance.happens(0.5)) return (host) => carryOut(host, target);
  world.record.interrupted.add(session);
  return (host) => interruptThen(historyDeps(host), target, (on) => carryOut(host, on));
}

const refused = { status: "refused" } as const;

function historyDeps({ log, ids, clock, runner, holder }: SimHost) {
  return { log, ids, clock, runner, holder: () => holder };
}
