import { undo } from "../src/history/cut.ts";
import { fsckFindings } from "@holdfast/testing/conformance/harness";
import { gate, says, scriptedModel } from "@holdfast/testing/fakes/scripted-model";
import { createGate, until, modelMessageText } from "@holdfast/testing/rigs/run-rig";
import { assertPresent } from "@holdfast/testing/fixtures/open-session";
import { ids } from "@holdfast/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { createDatabase } from "@holdfast/testing/postgres/create-database";
import { postgresDatabase, sqliteDatabase } from "@holdfast/testing/contracts/test-database";
import {
  copySpills,
  type LateJournalRig,
  abandonAndRecover,
  openLateJournalRig,
  summarizeEntries,
  silence,
  untilSpilled,
} from "@holdfast/testing/contracts/late-journal-rig";

const databases = [sqliteDatabase, postgresDatabase(createDatabase)];

describe.each(databases)("where a late journal stands on $name", (kind) => {
  let bed: LateJournalRig;
  beforeAll(async () => {
    bed = await openLateJournalRig(kind);
  });
  afterAll(() => bed[Symbol.asyncDispose]());

  test("undoing a later turn leaves what was found late where its notice is, for people and for the model", async () => {
    const { chat, read, there, here } = await abandonAndRecover(bed);
    const next = bed.recoverer(here, {}, [says("And so on.")]);
    await bed.send("And then?", { chat });
    next.notify(chat.owner, chat.session);
    await next.idle();
    copySpills(there, here);
    await read();
    const { owner, session } = chat;
    const undone = await undo({ log: bed.log, ids }, { owner, session });
    expect(undone).toMatchObject({ status: "committed" });
    const expected = [
      "user: Begin",
      "assistant: It was ",
      "assistant: a dark night.*",
      "notice: recovered",
    ];
    expect(summarizeEntries(await read())).toEqual(expected);
    const model = scriptedModel([says("Indeed.")]);
    const third = bed.recoverer(here, { modelFor: async () => ({ name: "scripted", model }) });
    await bed.send("Go on", { chat });
    third.notify(owner, session);
    await third.idle();
    const told = assertPresent(model.requests[0]).messages.slice(1);
    const cutOff = "[host: the answer above ended early (interrupted).]";
    expect(told.map(modelMessageText)).toEqual([
      "Begin",
      "It was ",
      cutOff,
      "a dark night.",
      cutOff,
      "Go on",
    ]);
  });

  test("text that turns up after the run went on is kept as superseded, and the model is not told", async () => {
    const { chat, read, there, here } = await abandonAndRecover(bed, { policy: "resume" });
    copySpills(there, here);
    expect(summarizeEntries(await read())).toEqual([
      "user: Begin",
      "assistant: It was ",
      "assistant: a dark night.* (superseded)",
      "notice: recovered",
      "assistant: Again.",
    ]);
    const model = scriptedModel([says("Yes.")]);
    const next = bed.recoverer(here, { modelFor: async () => ({ name: "scripted", model }) });
    await bed.send("Sure?", { chat });
    next.notify(chat.owner, chat.session);
    await next.idle();
    expect(JSON.stringify(model.requests)).toContain("Again.");
    expect(JSON.stringify(model.requests)).not.toContain("dark night");
  });

  test("what lies in the runner's own home is brought in with the take-over itself", async () => {
    const home = await bed.createHome();
    const away = createGate();
    const reply = [says("It was "), gate(away.promise), says("a dark night."), silence];
    const { said, outage } = await bed.abandonRun([reply], home);
    await until(async () => JSON.stringify(await said.chat.events()).includes("It was "));
    outage.isDown = true;
    away.open();
    await untilSpilled(home, said.chat.session, "dark night");
    const runner = bed.recoverer(home);
    await runner.sweep();
    await runner.idle();
    expect(summarizeEntries(await bed.read(runner, said.chat))).toEqual([
      "user: Begin",
      "assistant: It was a dark night.*",
      "notice: recovered",
    ]);
    expect(home.files()).toEqual([]);
  });

  test.each(["here", "elsewhere"])(
    "what the store had after all is not said twice: its spill lies %s",
    async (where) => {
      const there = await bed.createHome();
      const here = where === "here" ? there : await bed.createHome();
      const [lost, more] = [createGate(), createGate()];
      const reply = [
        says("It was "),
        gate(lost.promise),
        says("a dark "),
        gate(more.promise),
        says("night."),
        silence,
      ];
      const { said, outage } = await bed.abandonRun([reply], there);
      const { chat } = said;
      await until(async () => JSON.stringify(await chat.events()).includes("It was "));
      outage.dropsAnswers = true;
      lost.open();
      await untilSpilled(there, chat.session, "a dark ");
      outage.isDown = true;
      more.open();
      await untilSpilled(there, chat.session, "night.");
      const runner = bed.recoverer(here);
      await runner.sweep();
      await runner.idle();
      if (where === "elsewhere") copySpills(there, here);
      const [, ...answer] = summarizeEntries(await bed.read(runner, chat));
      expect(answer).toEqual(
        where === "here"
          ? ["assistant: It was a dark night.*", "notice: recovered"]
          : ["assistant: It was a dark ", "assistant: night.*", "notice: recovered"],
      );
    },
  );

  test("a home that is known to be empty says so at once", async () => {
    const home = await bed.createHome();
    const { said } = await bed.abandonRun([[silence]], home);
    await until(async () => (await said.run()).state === "running");
    const runner = bed.recoverer(home);
    await runner.sweep();
    await runner.idle();
    expect(summarizeEntries(await bed.read(runner, said.chat))).toEqual([
      "user: Begin",
      "notice: nothing_recovered",
    ]);
  });

  test("[P14] and fsck accounts for all of it", async () => {
    expect(await fsckFindings(bed.store)).toEqual([]);
  });
});
