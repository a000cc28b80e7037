import { undo } from "../src/history/cut.ts";
import { fsckStore } from "@holdfast/testing/conformance/fsck-store";
import { gate, says, scriptedModel } from "@holdfast/testing/fakes/scripted-model";
import { gated, until, wordsIn } from "@holdfast/testing/rigs/run-words";
import { present } from "@holdfast/testing/fixtures/open-session";
import { ids } from "@holdfast/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { createDatabase } from "@holdfast/testing/postgres/create-database";
import { postgresDatabase, sqliteDatabase } from "@holdfast/testing/contracts/test-database";
import {
  carry,
  type LateBed,
  leaveRecovering,
  openLateBed,
  shown,
  silence,
  spilled,
} from "@holdfast/testing/contracts/late-journal-rig";

const databases = [sqliteDatabase, postgresDatabase(createDatabase)];

describe.each(databases)("where a late journal stands on $name", (kind) => {
  let bed: LateBed;
  beforeAll(async () => {
    bed = await openLateBed(kind);
  });
  afterAll(() => bed[Symbol.asyncDispose]());

  test("undoing a later turn leaves what was found late where its notice is, for people and for the model", async () => {
    const { chat, read, there, here } = await leaveRecovering(bed);
    const next = bed.recoverer(here, {}, [says("And so on.")]);
    await bed.say("And then?", { chat });
    next.poke(chat.owner, chat.session);
    await next.idle();
    carry(there, here);
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
    expect(shown(await read())).toEqual(expected);
    const model = scriptedModel([says("Indeed.")]);
    const third = bed.recoverer(here, { modelFor: async () => ({ name: "scripted", model }) });
    await bed.say("Go on", { chat });
    third.poke(owner, session);
    await third.idle();
    const told = present(model.requests[0]).messages.slice(1);
    const cutOff = "[host: the answer above ended early (interrupted).]";
    expect(told.map(wordsIn)).toEqual([
      "Begin",
      "It was ",
      cutOff,
      "a dark night.",
      cutOff,
      "Go on",
    ]);
  });

  test("text that turns up after the run went on is kept as superseded, and the model is not told", async () => {
    const { chat, read, there, here } = await leaveRecovering(bed, { policy: "resume" });
    carry(there, here);
    expect(shown(await read())).toEqual([
      "user: Begin",
      "assistant: It was ",
      "assistant: a dark night.* (superseded)",
      "notice: recovered",
      "assistant: Again.",
    ]);
    const model = scriptedModel([says("Yes.")]);
    const next = bed.recoverer(here, { modelFor: async () => ({ name: "scripted", model }) });
    await bed.say("Sure?", { chat });
    next.poke(chat.owner, chat.session);
    await next.idle();
    expect(JSON.stringify(model.requests)).toContain("Again.");
    expect(JSON.stringify(model.requests)).not.toContain("dark night");
  });

  test("what lies in the runner's own home is brought in with the take-over itself", async () => {
    const home = await bed.home();
    const away = gated();
    const reply = [says("It was "), gate(away.promise), says("a dark night."), silence];
    const { said, outage } = await bed.leaveBehind([reply], home);
    await until(async () => JSON.stringify(await said.chat.events()).includes("It was "));
    outage.away = true;
    away.open();
    await spilled(home, said.chat.session, "dark night");
    const runner = bed.recoverer(home);
    await runner.sweep();
    await runner.idle();
    expect(shown(await bed.read(runner, said.chat))).toEqual([
      "user: Begin",
      "assistant: It was a dark night.*",
      "notice: recovered",
    ]);
    expect(home.files()).toEqual([]);
  });

  test.each(["here", "elsewhere"])(
    "what the store had after all is not said twice: its spill lies %s",
    async (where) => {
      const there = await bed.home();
      const here = where === "here" ? there : await bed.home();
      const [lost, more] = [gated(), gated()];
      const reply = [
        says("It was "),
        gate(lost.promise),
        says("a dark "),
        gate(more.promise),
        says("night."),
        silence,
      ];
      const { said, outage } = await bed.leaveBehind([reply], there);
      const { chat } = said;
      await until(async () => JSON.stringify(await chat.events()).includes("It was "));
      outage.swallow = true;
      lost.open();
      await spilled(there, chat.session, "a dark ");
      outage.away = true;
      more.open();
      await spilled(there, chat.session, "night.");
      const runner = bed.recoverer(here);
      await runner.sweep();
      await runner.idle();
      if (where === "elsewhere") carry(there, here);
      const [, ...answer] = shown(await bed.read(runner, chat));
      expect(answer).toEqual(
        where === "here"
          ? ["assistant: It was a dark night.*", "notice: recovered"]
          : ["assistant: It was a dark ", "assistant: night.*", "notice: recovered"],
      );
    },
  );

  test("a home that is known to be empty says so at once", async () => {
    const home = await bed.home();
    const { said } = await bed.leaveBehind([[silence]], home);
    await until(async () => (await said.run()).state === "running");
    const runner = bed.recoverer(home);
    await runner.sweep();
    await runner.idle();
    expect(shown(await bed.read(runner, said.chat))).toEqual([
      "user: Begin",
      "notice: nothing_recovered",
    ]);
  });

  test("[P14] and fsck accounts for all of it", async () => {
    expect(await fsckStore(bed.store)).toEqual([]);
  });
});
