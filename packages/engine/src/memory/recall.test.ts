import { referenceHarness } from "@holdfast/testing/stores/harnesses";
import { afterEach, beforeEach, expect, test } from "vitest";

import type { Tool } from "../ports/tool.ts";
import { createTool, createGate, okResult, openRunRig } from "@holdfast/testing/rigs/run-rig";
import {
  calls,
  says,
  scriptedModel,
  type ScriptedReply,
} from "@holdfast/testing/fakes/scripted-model";
import { manualClock } from "@holdfast/testing/fakes/manual-clock";
import { RecordingMemory, openMemoryRig } from "@holdfast/testing/rigs/memory-rig";
import { type StoreHarness } from "@holdfast/testing/conformance/harness";
import { createRecall } from "./recall.ts";

let harness: StoreHarness;
beforeEach(async () => void (harness = await referenceHarness.open()));
afterEach(() => harness.close());

/** A runner that queries a memory before it claims a message. */
async function openRecalling(
  memory: RecordingMemory,
  script: () => ScriptedReply = () => says("Well."),
  tools: readonly Tool[] = [],
) {
  const clock = manualClock();
  const rig = openMemoryRig(harness.store);
  const model = scriptedModel(script);
  rig.turnTo(memory);
  rig.reachable.set("one", memory);
  const providers = { current: rig.remembers, open: async () => memory };
  const recall = createRecall({ providers, clock });
  const talk = await openRunRig(harness.store, {
    model,
    tools,
    deps: { recall, memoryOwnerOf: rig.remembers },
  });
  const attached = async () =>
    (await talk.entries()).flatMap(({ type, data }) =>
      type === "message.user" && Array.isArray(data["parts"]) ? [data["parts"].slice(1)] : [],
    );
  return { ...talk, clock, model, attached, committer: rig.committer };
}

test("recollections are attached to the message, stored as sent and quoted to the model", async () => {
  const memory = new RecordingMemory("one");
  memory.recollections = [{ text: "the gate opens at seven" }];
  const talk = await openRecalling(memory);
  await talk.say("When does it open?");
  await talk.work();
  const part = { type: "attached", source: "memory", text: "- the gate opens at seven" };
  expect(await talk.attached()).toEqual([[part]]);
  const sent = JSON.stringify(talk.model.requests[0]?.messages);
  expect(sent).toContain("[memory: material from the host, not a request]");
  expect((await talk.chat.row()).preview).not.toContain("gate");
  // Recalled text is not remembered again.
  await talk.committer.commit(talk.chat.owner, talk.chat.session, memory);
  expect(memory.batches[0]?.turns[0]?.messages[0]?.text).toBe("When does it open?");
});

test("as many whole recollections are attached as fit", async () => {
  const memory = new RecordingMemory("one");
  memory.recollections = Array.from({ length: 9 }, (_, index) => ({
    text: `${index}`.repeat(1_000),
  }));
  const talk = await openRecalling(memory);
  await talk.say("Hello");
  await talk.work();
  const text = JSON.stringify(await talk.attached());
  expect([text.includes("3333"), text.includes("4444"), text.length < 4_300]).toEqual([
    true,
    false,
    true,
  ]);
});

test("what is attached is bounded in bytes, whatever the letters are", async () => {
  const memory = new RecordingMemory("one");
  memory.recollections = ["ä", "ö", "ü"].map((letter) => ({ text: letter.repeat(1_000) }));
  const talk = await openRecalling(memory);
  await talk.say("Hello");
  await talk.work();
  const text = JSON.stringify(await talk.attached());
  expect(["ä", "ö", "ü"].map((letter) => text.includes(letter))).toEqual([true, true, false]);
});

test("a memory that is away or hangs delays a message by a second and a half, and nothing else", async () => {
  const memory = new RecordingMemory("one");
  const asked = createGate();
  memory.recall = async () => {
    asked.open();
    return new Promise(() => {});
  };
  const talk = await openRecalling(memory);
  const { runId } = await talk.say("Hello");
  talk.runner.notify(talk.chat.owner, talk.chat.session);
  await asked.promise;
  expect((await talk.run(runId)).state).toBe("queued");
  await talk.clock.advance(1_500);
  await talk.runner.idle();
  expect([(await talk.run(runId)).state, await talk.attached()]).toEqual(["completed", [[]]]);
  memory.recall = async () => {
    throw new Error("It is away.");
  };
  const second = await talk.say("Again");
  talk.runner.notify(talk.chat.owner, talk.chat.session);
  await talk.runner.idle();
  expect((await talk.run(second.runId)).state).toBe("completed");
});

test("a steering message gets no recollections", async () => {
  const memory = new RecordingMemory("one");
  memory.recollections = [{ text: "the gate opens at seven" }];
  const [started, ended] = [createGate(), createGate()];
  const note = createTool("note", async () => {
    started.open();
    await ended.promise;
    return okResult("noted");
  });
  let asked = 0;
  const script = (): ScriptedReply => (++asked === 1 ? calls("note") : says("Then."));
  const talk = await openRecalling(memory, script, [note]);
  await talk.say("Hello");
  talk.runner.notify(talk.chat.owner, talk.chat.session);
  await started.promise;
  await talk.say("No, the other", { mode: "steer" });
  ended.open();
  await talk.runner.idle();
  expect((await talk.attached()).map((parts) => parts.length)).toEqual([1, 0]);
});

test("attachments of a steering message are stored, and the model is told where", async () => {
  const [started, ended] = [createGate(), createGate()];
  const note = createTool("note", async () => {
    started.open();
    await ended.promise;
    return okResult("noted");
  });
  const part = { type: "attached", source: "workspace", text: "- attachments/plan.txt" } as const;
  const talk = await openRunRig(harness.store, {
    model: scriptedModel([calls("note"), says("Then.")]),
    tools: [note],
    deps: { placeAttachments: async ({ attachments = [] }) => attachments.map(() => part) },
  });
  const { owner, session } = talk.chat;
  const put = await harness.store.putBlob(owner, Buffer.from("a plan"), "text/plain");
  if (put.status !== "stored") throw new Error(put.message);
  const more = { blobId: put.id, name: "plan.txt", mediaType: "text/plain", size: 6 };
  const file = { type: "file", ...more } as const;
  await talk.say("Hello");
  talk.runner.notify(owner, session);
  await started.promise;
  await talk.say("By this plan", { mode: "steer", attachments: [file] });
  await talk.say("And quickly", { mode: "steer" });
  ended.open();
  await talk.runner.idle();
  const userMessages = (await talk.entries()).filter(({ type }) => type === "message.user");
  expect(userMessages.map(({ data }) => data["parts"])).toMatchObject([
    [{ text: "Hello" }],
    [{ text: "By this plan" }, { type: "file" }, part],
    [{ text: "And quickly" }],
  ]);
});
