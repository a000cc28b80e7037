import { expect, test, vi } from "vitest";

import { ids, type NoticeEntry, pendingRecoveryIn } from "@holdfast/protocol";
import { contractSuite, useRig } from "@holdfast/testing/contracts/contract-suite";
import { fsckFindings } from "@holdfast/testing/conformance/harness";
import {
  abandonAndRecover,
  copySpills,
  type LateJournalRig,
  openLateJournalRig,
  replaceSpill,
  type SpillHome,
  summarizeEntries,
} from "@holdfast/testing/contracts/late-journal-rig";
import { manualClock } from "@holdfast/testing/fakes/manual-clock";
import { says, scriptedModel } from "@holdfast/testing/fakes/scripted-model";
import { anEvent } from "@holdfast/testing/fixtures/factories";
import { assertPresent } from "@holdfast/testing/fixtures/open-session";
import { createGate, modelMessageLine, until } from "@holdfast/testing/rigs/run-rig";

import { branch } from "../src/history/branch.ts";
import { clear } from "../src/history/cut.ts";
import type { SpillStore } from "../src/ports/spill.ts";

export const lateJournalContract = contractSuite("a late journal", (factory) => {
  const rig = useRig(() => openLateJournalRig(factory));

  const noticeIn = (entries: Awaited<ReturnType<LateJournalRig["read"]>>): NoticeEntry => {
    const notices = entries.filter((entry) => entry.type === "notice");
    expect(notices).toHaveLength(1);
    return assertPresent(notices[0]);
  };

  test("[S4.1] before the journal arrives the notice says recovering, and the run is over", async () => {
    const { chat, said, read, here } = await abandonAndRecover(rig);
    const entries = await read();
    expect(summarizeEntries(entries)).toEqual([
      "user: Begin",
      "assistant: It was ",
      "notice: recovering",
    ]);
    const notice = noticeIn(entries);
    expect(notice.text).not.toMatch(/[Nn]othing/);
    expect(notice.details).toMatchObject({
      runId: said.runId,
      recovery: { tries: 0 },
    });
    const { recovery } = assertPresent(pendingRecoveryIn(notice.details));
    expect(recovery.firstSeen).toBeGreaterThan(notice.at - 10_000);
    expect(recovery.firstSeen).toBeLessThanOrEqual(notice.at);
    expect(await chat.row()).toMatchObject({ liveRun: null, openDeltas: 0 });
    expect(await said.run()).toMatchObject({ state: "interrupted" });
    expect(here.files()).toEqual([]);
  });

  test("[S4.2] once it arrives, its text and tools are above the notice, in transcript and context", async () => {
    const { chat, said, read, there, here } = await abandonAndRecover(rig);
    const before = await chat.row();
    const call = { callId: ids.make("call"), resultId: ids.make("message") };
    const messageId = ids.make("message");
    await replaceSpill(there, (write) => [
      write("message.delta", { messageId, text: "a dark night. " }),
      write("tool.started", { ...call, name: "look", input: {}, replay: "never" }),
      write("tool.ended", { ...call, outcome: "ok", output: "rain" }),
      write("message.delta", { messageId, text: "It rained." }),
    ]);

    const next = rig.recoverer(here, {}, [says("And so on.")]);
    const after = await rig.send("And then?", { chat });
    next.notify(chat.owner, chat.session);
    await next.idle();
    copySpills(there, here);
    const entries = await read();
    expect(summarizeEntries(entries)).toEqual([
      "user: Begin",
      "assistant: It was ",
      "assistant: a dark night. It rained.*|calls look*",
      "tool: ok rain*",
      "notice: recovered",
      "user: And then?",
      "assistant: And so on.",
    ]);
    expect(noticeIn(entries).details).toEqual({ cause: "host_stopped", runId: said.runId });
    expect(here.files()).toEqual([]);
    // None of it moves the list: later messages are newer.
    expect(await chat.row()).toMatchObject({
      preview: "And so on.",
      messageCount: before.messageCount + 2,
    });

    const model = scriptedModel([says("Indeed.")]);
    const third = rig.recoverer(here, { modelFor: async () => ({ name: "scripted", model }) });
    await rig.send("Go on", { chat: after.chat });
    third.notify(chat.owner, chat.session);
    await third.idle();
    const received = assertPresent(model.requests[0]).messages.map(modelMessageLine);
    expect(received.slice(1, 7)).toEqual([
      "user: Begin",
      "assistant: It was ",
      "notice: [host: the answer above ended early (interrupted).]",
      "assistant: a dark night. It rained.",
      "tool: rain",
      "user: And then?",
    ]);
  });

  test("[S4.3] of two simultaneous reads one does the work, and the other returns at once", async () => {
    const { chat, runner, read, there, here } = await abandonAndRecover(rig);
    const hold = createGate();
    const other = rig.recoverer({
      ...here,
      journals: { ...here.journals, forget: () => hold.promise },
    });
    copySpills(there, here);
    const working = rig.read(other, chat);
    await until(async () => (await chat.entries()).at(-1)?.type === "notice.changed");
    // The first one has not finished and holds the lease.
    expect(summarizeEntries(await read()).slice(0, 2)).toEqual([
      "user: Begin",
      "assistant: It was ",
    ]);
    hold.open();
    expect(summarizeEntries(await working).at(-1)).toBe("notice: recovered");
    const events = await chat.events();
    expect(events.filter((event) => event.type === "notice.changed")).toHaveLength(1);
    await runner.idle();
  });

  /** A home on a slow disk: reading a file keeps the reader waiting. */
  function slowDisk(home: SpillHome) {
    const hold = createGate();
    let reads = 0;
    const journals: SpillStore = {
      ...home.journals,
      async read(ref) {
        reads += 1;
        await hold.promise;
        return home.journals.read(ref);
      },
    };
    return { home: { ...home, journals }, open: () => hold.open(), reads: () => reads };
  }

  test("[S4.3] a journal is claimed before it is read: other readers, here and elsewhere, neither wait nor read", async () => {
    const { chat, there, here } = await abandonAndRecover(rig);
    const disk = slowDisk(here);
    const [first, second] = [rig.recoverer(disk.home), rig.recoverer(disk.home)];
    copySpills(there, here);
    const working = rig.read(first, chat);
    await until(() => disk.reads() === 1);
    for (const other of [first, second, second])
      expect(summarizeEntries(await rig.read(other, chat)).at(-1)).toBe("notice: recovering");
    expect(disk.reads()).toBe(1);
    disk.open();
    expect(summarizeEntries(await working).at(-1)).toBe("notice: recovered");
    expect(summarizeEntries(await rig.read(second, chat)).slice(-2)).toEqual([
      "assistant: a dark night.*",
      "notice: recovered",
    ]);
    expect(disk.reads()).toBe(1);
  });

  test("[S4.3] nobody waits for a slow read: the session goes on, and the result is used once it arrives", async () => {
    const { chat, there, here } = await abandonAndRecover(rig);
    const disk = slowDisk(here);
    const clock = manualClock();
    const runner = rig.recoverer(disk.home, { clock }, [says("And so on.")]);
    copySpills(there, here);
    const working = rig.read(runner, chat);
    await until(() => disk.reads() === 1);
    expect(await rig.leasesOf(chat)).toHaveLength(1);
    await clock.advance(1_000);
    expect(summarizeEntries(await working).at(-1)).toBe("notice: recovering");
    expect(await rig.leasesOf(chat)).toEqual([]);
    // The disk is still reading it: nobody claims it again, and nobody reads it twice.
    expect(summarizeEntries(await rig.read(runner, chat)).at(-1)).toBe("notice: recovering");
    const sweeping = runner.sweep();
    await rig.send("And then?", { chat });
    runner.notify(chat.owner, chat.session);
    await runner.idle();
    await sweeping;
    expect(summarizeEntries(await rig.read(runner, chat)).at(-1)).toBe("assistant: And so on.");
    expect(disk.reads()).toBe(1);
    disk.open();
    await until(async () => (await chat.entries()).at(-1)?.type === "notice.changed");
    await runner.idle();
    expect(summarizeEntries(await rig.read(runner, chat))).toEqual([
      "user: Begin",
      "assistant: It was ",
      "assistant: a dark night.*",
      "notice: recovered",
      "user: And then?",
      "assistant: And so on.",
    ]);
    expect([disk.reads(), here.files()]).toEqual([1, []]);
  });

  test("[S4.3] a folder that is slow to list does not hold up a sweep", async () => {
    const { chat, there, here } = await abandonAndRecover(rig);
    const hold = createGate();
    let scans = 0;
    const journals: SpillStore = {
      ...here.journals,
      async left() {
        scans += 1;
        await hold.promise;
        return here.journals.left();
      },
    };
    const clock = manualClock();
    const runner = rig.recoverer({ ...here, journals }, { clock });
    copySpills(there, here);
    for (let sweeps = 0; sweeps < 2; sweeps += 1) {
      let isSwept = false;
      const sweeping = runner.sweep().then(() => (isSwept = true));
      await until(async () => {
        await clock.advance(1_000);
        return isSwept;
      });
      await sweeping;
    }
    expect(scans).toBe(1);
    hold.open();
    await until(async () => (await chat.entries()).at(-1)?.type === "notice.changed");
    await runner.idle();
    expect(summarizeEntries(await rig.read(runner, chat)).at(-1)).toBe("notice: recovered");
  });

  test("[S4.4] twenty reads of a journal that is still arriving use no try and write nothing", async () => {
    const { chat, read } = await abandonAndRecover(rig);
    const { head } = await chat.row();
    const acquired = vi.spyOn(rig.store.leases, "acquire");
    for (let reads = 0; reads < 20; reads += 1) await read();
    const notice = noticeIn(await read());
    expect(notice).toMatchObject({ kind: "recovering", details: { recovery: { tries: 0 } } });
    expect((await chat.row()).head).toBe(head);
    expect(acquired).not.toHaveBeenCalled();
    acquired.mockRestore();
  });

  /** A journal whose end is known and that has no output. */
  async function sealEmpty(there: SpillHome, here: SpillHome): Promise<void> {
    const header = assertPresent((await there.headers())[0]);
    const opened = await here.journals.begin(header);
    if (opened.status === "failed") throw new Error(opened.message);
    await opened.file.seal({ how: "stopped", model: "scripted", calls: [], usage: null });
    await opened.file.close();
  }

  test("[S4.5] a sealed journal without output uses a try on each read, and the twelfth gives up", async () => {
    const { read, there, here } = await abandonAndRecover(rig);
    await sealEmpty(there, here);
    for (let tries = 1; tries < 12; tries += 1) {
      const notice = noticeIn(await read());
      expect(notice).toMatchObject({ kind: "recovering", details: { recovery: { tries } } });
    }
    const entries = await read();
    expect(summarizeEntries(entries)).toEqual([
      "user: Begin",
      "assistant: It was ",
      "notice: nothing_recovered",
    ]);
    expect(noticeIn(entries).details).not.toHaveProperty("recovery");
    expect(summarizeEntries(await read())).toEqual(summarizeEntries(entries));
  });

  test("[S4.6] after a day the notice gives up, and the journal is not read", async () => {
    const { read, here, chat } = await abandonAndRecover(rig);
    const readsBefore = here.readCount();
    rig.advanceClock(24 * 60 * 60_000);
    expect(summarizeEntries(await read()).at(-1)).toBe("notice: nothing_recovered");
    expect(here.readCount()).toBe(readsBefore);
    expect((await chat.row()).activityAt).toBeLessThan((await rig.store.now()) - 60_000);
  });

  /** A branch that shows an undecided notice of its origin. */
  async function branchWithNotice() {
    const recovered = await abandonAndRecover(rig);
    const { chat, runner } = recovered;
    const deps = { log: rig.log, ids };
    const made = await branch(deps, chat);
    if (made.status !== "branched") throw new Error(JSON.stringify(made));
    const readBranch = () => rig.read(runner, { owner: chat.owner, session: made.session });
    expect(summarizeEntries(await readBranch()).at(-1)).toBe("notice: recovering");
    return { ...recovered, deps, readBranch };
  }

  test("[S4.2] a branch shows what arrives after its origin was cleared, and the origin stays empty", async () => {
    const { chat, deps, readBranch, there, here, read } = await branchWithNotice();
    await clear(deps, chat);
    expect(summarizeEntries(await readBranch()).at(-1)).toBe("notice: recovering");
    copySpills(there, here);
    expect(summarizeEntries(await readBranch())).toEqual([
      "user: Begin",
      "assistant: It was ",
      "assistant: a dark night.*",
      "notice: recovered",
    ]);
    expect(await read()).toEqual([]);
    expect(here.files()).toEqual([]);
  });

  test("[S4.6] after a day a branch gives up, whether its origin was cleared, trashed or purged", async () => {
    const cleared = await branchWithNotice();
    await clear(cleared.deps, cleared.chat);
    const trashed = await branchWithNotice();
    await trashed.chat.commit([anEvent("session.trashed", {})]);
    const purged = await branchWithNotice();
    await purged.chat.commit([anEvent("session.trashed", {})]);
    await rig.store.purge(purged.chat.owner, purged.chat.session);
    for (const { readBranch } of [cleared, trashed, purged])
      expect(summarizeEntries(await readBranch()).at(-1)).toBe("notice: recovering");
    rig.advanceClock(24 * 60 * 60_000 - 60_000);
    expect(summarizeEntries(await cleared.readBranch()).at(-1)).toBe("notice: host_away");
    // An origin in the trash may come back and decide for itself.
    for (const { readBranch } of [trashed, purged])
      expect(summarizeEntries(await readBranch()).at(-1)).toBe("notice: recovering");
    rig.advanceClock(60_000);
    for (const { readBranch } of [cleared, trashed, purged]) {
      const given = await readBranch();
      expect(summarizeEntries(given)).toEqual([
        "user: Begin",
        "assistant: It was ",
        "notice: nothing_recovered",
      ]);
      expect(await readBranch()).toEqual(given);
    }
  });

  test("[S4.9] any number of reads, restarts and recoveries leaves one notice and each text once", async () => {
    const { chat, there, here } = await abandonAndRecover(rig);
    copySpills(there, here);
    const hosts = Array.from({ length: 4 }, () => rig.recoverer(here));
    await Promise.all(
      hosts.flatMap((host) => [host.sweep(), rig.read(host, chat), rig.read(host, chat)]),
    );
    await Promise.all(hosts.map((host) => host.idle()));
    // A host that died between the commit and the removal leaves the file: its content is already known.
    copySpills(there, here);
    const restarted = rig.recoverer(here);
    await restarted.sweep();
    await restarted.idle();
    const last = await rig.read(restarted, chat);
    expect(summarizeEntries(last)).toEqual([
      "user: Begin",
      "assistant: It was ",
      "assistant: a dark night.*",
      "notice: recovered",
    ]);
    expect(here.files()).toEqual([]);
  });

  test("[S4.8] a damaged record costs only itself, and the notice says so", async () => {
    const { read, there, here } = await abandonAndRecover(rig);
    copySpills(there, here);
    here.damage();
    const entries = await read();
    expect(summarizeEntries(entries).slice(2)).toEqual([
      "assistant: a dark night.*",
      "notice: recovered",
    ]);
    const notice = noticeIn(entries);
    // A repeated record is not missing.
    expect(notice.text).toContain("could not be read (2)");
    expect(notice.details?.["damage"]).toMatchObject([
      { kind: "damaged" },
      { kind: "repeated" },
      { kind: "torn" },
    ]);
  });

  test("[S4.8] a late answer that ended by itself is whole only if no record of it is lost", async () => {
    const end = { how: "done", model: "scripted", calls: [], usage: null } as const;
    for (const damage of [[], [{ kind: "damaged", offset: 0 }]] as const) {
      const { chat, there } = await abandonAndRecover(rig);
      const read: SpillStore["read"] = async (ref) => {
        const answer = await there.journals.read(ref);
        return answer.status === "output" ? { ...answer, end, damage } : answer;
      };
      const reader = rig.recoverer({ ...there, journals: { ...there.journals, read } });
      const entries = await rig.read(reader, chat);
      const late = entries.flatMap((entry) => (entry.type === "message" ? [entry] : []))[2];
      expect(late).toMatchObject({ parts: [{ text: "a dark night." }] });
      expect(late?.above).toBeDefined();
      expect(late?.partial).toBe(damage.length === 0 ? undefined : "interrupted");
    }
  });

  test("[P14] fsck accounts for all of it", async () => {
    expect(await fsckFindings(rig.store)).toEqual([]);
  });
});
