import { expect, test } from "vitest";

import { ids } from "@holdfast/protocol";
import { contractSuite, useRig } from "@holdfast/testing/contracts/contract-suite";
import { openContractRig } from "@holdfast/testing/contracts/contract-rig";
import { anEvent, aRunState, aSettledMessage } from "@holdfast/testing/fixtures/factories";
import { openTestSession, type TestSession } from "@holdfast/testing/fixtures/open-session";

import { TitleGenerator } from "../src/history/titles.ts";
import type { Log } from "../src/log/log.ts";
import type { Titler, TitleResult } from "../src/ports/background-models.ts";

const titled = (title: string): TitleResult => ({
  status: "titled",
  title,
  model: "m",
  usage: { input: 3, output: 2 },
});
const retitled = (title: string) => anEvent("session.changed", { title });

export const titlesContract = contractSuite("titles", (factory) => {
  const rig = useRig(() => openContractRig(factory));

  const bugs: unknown[] = [];
  function titlesBy(title: Titler["title"], log = rig.log): TitleGenerator {
    const clock = { now: () => 0, sleep: () => new Promise<void>(() => undefined) };
    return new TitleGenerator({
      log,
      ids,
      clock,
      titler: { title },
      onError: (error) => void bugs.push(error),
    });
  }

  /** A session with one completed turn. */
  async function completedTurn(text = "How do herons sleep?"): Promise<TestSession> {
    const chat = await openTestSession(rig.store);
    const { runId, under } = await chat.startRun(text);
    await chat.commit([aSettledMessage(runId, "Standing."), aRunState(runId, "completed")], {
      under,
    });
    return chat;
  }

  async function titleOf(chat: TestSession) {
    const row = await chat.row();
    return [row.title, row.titleSource];
  }

  test("[S3.17] a title is derived at once, generated in the background, and moves nothing in the list", async () => {
    const chat = await completedTurn();
    const { sortAt, activityAt } = await chat.row();
    expect(await titleOf(chat)).toEqual(["How do herons sleep?", "derived"]);
    const titles = titlesBy(async ({ question, answer }) => titled(`${question} ${answer}`));
    titles.notify(chat.owner, chat.session);
    await titles.idle();
    expect(await titleOf(chat)).toEqual(["How do herons sleep? Standing.", "generated"]);
    expect(await chat.row()).toMatchObject({ sortAt, activityAt });
    expect(await rig.store.reads.usage(chat.owner, { session: chat.session })).toMatchObject({
      calls: 1,
      input: 3,
    });
    await chat.commit([anEvent("session.changed", { title: "x", titleSource: "derived" })]);
    expect(await titleOf(chat)).toEqual(["How do herons sleep? Standing.", "generated"]);
  });

  test("[S3.17] a title the person chose meanwhile stays, and is not even overwritten briefly", async () => {
    const chat = await completedTurn();
    const asked = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const titles = titlesBy(async () => {
      asked.resolve();
      await release.promise;
      return titled("Generated");
    });
    titles.notify(chat.owner, chat.session);
    await asked.promise;
    await chat.commit([retitled("My own")]);
    const { head } = await chat.row();
    release.resolve();
    await titles.idle();
    expect(await titleOf(chat)).toEqual(["My own", "chosen"]);
    expect((await chat.row()).head).toBe(head);
    // Nor by a late writer without expectations.
    await chat.commit([anEvent("session.changed", { title: "Late", titleSource: "generated" })]);
    expect(await titleOf(chat)).toEqual(["My own", "chosen"]);
  });

  test("[S3.17] a title chosen between the last read and the write is not overwritten either", async () => {
    const chat = await completedTurn();
    const log = rig.log;
    let writes = 0;
    const late: Log = {
      ...log,
      store: log.store,
      async commit(commit) {
        writes += 1;
        if (writes === 1) await chat.commit([retitled("My own")]);
        return log.commit(commit);
      },
    };
    const titles = titlesBy(async () => titled("Generated"), late);
    titles.notify(chat.owner, chat.session);
    await titles.idle();
    expect(await titleOf(chat)).toEqual(["My own", "chosen"]);
    const generated = (await chat.events()).filter(
      ({ data }) => data["titleSource"] === "generated",
    );
    expect([writes, generated]).toEqual([1, []]);
  });

  test("[S3.17] other changes meanwhile do not prevent the title", async () => {
    const chat = await completedTurn();
    const titles = titlesBy(async () => {
      await chat.commit([anEvent("session.changed", { pinned: true })]);
      return titled("Generated");
    });
    titles.notify(chat.owner, chat.session);
    await titles.idle();
    expect(await titleOf(chat)).toEqual(["Generated", "generated"]);
  });

  test("a restart finds untitled sessions, and a titled session is never looked at again", async () => {
    const [lost, hopeless] = [
      await completedTurn("Lost in a crash"),
      await completedTurn("Hopeless"),
    ];
    const broken = await completedTurn("Broken");
    const untouched = await openTestSession(rig.store, { title: "Chosen" });
    const asked: string[] = [];
    const titles = titlesBy(async ({ question }) => {
      asked.push(question);
      if (question === "Broken") throw new Error("no such model");
      return question === "Hopeless" ? { status: "failed" } : titled("Found");
    });
    await titles.sweep();
    await titles.idle();
    expect(asked).toEqual([]);
    rig.advanceClock(60_000);
    for (const _ of [1, 2, 3, 4]) {
      await titles.sweep();
      await titles.idle();
    }
    const thrice = (question: string) => [question, question, question];
    expect(asked.toSorted()).toEqual([
      ...thrice("Broken"),
      ...thrice("Hopeless"),
      "Lost in a crash",
    ]);
    expect(bugs.map(String)).toEqual(thrice("Error: no such model"));
    expect(await titleOf(broken)).toEqual(["Broken", "generated"]);
    expect(await titleOf(lost)).toEqual(["Found", "generated"]);
    expect(await titleOf(hopeless)).toEqual(["Hopeless", "generated"]);
    expect(await titleOf(untouched)).toEqual(["Chosen", "chosen"]);
    expect(await rig.store.work.untitled(10)).toEqual([]);
  });
});
