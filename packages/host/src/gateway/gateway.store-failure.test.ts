import { type Log, StoreFailure, systemClock } from "@holdfast/engine";
import { createTool, okResult } from "@holdfast/testing/rigs/run-rig";
import { calls, says } from "@holdfast/testing/fakes/scripted-model";
import { ids } from "@holdfast/protocol";
import { expect, test } from "vitest";

import type { ApiRig } from "../../test/support/api-rig.ts";
import {
  chunksOf,
  openBot,
  openBotApi,
  startFakeBotApi,
  untilShown,
  textsIn,
} from "../../test/support/gateway/bot-rig.ts";

const full = { status: "failed", code: "store_full", message: "The disk is full." } as const;

/** A log whose store is full the first time something containing `text` is written. */
function fullOnce({ log }: ApiRig, text: string): Log {
  let failuresLeft = 1;
  return {
    ...log,
    commit: async (request) =>
      JSON.stringify(request.events).includes(text) && failuresLeft-- > 0
        ? full
        : log.commit(request),
    createSession: async (request) =>
      text === "session.created" && failuresLeft-- > 0
        ? { session: ids.make("session"), result: full }
        : log.createSession(request),
  };
}

/** Cuts pauses short. */
const clock: typeof systemClock = {
  ...systemClock,
  sleep: (ms, signal) => systemClock.sleep(Math.min(ms, 20), signal),
};

test("[P11] a chat's first message waits for a store that is full", async () => {
  const platform = await startFakeBotApi();
  const rig = openBotApi([says("Hello.")]);
  openBot(rig, platform, { clock, log: fullOnce(rig, "session.created") });
  platform.say(7, "Anybody there?");
  await untilShown(platform, 1);
  expect(textsIn(platform)).toEqual(["Hello."]);
});

test("[P11] a message with a file waits for a full store, however long", async () => {
  const platform = await startFakeBotApi();
  const rig = openBotApi([says("Seen.")]);
  platform.files.set("file-1", Buffer.from("pixels"));
  let failuresLeft = 8;
  const { store } = rig.log;
  const putBlob: typeof store.putBlob = async (...blob) =>
    failuresLeft-- > 0 ? full : store.putBlob(...blob);
  openBot(rig, platform, { clock, log: { ...rig.log, store: { ...store, putBlob } } });
  const photo = [{ file_id: "file-1", file_size: 6 }];
  platform.say(7, "", { text: undefined, caption: "Look", photo });
  await untilShown(platform, 1);
  expect(textsIn(platform)).toEqual(["Seen."]);
});

test("[P11] a command is answered even if the store is full at first", async () => {
  const platform = await startFakeBotApi();
  const rig = openBotApi([says("Hello.")]);
  openBot(rig, platform, { clock, log: fullOnce(rig, "No schedules yet") });
  platform.say(7, "Hello");
  await untilShown(platform, 1);
  platform.say(7, "/schedule");
  await untilShown(platform, 2);
  expect(textsIn(platform)).toEqual(["Hello.", "No schedules yet."]);
});

test("[P11] a chat that begins with a command is answered even if the store is full at first", async () => {
  const platform = await startFakeBotApi();
  const rig = openBotApi([]);
  openBot(rig, platform, { clock, log: fullOnce(rig, "session.created") });
  platform.say(7, "/schedule");
  await untilShown(platform, 1);
  expect(textsIn(platform)).toEqual(["No schedules yet."]);
});

test("[P11] a text answer that the store rejects at first still answers the question and starts no turn", async () => {
  const platform = await startFakeBotApi();
  const given: (string | undefined)[] = [];
  const note = async ({ answer }: { readonly answer?: string | undefined }) => {
    given.push(answer);
    return okResult("Noted.");
  };
  const ask = createTool("ask_user", note, { approval: () => "question" });
  const script = [calls("ask_user", { question: "Which colour?" }), says("Thank you.")];
  const rig = openBotApi(script, { tools: [ask] });
  openBot(rig, platform, { clock, log: fullOnce(rig, `"code":"answer"`) });
  platform.say(7, "Paint it");
  await untilShown(platform, 1);
  platform.say(7, "Green, please");
  await untilShown(platform, 2);
  expect([given, rig.model.requests.length]).toEqual([["Green, please"], 2]);
});

test("[P11] a file that the store could not read is sent later, and not marked as unknown", async () => {
  const platform = await startFakeBotApi();
  const draw = createTool("draw", async ({ owner }) => {
    const stored = await rig.store.putBlob(owner, Buffer.from("a picture"), "image/png");
    if (stored.status !== "stored") throw new Error(stored.message);
    const file = { name: "cat.png", mediaType: "image/png", blobId: stored.id, size: stored.size };
    return { ...okResult("Drawn."), details: { files: [file] } };
  });
  const rig: ApiRig = openBotApi([calls("draw"), says("Here it is.")], { tools: [draw] });
  let failuresLeft = 2;
  const { store } = rig.log;
  const blob: typeof store.reads.blob = async (...query) => {
    if (failuresLeft-- > 0) throw new StoreFailure("store_unavailable", "The store is away.");
    return store.reads.blob(...query);
  };
  const log = { ...rig.log, store: { ...store, reads: { ...store.reads, blob } } };
  openBot(rig, platform, { clock, log, onError: () => {} });
  platform.say(7, "Draw me a cat");
  await untilShown(platform, 2);
  expect(platform.shownIn(7).map(({ file, text }) => file?.name ?? text)).toEqual([
    "cat.png",
    "Here it is.",
  ]);
  expect(await chunksOf(rig)).toEqual([]);
});
