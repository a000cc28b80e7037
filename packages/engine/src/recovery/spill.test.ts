import { ids } from "@holdfast/protocol";
import { referenceHarness } from "@holdfast/testing/stores/harnesses";
import { expect, test } from "vitest";

import { createLog } from "../log/log.ts";
import type { SpillDamage, SpillStore } from "../ports/spill.ts";
import { aDelta, anEvent, anOwner, toFence, toSeq } from "@holdfast/testing/fixtures/factories";
import { manualClock } from "@holdfast/testing/fakes/manual-clock";
import { openTestSession } from "@holdfast/testing/fixtures/open-session";
import { RunHandle } from "../run/run-handle.ts";
import { findSpill, SpillWriter } from "./spill.ts";

/** A spill store that records which of its files are open. */
function countingSpills(): SpillStore & { readonly opened: string[]; readonly open: Set<string> } {
  const opened: string[] = [];
  const open = new Set<string>();
  return {
    place: "here",
    opened,
    open,
    async reserve() {},
    async begin({ runId }) {
      opened.push(runId);
      open.add(runId);
      const close = async (): Promise<void> => void open.delete(runId);
      const inner = async () => ({ status: "kept" }) as const;
      return { status: "begun", file: { append: inner, seal: inner, close, discard: close } };
    },
    isReady: async () => true,
    read: async () => ({ status: "known_empty" }),
    async forget() {},
    left: async () => [],
    all: async () => [],
  };
}

async function openSpill() {
  const { store } = await referenceHarness.open();
  const chat = await openTestSession(store);
  const lease = await chat.lease();
  const { owner } = chat;
  const runId = ids.make("run");
  const { head } = await chat.row();
  const clock = manualClock();
  const run = new RunHandle(createLog(store), ids, { owner, runId, lease, head }, clock);
  const spills = countingSpills();
  const spill = new SpillWriter({ clock, spills }, run, () => {});
  const add = () => spill.add([aDelta(runId)], new Promise(() => {}));
  return { run, runId, spill, journals: spills, add };
}

test("output after a lost run was released opens no file: nobody would close it, and it would replace the one that is there", async () => {
  const { run, runId, spill, journals: spills, add } = await openSpill();
  await add();
  run.lose("fenced");
  await spill.settled();
  await add();
  expect(spills.opened).toEqual([runId]);
  expect(spills.open.size).toBe(0);
});

test("[S4.8] an answer is whole if its stream ended by itself and no record of its spill is lost", async () => {
  const [owner, session, runId] = [anOwner(), ids.make("session"), ids.make("run")];
  const ref = { session, runId, place: "here", fence: toFence(1) };
  const spill = { place: ref.place, fence: ref.fence };
  const step = anEvent("step.started", { step: 1, model: "scripted", spill }, runId);
  const isWhole = async (how: "done" | "stopped", damage: readonly SpillDamage[]) => {
    const spills: SpillStore = {
      ...countingSpills(),
      read: async () => ({
        status: "output",
        header: { ...ref, owner, ingestId: ids.make("event") },
        events: [aDelta(runId)],
        end: { how, model: "scripted", calls: [], usage: null },
        damage,
      }),
    };
    const journal = [{ ...step, seq: toSeq(1), at: 0 }];
    return (await findSpill(spills, { session, runId }, journal)).isWhole;
  };
  expect(await isWhole("done", [])).toBe(true);
  expect(await isWhole("done", [{ kind: "repeated", offset: 0 }])).toBe(true);
  expect(await isWhole("done", [{ kind: "damaged", offset: 0 }])).toBe(false);
  expect(await isWhole("stopped", [])).toBe(false);
});
