import { fsckFindings } from "@holdfast/testing/conformance/harness";
import { RecordingMemory } from "@holdfast/testing/rigs/memory-rig";
import { until } from "@holdfast/testing/rigs/run-rig";
import { ids, type SessionId } from "@holdfast/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { createDatabase } from "@holdfast/testing/postgres/create-database";

import { postgresDatabase, sqliteDatabase } from "@holdfast/testing/contracts/test-database";

import { openMemorySession } from "@holdfast/testing/contracts/memory-session";

import { openContractRig, type ContractRig } from "@holdfast/testing/contracts/contract-rig";

const databases = [sqliteDatabase, postgresDatabase(createDatabase)];

describe.each(databases)("memory on $name", (kind) => {
  let bed: ContractRig;
  beforeAll(async () => {
    bed = await openContractRig(kind);
  });
  afterAll(() => bed[Symbol.asyncDispose]());

  test("[S2.1] a turn that is completed while a commit is under way waits for the next one", async () => {
    const { memory, turn, commit, isDirty } = await openMemorySession(bed);
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

  test("[S2.2] a failed commit leaves the work and the handle, and the next one succeeds with it", async () => {
    const { memory, keeper, chat, turn, commit, isDirty } = await openMemorySession(bed);
    keeper.register(chat.owner, chat.session, memory);
    await turn("first");
    memory.fails();
    expect([await commit(), await isDirty()]).toEqual([false, true]);
    expect([await commit(), await isDirty()]).toEqual([true, false]);
    expect(memory.spokenTexts).toEqual([["first"], ["first"]]);
    expect(new Set(memory.batches.map(({ key }) => key)).size).toBe(1);
  });

  test("[S2.3] a failed commit with a handle passed in remembers it for a retry without one", async () => {
    const { memory, turn, commit } = await openMemorySession(bed);
    await turn("first");
    memory.fails();
    expect(await commit(memory)).toBe(false);
    expect(await commit()).toBe(true);
    expect(memory.spokenTexts).toEqual([["first"], ["first"]]);
  });

  /** A turn of the first provider that failed, and one of another that came after it. */
  async function openSwitched() {
    const talk = await openMemorySession(bed);
    const { memory, rig, keeper, chat, turn, commit } = talk;
    keeper.register(chat.owner, chat.session, memory);
    await turn("of the old");
    memory.fails();
    expect(await commit()).toBe(false);
    const newer = new RecordingMemory("two");
    rig.turnTo(newer);
    keeper.register(chat.owner, chat.session, newer);
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

  test("[S2.5] turns of two owners are two segments, also when neither was tried before", async () => {
    const { memory, rig, turn, commit, isDirty } = await openMemorySession(bed);
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
    const { memory, keeper, chat, commit, isDirty } = await openMemorySession(bed);
    keeper.register(chat.owner, chat.session, memory);
    const { head } = await chat.row();
    expect([await commit(), await isDirty(), memory.batches]).toEqual([false, false, []]);
    expect((await chat.row()).head).toBe(head);
  });

  test("[S2.7] unregistering loses nothing: a commit with the handle passed in takes it", async () => {
    const { memory, keeper, chat, turn, commit, isDirty } = await openMemorySession(bed);
    keeper.register(chat.owner, chat.session, memory);
    await turn("first");
    keeper.unregister(chat.session);
    expect([await commit(), await isDirty(), memory.batches]).toEqual([false, true, []]);
    expect([await commit(memory), await isDirty()]).toEqual([true, false]);
    expect(memory.spokenTexts).toEqual([["first"]]);
  });

  test("[S2.8] the drain waits for the commit under way, then commits what was completed meanwhile", async () => {
    const { memory, rig, keeper, turn, commit, isDirty } = await openMemorySession(bed);
    rig.reachable.set("one", memory);
    await turn("first");
    const { asked, open } = memory.waits();
    const first = commit(memory);
    await asked;
    await turn("second");
    let isDrained = false;
    const drained = keeper.drain(10_000).then(() => (isDrained = true));
    await bed.store.now();
    expect([isDrained, memory.spokenTexts]).toEqual([false, [["first"]]]);
    open();
    await drained;
    expect([await first, memory.spokenTexts, await isDirty()]).toEqual([
      true,
      [["first"], ["second"]],
      false,
    ]);
  });

  test("[S2.8] a drain is over when its time is, and what is left stays for the next process", async () => {
    const { memory, rig, keeper, turn, isDirty } = await openMemorySession(bed);
    rig.reachable.set("one", memory);
    await turn("first");
    const { asked, open } = memory.waits();
    const drained = keeper.drain(10_000);
    await asked;
    await rig.clock.advance(10_000);
    await drained;
    await keeper.stop();
    open();
    expect(await isDirty()).toBe(true);
    const later = await openMemorySession(bed);
    later.rig.reachable.set("one", later.memory);
    later.keeper.start();
    await until(() => later.memory.spokenTexts.flat().includes("first"));
    await later.keeper.stop();
    expect(later.memory.batches.map(({ key }) => key)).toContain(memory.batches[0]?.key);
  });

  test("[S2.15] several turns are one commit at the boundary, and a further one finds nothing", async () => {
    const { memory, turn, commit } = await openMemorySession(bed);
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

  test("[S2.16] empty and missing ids do nothing, and the questions answer no", async () => {
    const { memory, keeper, chat } = await openMemorySession(bed);
    const { owner } = chat;
    keeper.register(owner, "", memory);
    keeper.unregister("");
    await keeper.evict("");
    await keeper.boundary(owner, "", "clear");
    const missing = ids.make("session");
    keeper.unregister(missing);
    await keeper.evict(missing);
    await keeper.boundary(owner, missing, "new_session");
    for (const session of ["", missing] satisfies (SessionId | "")[]) {
      expect(await keeper.generation(owner, session)).toBe(0);
      expect(await keeper.isDirty(owner, session)).toBe(false);
      expect(await keeper.commit(owner, session, memory)).toBe(false);
    }
    expect([memory.batches, keeper.figures().known]).toEqual([[], 0]);
  });

  test("the store is sound after all of it", async () => {
    expect(await fsckFindings(bed.store)).toEqual([]);
  });
});
