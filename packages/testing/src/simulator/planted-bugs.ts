import { type NewEvent, terminalStates } from "@holdfast/protocol";

import type { Store } from "@holdfast/engine";
import type { PlantStoreBug, PlantSpillBug } from "./world.ts";

/** Bugs that the simulator must find: stores that each violate the port in one way. */
export const plantedBugs = {
  /** P3: writes whatever its caller's fence is. */
  missingFenceCheck: (store) => ({
    ...store,
    commit: (commit) => {
      const { under: _, ...unfenced } = commit;
      return store.commit(unfenced);
    },
  }),

  /** P1: sometimes acknowledges a message without writing it. */
  earlyAcknowledgement: (store) => {
    let accepted = 0;
    return {
      ...store,
      async commit(commit) {
        const [first] = commit.events;
        if (first?.type !== "input.accepted" || (accepted += 1) % 3 !== 0)
          return store.commit(commit);
        const row = await store.reads.session(commit.owner, commit.session);
        if (row === null) return store.commit(commit);
        const seq = (row.head + 1) as typeof row.head;
        const { messageId, runId } = first.data as unknown as Answer;
        const { version, revision } = row;
        const input = { messageId, runId, seq };
        const at = await store.now();
        return { status: "committed", first: seq, last: seq, at, version, revision, input };
      },
    };
  },

  /** P4: settles the last message of a run a second time, as if the first had been lost. */
  doubleSettle: (store) => ({
    ...store,
    async commit(commit) {
      const result = await store.commit(commit);
      const settled = commit.events.filter(({ type }) => type === "message.assistant");
      const ends = commit.events.some(isTerminalState);
      if (result.status !== "committed" || !ends || settled.length === 0) return result;
      await store.commit({ ...commit, events: settled.map(withOtherId) });
      return result;
    },
  }),

  /** Never wakes a watcher. */
  lostWake: (store) => ({ ...store, watch: () => () => {} }),

  /** Finds no queued message, so that one whose runner wasn't notified waits forever. */
  blindSweep: (store) => ({ ...store, work: { ...store.work, queued: async () => [] } }),
} satisfies Record<string, PlantStoreBug>;

/** Keeps nothing that is spilled. */
export const forgottenSpill: PlantSpillBug = (journals) => ({
  ...journals,
  async begin(header) {
    const begun = await journals.begin(header);
    if (begun.status === "begun") await journals.forget(header);
    return begun;
  },
});

interface Answer {
  readonly messageId: NonNullable<CommittedInput>["messageId"];
  readonly runId: NonNullable<CommittedInput>["runId"];
}
type CommittedInput = Extract<
  Awaited<ReturnType<Store["commit"]>>,
  { status: "committed" }
>["input"];

function isTerminalState({ type, data }: NewEvent): boolean {
  return type === "run.state" && terminalStates.has(data["state"] as never);
}

/** The same entry under another event id. */
function withOtherId({ data, ...event }: NewEvent): NewEvent {
  const { deltas: _, ...rest } = data;
  const id = `${event.id.slice(0, -1)}${event.id.endsWith("0") ? "1" : "0"}` as NewEvent["id"];
  return { ...event, id, data: rest };
}
