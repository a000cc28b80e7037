import { expect, test } from "vitest";

import { ids, pendingRecoveryIn } from "@holdfast/protocol";
import { contractSuite, useRig } from "@holdfast/testing/contracts/contract-suite";
import {
  abandonAndRecover,
  copySpills,
  openLateJournalRig,
  silence,
  summarizeEntries,
} from "@holdfast/testing/contracts/late-journal-rig";
import { withMembers } from "@holdfast/testing/contracts/wrapped-stores";
import { gate, says } from "@holdfast/testing/fakes/scripted-model";
import { aDelta, anEvent } from "@holdfast/testing/fixtures/factories";
import { assertPresent } from "@holdfast/testing/fixtures/open-session";
import { createGate, until } from "@holdfast/testing/rigs/run-rig";

import { branch } from "../src/history/branch.ts";
import type { Reads } from "../src/ports/reads.ts";
import { createLog } from "../src/log/log.ts";
import { stateSpills } from "../src/recovery/spill-statement.ts";
import { stopLooking } from "../src/recovery/stop-looking.ts";

const minuteMs = 60_000;

export const lateJournalWaitsContract = contractSuite("waiting for a late journal", (factory) => {
  const rig = useRig(() => openLateJournalRig(factory));
  const deps = () => ({ log: rig.log, ids });

  /** A run whose runner streamed something to the store and is still streaming. */
  async function streamingRun() {
    const [there, here] = [await rig.createHome(), await rig.createHome()];
    const more = createGate();
    const reply = [says("It was "), gate(more.promise), says("late"), silence];
    const { said, runner } = await rig.abandonRun([reply], there);
    const { chat } = said;
    await until(async () => JSON.stringify(await chat.events()).includes("It was "));
    const takeOver = async () => {
      const next = rig.recoverer(here);
      await next.sweep();
      await next.idle();
      return { read: async () => summarizeEntries(await rig.read(next, chat)) };
    };
    return { said, chat, runner, there, here, takeOver, saysMore: () => more.open() };
  }

  test("[S4.10] a runner that stops says that it spilled nothing, and another home does not wait", async () => {
    const { runner, takeOver } = await streamingRun();
    await runner.stop();
    const { read } = await takeOver();
    expect(await read()).toEqual(["user: Begin", "assistant: It was ", "notice: recovered"]);
  });

  test("[S4.10] a runner that stops beside a spill of its own does not say so", async () => {
    const { chat, said, runner, there, takeOver } = await streamingRun();
    const lease = assertPresent((await rig.leasesOf(chat))[0]);
    const { runId } = said;
    const { journals } = there;
    const header = { owner: chat.owner, session: chat.session, runId, fence: lease.fence };
    const opened = await journals.begin({
      ...header,
      place: journals.place,
      ingestId: ids.make("event"),
    });
    if (opened.status === "failed") throw new Error(opened.message);
    await opened.file.append([aDelta(runId)]);
    await opened.file.close();
    await runner.stop();
    const { read } = await takeOver();
    expect((await read()).at(-1)).toBe("notice: recovering");
  });

  test("[S4.10] a home that comes back without a spill decides its notices, wherever they are read", async () => {
    const { there, takeOver } = await streamingRun();
    const { read } = await takeOver();
    expect((await read()).at(-1)).toBe("notice: recovering");
    const back = rig.recoverer(there);
    await back.sweep();
    await back.idle();
    expect((await read()).at(-1)).toBe("notice: nothing_recovered");
  });

  test("[S4.10] a host states its spills again after it lost a run, so that nobody waits for its next start", async () => {
    const { runner, takeOver, saysMore } = await streamingRun();
    await runner.sweep();
    const { read } = await takeOver();
    expect((await read()).at(-1)).toBe("notice: recovering");
    saysMore();
    await runner.idle();
    await runner.sweep();
    expect((await read()).at(-1)).toBe("notice: nothing_recovered");
  });

  test("[S4.10] a statement from before the take-over proves nothing", async () => {
    const { there, takeOver } = await streamingRun();
    expect(await stateSpills(rig.store, there.journals)).toBe(true);
    const { read } = await takeOver();
    expect((await read()).at(-1)).toBe("notice: recovering");
  });

  test("[S4.10] a statement names the spills that a home has, also while they are written, and their notices wait", async () => {
    const { there, read } = await abandonAndRecover(rig);
    expect(await there.journals.left()).toEqual([]);
    expect(await stateSpills(rig.store, there.journals)).toBe(true);
    expect(summarizeEntries(await read()).at(-1)).toBe("notice: recovering");
  });

  test("[S4.11] after a quarter of an hour the notice says that the host is away, once, and still takes what arrives", async () => {
    const { chat, read, there, here } = await abandonAndRecover(rig);
    rig.advanceClock(14 * minuteMs);
    expect(summarizeEntries(await read()).at(-1)).toBe("notice: recovering");
    rig.advanceClock(minuteMs);
    const away = (await read()).at(-1);
    expect(away).toMatchObject({ type: "notice", kind: "host_away" });
    expect(pendingRecoveryIn(away?.type === "notice" && away.details)).toBeDefined();
    const { head } = await chat.row();
    await read();
    expect((await chat.row()).head).toBe(head);
    copySpills(there, here);
    expect(summarizeEntries(await read()).slice(-2)).toEqual([
      "assistant: a dark night.*",
      "notice: recovered",
    ]);
  });

  test("[S4.11] a host that is away is given up after a day", async () => {
    const { read } = await abandonAndRecover(rig);
    rig.advanceClock(60 * minuteMs);
    expect(summarizeEntries(await read()).at(-1)).toBe("notice: host_away");
    rig.advanceClock(23 * 60 * minuteMs);
    expect(summarizeEntries(await read()).at(-1)).toBe("notice: nothing_recovered");
  });

  test("[S4.12] a person stops the wait at once, and a file that turns up later is still added", async () => {
    const { chat, read, there, here } = await abandonAndRecover(rig);
    const { owner, session } = chat;
    expect(await stopLooking(deps(), owner, session)).toBe(1);
    const [notice] = (await read()).slice(-1);
    expect(notice).toMatchObject({ kind: "nothing_recovered", details: { stoppedWaiting: true } });
    expect(notice?.type === "notice" && notice.details).not.toHaveProperty("recovery");
    expect(await stopLooking(deps(), owner, session)).toBe(0);
    copySpills(there, here);
    const later = rig.recoverer(here);
    await later.sweep();
    await later.idle();
    expect(summarizeEntries(await rig.read(later, chat)).slice(-2)).toEqual([
      "assistant: a dark night.*",
      "notice: recovered",
    ]);
  });

  test("[S4.12] only the notice that was meant is settled, also while a run holds the lease", async () => {
    const { chat, here, read } = await abandonAndRecover(rig);
    const answering = createGate();
    const next = rig.recoverer(here, {}, [[says("And "), gate(answering.promise)]]);
    await rig.send("And then?", { chat });
    next.notify(chat.owner, chat.session);
    await until(async () => JSON.stringify(await chat.events()).includes("And "));
    const [entry] = (await read()).filter(({ type }) => type === "notice");
    const noticeId = assertPresent(entry?.type === "notice" ? entry.noticeId : undefined);
    const { owner, session } = chat;
    expect(await stopLooking(deps(), owner, session, ids.make("notice"))).toBe(0);
    expect(await stopLooking(deps(), owner, session, noticeId)).toBe(1);
    answering.open();
    await next.idle();
    expect(summarizeEntries(await read())).toContain("notice: nothing_recovered");
  });

  test("[S4.12] a notice that is decided while a person stops the wait is left as it was decided", async () => {
    const { chat, read, there, here } = await abandonAndRecover(rig);
    const { reads } = rig.store;
    let looks = 0;
    const store = withMembers(rig.store, {
      reads: Object.create(reads, {
        events: {
          value: async (...query: Parameters<Reads["events"]>) => {
            const page = await reads.events(...query);
            looks += 1;
            // The first look finds the notice; the second is the one that the commit relies on.
            if (looks !== 2) return page;
            copySpills(there, here);
            await read();
            return page;
          },
        },
      }) as Reads,
    });
    const log = createLog(store);
    expect(await stopLooking({ log, ids }, chat.owner, chat.session)).toBe(0);
    expect(summarizeEntries(await read()).at(-1)).toBe("notice: recovered");
  });

  test("[S4.12] a branch settles for itself what its origin no longer can", async () => {
    const { chat, runner } = await abandonAndRecover(rig);
    const made = await branch(deps(), chat);
    if (made.status !== "branched") throw new Error(JSON.stringify(made));
    await chat.commit([anEvent("session.trashed", {})]);
    const target = { owner: chat.owner, session: made.session };
    expect(await stopLooking(deps(), target.owner, target.session)).toBe(1);
    expect(summarizeEntries(await rig.read(runner, target)).at(-1)).toBe(
      "notice: nothing_recovered",
    );
  });
});
