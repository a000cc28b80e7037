import { expect, test } from "vitest";

import { ids } from "@holdfast/protocol";
import { contractSuite, useRig } from "@holdfast/testing/contracts/contract-suite";
import { fsckFindings } from "@holdfast/testing/conformance/harness";
import {
  abandonAndRecover,
  copySpills,
  openLateJournalRig,
  replaceSpill,
  silence,
  summarizeEntries,
  untilSpilled,
} from "@holdfast/testing/contracts/late-journal-rig";
import {
  calls,
  gate,
  says,
  type Script,
  scriptedModel,
} from "@holdfast/testing/fakes/scripted-model";
import { assertPresent, TestSession } from "@holdfast/testing/fixtures/open-session";
import {
  createGate,
  createTool,
  modelMessageText,
  okResult,
  until,
  untilRecorded,
} from "@holdfast/testing/rigs/run-rig";

import { branch } from "../src/history/branch.ts";
import { undo } from "../src/history/undo.ts";

export const lateJournalPositionContract = contractSuite(
  "the position of a late journal",
  (factory) => {
    const rig = useRig(() => openLateJournalRig(factory));

    test("undoing a later turn leaves late entries where their notice is, for people and for the model", async () => {
      const { chat, read, there, here } = await abandonAndRecover(rig);
      const next = rig.recoverer(here, {}, [says("And so on.")]);
      await rig.send("And then?", { chat });
      next.notify(chat.owner, chat.session);
      await next.idle();
      copySpills(there, here);
      await read();
      const { owner, session } = chat;
      const undone = await undo({ log: rig.log, ids }, { owner, session });
      expect(undone).toMatchObject({ status: "committed" });
      const expected = [
        "user: Begin",
        "assistant: It was ",
        "assistant: a dark night.*",
        "notice: recovered",
      ];
      expect(summarizeEntries(await read())).toEqual(expected);
      const model = scriptedModel([says("Indeed.")]);
      const third = rig.recoverer(here, { modelFor: async () => ({ name: "scripted", model }) });
      await rig.send("Go on", { chat });
      third.notify(owner, session);
      await third.idle();
      const received = assertPresent(model.requests[0]).messages.slice(1);
      const cutOff = "[host: the answer above ended early (interrupted).]";
      expect(received.map(modelMessageText)).toEqual([
        "Begin",
        "It was ",
        cutOff,
        "a dark night.",
        cutOff,
        "Go on",
      ]);
    });

    test("text that turns up after the run continued is kept as superseded, and not sent to the model", async () => {
      const { chat, read, there, here } = await abandonAndRecover(rig, { policy: "resume" });
      copySpills(there, here);
      expect(summarizeEntries(await read())).toEqual([
        "user: Begin",
        "assistant: It was ",
        "assistant: a dark night.* (superseded)",
        "notice: recovered",
        "assistant: Again.",
      ]);
      const model = scriptedModel([says("Yes.")]);
      const next = rig.recoverer(here, { modelFor: async () => ({ name: "scripted", model }) });
      await rig.send("Sure?", { chat });
      next.notify(chat.owner, chat.session);
      await next.idle();
      expect(JSON.stringify(model.requests)).toContain("Again.");
      expect(JSON.stringify(model.requests)).not.toContain("dark night");
    });

    test("a spill in the runner's own home is ingested by the take-over itself", async () => {
      const home = await rig.createHome();
      const away = createGate();
      const reply = [says("It was "), gate(away.promise), says("a dark night."), silence];
      const { said: sent, outage } = await rig.abandonRun([reply], home);
      await until(async () => JSON.stringify(await sent.chat.events()).includes("It was "));
      outage.isDown = true;
      away.open();
      await untilSpilled(home, sent.chat.session, "dark night");
      const runner = rig.recoverer(home);
      await runner.sweep();
      await runner.idle();
      expect(summarizeEntries(await rig.read(runner, sent.chat))).toEqual([
        "user: Begin",
        "assistant: It was a dark night.*",
        "notice: recovered",
      ]);
      expect(home.files()).toEqual([]);
    });

    test.each(["here", "elsewhere"])(
      "output that the store had after all is not repeated: its spill lies %s",
      async (location) => {
        const there = await rig.createHome();
        const here = location === "here" ? there : await rig.createHome();
        const [lost, more] = [createGate(), createGate()];
        const reply = [
          says("It was "),
          gate(lost.promise),
          says("a dark "),
          gate(more.promise),
          says("night."),
          silence,
        ];
        const { said: sent, outage } = await rig.abandonRun([reply], there);
        const { chat } = sent;
        await until(async () => JSON.stringify(await chat.events()).includes("It was "));
        await until(() => outage.unanswered === 0);
        outage.dropsAnswers = true;
        lost.open();
        await untilSpilled(there, chat.session, "a dark ");
        // The first try may still be in flight, so only stored text must not be repeated.
        await until(async () => JSON.stringify(await chat.events()).includes("a dark "));
        outage.isDown = true;
        more.open();
        await untilSpilled(there, chat.session, "night.");
        const runner = rig.recoverer(here);
        await runner.sweep();
        await runner.idle();
        if (location === "elsewhere") copySpills(there, here);
        const [, ...answer] = summarizeEntries(await rig.read(runner, chat));
        expect(answer).toEqual(
          location === "here"
            ? ["assistant: It was a dark night.*", "notice: recovered"]
            : ["assistant: It was a dark ", "assistant: night.*", "notice: recovered"],
        );
      },
    );

    test("[P7] what turns up while the run's next runner is frozen in a tool does not make the tool run again", async () => {
      const [there, here, later] = [
        await rig.createHome(),
        await rig.createHome(),
        await rig.createHome(),
      ];
      const away = createGate();
      const reply = [says("It was "), gate(away.promise), says("a dark night."), silence];
      const { said, outage } = await rig.abandonRun([reply], there);
      const { chat } = said;
      await until(async () => JSON.stringify(await chat.events()).includes("It was "));
      outage.isDown = true;
      away.open();
      await untilSpilled(there, chat.session, "dark night");
      const call = { callId: ids.make("call"), resultId: ids.make("message") };
      await replaceSpill(there, (write) => [
        write("message.delta", { messageId: ids.make("message"), text: "a dark night." }),
        write("tool.started", { ...call, name: "look", input: {}, replay: "never" }),
        write("tool.ended", { ...call, outcome: "ok", output: "rain" }),
      ]);
      let paid = 0;
      const pay = createTool("pay", async (_call, { signal }) => {
        paid += 1;
        if (paid === 1) await new Promise((resolve) => signal.addEventListener("abort", resolve));
        return okResult("paid");
      });
      const deps = { policy: "resume", tools: new Map([["pay", pay]]) } as const;
      const frozen = rig.recoverer(here, deps, [calls("pay")]);
      await frozen.sweep();
      await untilRecorded({ chat }, "tool.started");
      rig.advanceClock(60_000);
      copySpills(there, later);
      const last = rig.recoverer(later, deps, [says("Done.")]);
      await rig.read(last, chat);
      await last.sweep();
      await last.idle();
      rig.advanceClock(-60_000);
      expect(summarizeEntries(await rig.read(last, chat))).toEqual([
        "user: Begin",
        "assistant: It was ",
        "assistant: a dark night.*|calls look* (superseded)",
        "tool: ok rain* (superseded)",
        "notice: recovered",
        "assistant: calls pay",
        "tool: unknown ",
        expect.stringMatching(/^notice: rec/),
        "assistant: Done.",
      ]);
      expect(paid).toBe(1);
    });

    test("[P7] a run in a branch sees its tool's result, also after its origin found late output", async () => {
      const { chat, there, here, read } = await abandonAndRecover(rig);
      const made = await branch({ log: rig.log, ids }, chat);
      if (made.status !== "branched") throw new Error(JSON.stringify(made));
      const inBranch = new TestSession(rig.store, { owner: chat.owner, session: made.session });
      const next = rig.recoverer(here, {}, () => says("And so on."));
      for (const text of ["And then?", "And after that?", "And at last?"]) {
        await rig.send(text, { chat });
        next.notify(chat.owner, chat.session);
        await next.idle();
      }
      copySpills(there, here);
      expect(summarizeEntries(await read())).toContain("assistant: a dark night.*");
      let paid = 0;
      const pay = createTool("pay", async () => {
        paid += 1;
        return okResult("paid");
      });
      const script: Script = ({ messages }) =>
        messages.some(({ role }) => role === "tool") ? says("Done.") : calls("pay");
      const last = rig.recoverer(here, { tools: new Map([["pay", pay]]) }, script);
      await rig.send("Pay", { chat: inBranch });
      last.notify(inBranch.owner, inBranch.session);
      await last.idle();
      expect(paid).toBe(1);
      expect(summarizeEntries(await rig.read(last, inBranch))).toEqual([
        "user: Begin",
        "assistant: It was ",
        "assistant: a dark night.*",
        "notice: recovered",
        "user: Pay",
        "assistant: calls pay",
        "tool: ok paid",
        "assistant: Done.",
      ]);
    });

    test("a home that is known to be empty says so at once", async () => {
      const home = await rig.createHome();
      const { said: sent } = await rig.abandonRun([[silence]], home);
      await until(async () => (await sent.run()).state === "running");
      const runner = rig.recoverer(home);
      await runner.sweep();
      await runner.idle();
      expect(summarizeEntries(await rig.read(runner, sent.chat))).toEqual([
        "user: Begin",
        "notice: nothing_recovered",
      ]);
    });

    test("[P14] fsck accounts for all of it", async () => {
      expect(await fsckFindings(rig.store)).toEqual([]);
    });
  },
);
