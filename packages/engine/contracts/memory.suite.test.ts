import { expect, test } from "vitest";

import { ids, type SessionId } from "@holdfast/protocol";
import { contractSuite, useRig } from "@holdfast/testing/contracts/contract-suite";
import { fsckFindings } from "@holdfast/testing/conformance/harness";
import { openContractRig } from "@holdfast/testing/contracts/contract-rig";
import { openMemorySession } from "@holdfast/testing/contracts/memory-session";
import { aHolder } from "@holdfast/testing/fixtures/factories";
import { assertPresent } from "@holdfast/testing/fixtures/open-session";
import { RecordingMemory } from "@holdfast/testing/rigs/memory-rig";
import { createGate, until } from "@holdfast/testing/rigs/run-rig";

import { clear } from "../src/history/cut.ts";
import { undo } from "../src/history/undo.ts";

export const memoryContract = contractSuite("memory", (factory) => {
  const contractRig = useRig(() => openContractRig(factory));

  test("[S2.1] a turn completed during a commit waits for the next one", async () => {
    const { memory, turn, commit, isDirty } = await openMemorySession(contractRig);
    await turn("first");
    const { asked, open } = memory.waits();
    const first = commit(memory);
    await asked;
    await turn("second");
    open();
    expect(await first).toBe(true);
    expect([memory.spokenTexts, await isDirty()]).toEqual([[["first"]], true]);
    expect(await commit(memory)).toBe(true);
    expect([memory.spokenTexts, await isDirty()]).toEqual([[["first"], ["second"]], false]);
  });

  test("[S2.2] a failed commit keeps the work and the handle, and the next one succeeds with it", async () => {
    const { memory, committer, chat, turn, commit, isDirty } = await openMemorySession(contractRig);
    committer.register(chat.owner, chat.session, memory);
    await turn("first");
    memory.fails();
    expect([await commit(), await isDirty()]).toEqual([false, true]);
    expect([await commit(), await isDirty()]).toEqual([true, false]);
    expect(memory.spokenTexts).toEqual([["first"], ["first"]]);
    expect(new Set(memory.batches.map(({ key }) => key)).size).toBe(1);
  });

  test("[S2.3] a failed commit with a handle passed in remembers it for a retry without one", async () => {
    const { memory, turn, commit } = await openMemorySession(contractRig);
    await turn("first");
    memory.fails();
    expect(await commit(memory)).toBe(false);
    expect(await commit()).toBe(true);
    expect(memory.spokenTexts).toEqual([["first"], ["first"]]);
  });

  /** A failed turn of the first provider, followed by a turn of another one. */
  async function openSwitched() {
    const talk = await openMemorySession(contractRig);
    const { memory, rig, committer, chat, turn, commit } = talk;
    committer.register(chat.owner, chat.session, memory);
    await turn("of the old");
    memory.fails();
    expect(await commit()).toBe(false);
    const newer = new RecordingMemory("two");
    rig.turnTo(newer);
    committer.register(chat.owner, chat.session, newer);
    await turn("of the new");
    return { ...talk, newer };
  }

  test("[S2.4] a new handle does not take over: the old owner commits its own segment, then the new one", async () => {
    const { memory, newer, commit, isDirty } = await openSwitched();
    expect(await commit()).toBe(true);
    expect([memory.spokenTexts, newer.spokenTexts]).toEqual([[["of the old"], ["of the old"]], []]);
    expect([await commit(), await commit(), await isDirty()]).toEqual([true, false, false]);
    expect([memory.batches.length, newer.spokenTexts]).toEqual([2, [["of the new"]]]);
  });

  test("[S2.5] passing the new handle does not change that: the oldest goes first, with its own owner", async () => {
    const { memory, newer, commit, isDirty } = await openSwitched();
    expect([await commit(newer), await isDirty()]).toEqual([true, true]);
    expect([memory.spokenTexts.at(-1), newer.spokenTexts]).toEqual([["of the old"], []]);
    expect([await commit(newer), await isDirty()]).toEqual([true, false]);
    expect(newer.spokenTexts).toEqual([["of the new"]]);
  });

  test("[S2.5] turns of two owners are two segments, even if neither was tried before", async () => {
    const { memory, rig, turn, commit, isDirty } = await openMemorySession(contractRig);
    await turn("of the old");
    const newer = new RecordingMemory("two");
    rig.turnTo(newer);
    await turn("of the new");
    expect([await commit(newer), newer.spokenTexts, await isDirty()]).toEqual([false, [], true]);
    expect([await commit(memory), memory.spokenTexts]).toEqual([true, [["of the old"]]]);
    expect([await commit(newer), newer.spokenTexts, await isDirty()]).toEqual([
      true,
      [["of the new"]],
      false,
    ]);
  });

  test("[S2.6] a registered session without a completed turn has nothing to commit", async () => {
    const { memory, committer, chat, commit, isDirty } = await openMemorySession(contractRig);
    committer.register(chat.owner, chat.session, memory);
    const { head } = await chat.row();
    expect([await commit(), await isDirty(), memory.batches]).toEqual([false, false, []]);
    expect((await chat.row()).head).toBe(head);
  });

  test("[S2.7] unregistering loses nothing: a commit with the handle passed in handles it", async () => {
    const { memory, committer, chat, turn, commit, isDirty } = await openMemorySession(contractRig);
    committer.register(chat.owner, chat.session, memory);
    await turn("first");
    committer.unregister(chat.session);
    expect([await commit(), await isDirty(), memory.batches]).toEqual([false, true, []]);
    expect([await commit(memory), await isDirty()]).toEqual([true, false]);
    expect(memory.spokenTexts).toEqual([["first"]]);
  });

  test("[S2.8] the drain waits for the commit under way, then commits what was completed meanwhile", async () => {
    const { memory, rig, committer, turn, commit, isDirty } = await openMemorySession(contractRig);
    rig.reachable.set("one", memory);
    await turn("first");
    const { asked, open } = memory.waits();
    const first = commit(memory);
    await asked;
    await turn("second");
    let isDrained = false;
    const drained = committer.drain(10_000).then(() => (isDrained = true));
    await contractRig.store.now();
    expect([isDrained, memory.spokenTexts]).toEqual([false, [["first"]]]);
    open();
    await drained;
    expect([await first, memory.spokenTexts, await isDirty()]).toEqual([
      true,
      [["first"], ["second"]],
      false,
    ]);
  });

  test("[S2.8] a drain ends when its time is up, and what is left stays for the next process", async () => {
    const { memory, rig, committer, turn, isDirty } = await openMemorySession(contractRig);
    rig.reachable.set("one", memory);
    await turn("first");
    const { asked, open } = memory.waits();
    const drained = committer.drain(10_000);
    await Promise.race([asked, drained]);
    await rig.clock.advance(10_000);
    await drained;
    await committer.stop();
    open();
    expect(await isDirty()).toBe(true);
    const later = await openMemorySession(contractRig);
    later.rig.reachable.set("one", later.memory);
    later.committer.start();
    await until(() => later.memory.spokenTexts.flat().includes("first"));
    await later.committer.stop();
    expect(later.memory.batches.map(({ key }) => key)).toContain(memory.batches[0]?.key);
  });

  test("[S2.8] no provider is called after the drain's deadline, even if its call was being prepared", async () => {
    const [isOpening, mayOpen] = [createGate(), createGate()];
    let opened = 0;
    const { memory, rig, committer, turn, isDirty } = await openMemorySession(contractRig, {
      providers: {
        current: () => null,
        async open() {
          opened += 1;
          isOpening.open();
          await mayOpen.promise;
          return memory;
        },
      },
    });
    await turn("first");
    const drained = committer.drain(10_000);
    await Promise.race([isOpening.promise, drained]);
    await rig.clock.advance(10_000);
    await drained;
    mayOpen.open();
    await committer.stop();
    expect([opened, memory.batches, await isDirty()]).toEqual([1, [], true]);
  });

  test("[P10] a process that lost its lease before the provider is called does not call it", async () => {
    const { leases } = contractRig.store;
    const { memory, committer, chat, turn, isDirty } = await openMemorySession(contractRig, {
      providers: {
        current: () => null,
        async open() {
          const held = assertPresent(await leases.read("memory", chat.session));
          const { kind, session, fence: replacing } = held;
          await leases.acquire({ kind, session, holder: aHolder(), ttlMs: 30_000, replacing });
          return memory;
        },
      },
    });
    await turn("first");
    await committer.boundary(chat.owner, chat.session, "clear");
    expect([memory.batches, await isDirty()]).toEqual([[], true]);
  });

  test("[P10] a provider is told to stop when its process has lost the lease", async () => {
    const { memory, rig, chat, turn, commit } = await openMemorySession(contractRig);
    await turn("first");
    const told = createGate();
    memory.answers(async (_batch, signal) => {
      signal.addEventListener("abort", told.open);
      await told.promise;
      return { status: "committed" };
    });
    const committing = commit(memory);
    await until(() => memory.batches.length === 1);
    const { leases } = contractRig.store;
    const {
      kind,
      session,
      fence: replacing,
    } = assertPresent(await leases.read("memory", chat.session));
    await leases.acquire({ kind, session, holder: aHolder(), ttlMs: 30_000, replacing });
    // The next renewal finds out, long before the provider's own timeout.
    await rig.clock.advance(10_000);
    await told.promise;
    expect(await committing).toBe(false);
  });

  test("[S2.15] several turns are one commit at the boundary, and another boundary finds nothing", async () => {
    const { memory, turn, commit } = await openMemorySession(contractRig);
    for (const text of ["one", "two", "three"]) await turn(text);
    expect([await commit(memory), await commit(memory)]).toEqual([true, false]);
    expect(memory.spokenTexts).toEqual([["one", "two", "three"]]);
    expect(memory.batches[0]?.turns[0]?.messages).toEqual([
      { role: "user", text: "one" },
      { role: "assistant", text: "Noted." },
    ]);
    const generations = memory.batches[0]?.turns.map(({ generation }) => generation) ?? [];
    expect(generations).toEqual(generations.toSorted((a, b) => a - b));
  });

  test("[S2.15] each boundary commits what was completed since the one before", async () => {
    const { memory, committer, chat, turn } = await openMemorySession(contractRig);
    committer.register(chat.owner, chat.session, memory);
    for (const text of ["one", "two"]) {
      await turn(text);
      await committer.boundary(chat.owner, chat.session, "compaction");
    }
    expect(memory.spokenTexts).toEqual([["one"], ["two"]]);
  });

  test("[S2.13] a turn that was undone before its session was cleared is not remembered", async () => {
    const { memory, chat, turn, commit } = await openMemorySession(contractRig);
    for (const text of ["kept", "taken back"]) await turn(text);
    const deps = { log: contractRig.log, ids };
    await undo(deps, chat);
    await clear(deps, chat);
    expect(await commit(memory)).toBe(true);
    expect(memory.spokenTexts).toEqual([["kept"]]);
  });

  test("[S2.16] empty and missing ids do nothing, and queries answer no", async () => {
    const { memory, committer, chat } = await openMemorySession(contractRig);
    const { owner } = chat;
    committer.register(owner, "", memory);
    committer.unregister("");
    await committer.evict("");
    await committer.boundary(owner, "", "clear");
    const missing = ids.make("session");
    committer.unregister(missing);
    await committer.evict(missing);
    await committer.boundary(owner, missing, "new_session");
    for (const session of ["", missing] satisfies (SessionId | "")[]) {
      expect(await committer.generation(owner, session)).toBe(0);
      expect(await committer.isDirty(owner, session)).toBe(false);
      expect(await committer.commit(owner, session, memory)).toBe(false);
    }
    expect([memory.batches, committer.figures().known]).toEqual([[], 0]);
  });

  test("the store is sound afterwards", async () => {
    expect(await fsckFindings(contractRig.store)).toEqual([]);
  });
});
