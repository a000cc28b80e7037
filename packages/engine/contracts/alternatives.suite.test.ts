import { expect, test } from "vitest";

import { decodeEvent, ids, type MessageId, type Seq, type SessionId } from "@holdfast/protocol";
import { fsckFindings } from "@holdfast/testing/conformance/harness";
import { openContractRig } from "@holdfast/testing/contracts/contract-rig";
import { contractSuite, useRig } from "@holdfast/testing/contracts/contract-suite";
import { gate, says, type Script, scriptedModel } from "@holdfast/testing/fakes/scripted-model";
import { aHolder, anEvent } from "@holdfast/testing/fixtures/factories";
import { assertPresent } from "@holdfast/testing/fixtures/open-session";
import { openRunRig, untilStreamed } from "@holdfast/testing/rigs/run-rig";

import { listAlternatives, switchAlternative } from "../src/history/alternatives.ts";
import { branch, duplicate } from "../src/history/branch.ts";
import { clear, textOfEntry, truncate } from "../src/history/cut.ts";
import { interruptThen } from "../src/history/interrupt.ts";
import { redo } from "../src/history/redo.ts";
import { retry, type RetryInput } from "../src/history/retry.ts";
import { undo } from "../src/history/undo.ts";
import { systemClock } from "../src/ports/clock.ts";
import { removeInput } from "../src/run/admit.ts";

export const alternativesContract = contractSuite("alternatives", (factory) => {
  const contractRig = useRig(() => openContractRig(factory));

  /** A session, and what a person does in it. Each answer repeats what the model was sent. */
  async function openSession(script?: Script) {
    const repeat: Script = ({ messages }) => {
      const heard = messages.flatMap((message) => (message.role === "user" ? [message.text] : []));
      return says(`re ${heard.join(", ")}`);
    };
    const rig = await openRunRig(contractRig.store, {
      model: scriptedModel(script ?? repeat),
      clock: systemClock,
    });
    const { owner, session } = rig.chat;
    const target = { owner, session };
    const deps = {
      log: rig.log,
      ids,
      clock: systemClock,
      holder: () => aHolder(),
      runner: rig.runner,
    };
    const shownIn = async (id: SessionId) => {
      const page = await contractRig.store.reads.entries(owner, id, { limit: 200 });
      return (page?.entries ?? []).map(textOfEntry).filter((text) => text !== "");
    };
    const shown = () => shownIn(session);
    async function say(text: string): Promise<void> {
      await rig.say(text);
      await rig.work();
    }
    const seqOf = async (text: string): Promise<Seq> =>
      assertPresent((await rig.entries()).find((entry) => textOfEntry(entry) === text)).seq;
    async function askAgain(change: Omit<RetryInput, "clientId">): Promise<void> {
      const answer = await retry(deps, target, { ...change, clientId: ids.make("message") });
      expect(answer).toMatchObject({ status: "accepted" });
      await rig.work();
    }
    const edit = async (old: string, text: string) => askAgain({ from: await seqOf(old), text });
    /** The versions of the only turn that has some. */
    async function versions() {
      const [set = []] = (await rig.chat.row()).alternatives;
      return set;
    }
    const numbered = async (number: number): Promise<MessageId> =>
      assertPresent((await versions())[number - 1]).messageId;
    const choose = async (number: number) =>
      switchAlternative(deps, target, await numbered(number));
    return { rig, target, deps, shown, shownIn, say, edit, askAgain, seqOf, choose, numbered };
  }

  const done = { status: "committed" };

  test("[P8] [P13] edits and retries keep every earlier answer, and each can be shown again", async () => {
    const { rig, shown, say, edit, askAgain, choose } = await openSession();
    await say("one");
    await edit("one", "two");
    await askAgain({});
    expect(await shown()).toEqual(["two", "re two"]);
    const before = await rig.chat.events();
    const heard: (readonly string[])[] = [];
    for (const number of [1, 2, 3, 1]) {
      expect(await choose(number)).toMatchObject(done);
      heard.push(await shown());
      const { messageCount, preview } = await rig.chat.row();
      expect([messageCount, preview]).toEqual([2, heard.at(-1)?.[1]]);
    }
    expect(heard).toEqual([
      ["one", "re one"],
      ["two", "re two"],
      ["two", "re two"],
      ["one", "re one"],
    ]);
    expect((await rig.chat.events()).slice(0, before.length)).toEqual(before);
    expect(await fsckFindings(contractRig.store)).toEqual([]);
  });

  test("the model gets the version that was chosen, and what followed it", async () => {
    const { shown, say, edit, choose } = await openSession();
    for (const text of ["one", "two"]) await say(text);
    await edit("one", "uno");
    await say("due");
    await choose(1);
    await say("three");
    expect(await shown()).toEqual([
      "one",
      "re one",
      "two",
      "re one, two",
      "three",
      "re one, two, three",
    ]);
    await choose(2);
    expect(await shown()).toEqual(["uno", "re uno", "due", "re uno, due"]);
    await choose(1);
    expect((await shown()).at(-1)).toBe("re one, two, three");
  });

  test("[P13] undo after an edit shows the version before, a second undo hides the turn, and redo mirrors both", async () => {
    const { deps, target, shown, say, edit } = await openSession();
    for (const text of ["one", "two"]) await say(text);
    await edit("one", "uno");
    await undo(deps, target);
    expect(await shown()).toEqual(["one", "re one", "two", "re one, two"]);
    await undo(deps, target);
    expect(await shown()).toEqual(["one", "re one"]);
    await undo(deps, target);
    expect(await shown()).toEqual([]);
    expect(await undo(deps, target)).toMatchObject({ code: "nothing_to_undo" });
    const back: (readonly string[])[] = [];
    for (let step = 0; step < 3; step += 1) {
      expect(await redo(deps, target)).toMatchObject(done);
      back.push(await shown());
    }
    expect(back).toEqual([
      ["one", "re one"],
      ["one", "re one", "two", "re one, two"],
      ["uno", "re uno"],
    ]);
    expect(await redo(deps, target)).toMatchObject({ code: "nothing_to_redo" });
    expect(await fsckFindings(contractRig.store)).toEqual([]);
  });

  test("undo goes back through all versions, and choosing one ends the redo", async () => {
    const { deps, target, shown, say, edit, choose } = await openSession();
    await say("one");
    await edit("one", "two");
    await edit("two", "three");
    await undo(deps, target);
    expect(await shown()).toEqual(["two", "re two"]);
    await undo(deps, target);
    expect(await shown()).toEqual(["one", "re one"]);
    await choose(3);
    expect(await shown()).toEqual(["three", "re three"]);
    expect(await redo(deps, target)).toMatchObject({ code: "nothing_to_redo" });
    await undo(deps, target);
    expect(await shown()).toEqual(["two", "re two"]);
  });

  test("an undo of several turns hides them all, whatever versions the first of them has", async () => {
    const { deps, target, shown, say, edit } = await openSession();
    for (const text of ["zero", "one"]) await say(text);
    await edit("one", "uno");
    await say("due");
    expect(await undo(deps, target, 2)).toMatchObject(done);
    expect(await shown()).toEqual(["zero", "re zero"]);
    await redo(deps, target);
    expect((await shown()).at(-1)).toBe("re zero, uno, due");
  });

  test("versions within a version come back with it, each as it was left", async () => {
    const { rig, deps, target, shown, say, edit } = await openSession();
    for (const text of ["one", "two"]) await say(text);
    await edit("two", "deux");
    await edit("one", "uno");
    const [inner, outer] = (await rig.chat.row()).alternatives;
    const choose = (set: typeof inner, at: number) =>
      switchAlternative(deps, target, assertPresent(set?.[at]).messageId);
    await choose(outer, 0);
    expect(await shown()).toEqual(["one", "re one", "deux", "re one, deux"]);
    await choose(outer, 1);
    // Also while the turn that it is a version of is out of view itself.
    expect(await choose(inner, 0)).toMatchObject(done);
    expect(await shown()).toEqual(["one", "re one", "two", "re one, two"]);
    await choose(outer, 1);
    await choose(outer, 0);
    expect(await shown()).toEqual(["one", "re one", "two", "re one, two"]);
    expect(await fsckFindings(contractRig.store)).toEqual([]);
  });

  test("truncate, clear and redo leave the versions as they were", async () => {
    const { deps, target, shown, say, edit, choose, seqOf } = await openSession();
    for (const text of ["one", "two"]) await say(text);
    await truncate(deps, target, await seqOf("re one, two"));
    await edit("one", "uno");
    await clear(deps, target);
    expect(await choose(1)).toMatchObject({ status: "refused", code: "entry_not_found" });
    await redo(deps, target);
    expect(await shown()).toEqual(["uno", "re uno"]);
    await choose(1);
    expect(await shown()).toEqual(["one", "re one", "two"]);
    await choose(2);
    expect(await shown()).toEqual(["uno", "re uno"]);
  });

  test("of two clients that choose at once, one is told that the conversation moved", async () => {
    const { rig, deps, target, shown, say, edit, numbered } = await openSession();
    await say("one");
    await edit("one", "two");
    await edit("two", "three");
    const expectedHead = (await rig.chat.row()).head;
    const first = await numbered(1);
    const second = await numbered(2);
    expect(await switchAlternative(deps, { ...target, expectedHead }, first)).toMatchObject(done);
    expect(await switchAlternative(deps, { ...target, expectedHead }, second)).toMatchObject({
      status: "refused",
      code: "head_moved",
    });
    expect(await shown()).toEqual(["one", "re one"]);
    const { head } = await rig.chat.row();
    // Choosing what is shown, or sending the same command twice, changes nothing.
    expect(await switchAlternative(deps, target, first)).toMatchObject(done);
    const command = ids.make("event");
    await switchAlternative(deps, { ...target, command }, second);
    await switchAlternative(deps, { ...target, command }, second);
    expect((await rig.chat.row()).head).toBe(head + 1);
  });

  test("[P4] a choice during a run is refused, or ends the run first and keeps its output as that version", async () => {
    const resume = Promise.withResolvers<void>();
    const { rig, deps, target, shown, say, numbered, choose } = await openSession(
      (_request, before) =>
        before === 0 ? says("First") : [says("Half"), gate(resume.promise), says(" more")],
    );
    await say("one");
    await retry(deps, target, { clientId: "again" });
    rig.runner.notify(target.owner, target.session);
    await untilStreamed(rig, "Half");
    const first = await numbered(1);
    expect(await choose(1)).toMatchObject({ status: "refused", code: "run_live" });
    const chosen = interruptThen(deps, target, (on) => switchAlternative(deps, on, first));
    expect(await chosen).toMatchObject(done);
    resume.resolve();
    await rig.runner.idle();
    expect(await shown()).toEqual(["one", "First"]);
    await choose(2);
    expect(await shown()).toEqual(["one", "Half"]);
  });

  test("a new version that waits for its run is no choice yet, and leaves nothing behind when it is withdrawn", async () => {
    const { rig, deps, target, shown, say, choose } = await openSession();
    await say("one");
    const waiting = await retry(deps, target, { text: "two", clientId: "edit" });
    if (waiting.status !== "accepted") throw new Error(JSON.stringify(waiting));
    expect(await choose(1)).toMatchObject({ status: "refused", code: "run_live" });
    const { messageId } = waiting;
    await removeInput(rig.log, ids, { ...target, messageId });
    expect((await rig.chat.row()).alternatives).toEqual([]);
    await redo(deps, target);
    expect(await shown()).toEqual(["one", "re one"]);
    expect(await fsckFindings(contractRig.store)).toEqual([]);
  });

  test("a branch and a duplicate begin with the version in view, and make versions of their own", async () => {
    const { rig, deps, target, shown, shownIn, say, edit, choose } = await openSession();
    await say("one");
    await edit("one", "two");
    for (const copy of [branch, duplicate]) {
      const result = await copy(deps, target);
      if (result.status !== "branched") throw new Error(JSON.stringify(result));
      const own = { ...target, session: result.session };
      const row = async () =>
        assertPresent(await contractRig.store.reads.session(own.owner, own.session));
      expect((await row()).alternatives).toEqual([]);
      await retry(deps, own, { text: "three", clientId: "edit" });
      rig.runner.notify(own.owner, own.session);
      await rig.runner.idle();
      expect(await shownIn(own.session)).toEqual(["three", "re three"]);
      const [listed] = assertPresent(
        await listAlternatives(contractRig.store.reads, own.owner, own.session),
      );
      expect(listed?.map(({ text, answer, inView }) => [text, answer, inView])).toEqual([
        ["two", "re two", false],
        ["three", "re three", true],
      ]);
      await switchAlternative(deps, own, assertPresent(listed?.[0]).messageId);
      expect(await shownIn(own.session)).toEqual(["two", "re two"]);
    }
    await choose(1);
    expect(await shown()).toEqual(["one", "re one"]);
    expect(await fsckFindings(contractRig.store)).toEqual([]);
  });

  test("a summary made in one version is not part of another", async () => {
    const { rig, shown, say, edit, choose } = await openSession();
    for (const text of ["one", "two"]) await say(text);
    await edit("two", "deux");
    const covers = { from: 1 as Seq, to: (await rig.chat.row()).head };
    const summary = anEvent("context.compacted", { epoch: 1, covers, summary: "In short." });
    const { fence } = await rig.chat.lease("compaction");
    await rig.chat.commit([summary], { under: { lease: "compaction", fence } });
    await contractRig.store.leases.release({
      kind: "compaction",
      session: rig.chat.session,
      fence,
    });
    await choose(1);
    await say("three");
    expect((await shown()).at(-1)).toBe("re one, two, three");
    await choose(2);
    await say("trois");
    expect((await shown()).at(-1)).toMatch(/In short\..*, trois$/s);
  });

  test("asking again with another model changes the session's model in the same commit", async () => {
    const { rig, target, say, askAgain } = await openSession();
    await say("one");
    await askAgain({ model: "rehearsal/other" });
    expect(await rig.chat.row()).toMatchObject({ model: "rehearsal/other" });
    const [listed] = assertPresent(
      await listAlternatives(contractRig.store.reads, target.owner, target.session),
    );
    expect(listed?.map(({ inView }) => inView)).toEqual([false, true]);
  });

  test("[P12] retries of one turn, going back and forth, and undo with redo add no ranges", async () => {
    const { rig, deps, target, shown, say, edit, askAgain, choose } = await openSession();
    const count = async () => (await rig.chat.row()).ranges.length;
    for (const text of ["one", "two"]) await say(text);
    await edit("two", "deux");
    const afterEdit = await count();
    for (let times = 0; times < 3; times += 1) await askAgain({});
    expect(await count()).toBe(afterEdit);
    await choose(1);
    await choose(2);
    const afterSwitch = await count();
    for (const number of [1, 2, 1, 2]) await choose(number);
    expect(await count()).toBe(afterSwitch);
    for (let times = 0; times < 3; times += 1) {
      expect(await undo(deps, target)).toMatchObject(done);
      expect(await redo(deps, target)).toMatchObject(done);
    }
    expect(await count()).toBe(afterSwitch);
    expect(await shown()).toEqual(["one", "re one", "deux", "re one, deux"]);
    // What was said in a version after it was chosen comes back with it.
    await say("trois");
    await choose(1);
    await choose(2);
    expect(await shown()).toContain("trois");
    expect(await fsckFindings(contractRig.store)).toEqual([]);
  });

  test("cuts of older versions have no versions, and can be redone", async () => {
    const { rig, deps, target, shown, say } = await openSession();
    await say("one");
    const { head, ranges } = await rig.chat.row();
    await rig.chat.commit([
      anEvent("history.cut", {
        reason: "edit",
        ranges: [{ from: (head + 2) as Seq, to: null }],
        messageCount: 0,
        preview: "",
        before: { ranges: [...ranges], messageCount: 2, preview: "re one" },
      }),
    ]);
    expect((await rig.chat.row()).alternatives).toEqual([]);
    await redo(deps, target);
    expect(await shown()).toEqual(["one", "re one"]);
    const events = (await rig.chat.events()).map((event) => decodeEvent(event).kind);
    expect(new Set(events)).toEqual(new Set(["known"]));
  });
});
