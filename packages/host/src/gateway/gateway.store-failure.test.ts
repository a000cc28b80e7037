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

/** A log over a store that has no room when it is first told something with these words. */
function fullOnce({ log }: ApiRig, words: string): Log {
  let left = 1;
  return {
    ...log,
    commit: async (asked) =>
      JSON.stringify(asked.events).includes(words) && left-- > 0 ? full : log.commit(asked),
    createSession: async (asked) =>
      words === "session.created" && left-- > 0
        ? { session: ids.make("session"), result: full }
        : log.createSession(asked),
  };
}

/** Pauses are over at once. */
const clock: typeof systemClock = {
  ...systemClock,
  sleep: (ms, signal) => systemClock.sleep(Math.min(ms, 20), signal),
};

test("[P11] the first message of a chat waits for a store that has no room for its session", async () => {
  const platform = await startFakeBotApi();
  const rig = openBotApi([says("Hello.")]);
  openBot(rig, platform, { clock, log: fullOnce(rig, "session.created") });
  platform.say(7, "Anybody there?");
  await untilShown(platform, 1);
  expect(textsIn(platform)).toEqual(["Hello."]);
});

test("[P11] a message with a file waits for a store that has no room for it, however long", async () => {
  const platform = await startFakeBotApi();
  const rig = openBotApi([says("Seen.")]);
  platform.files.set("file-1", Buffer.from("pixels"));
  let left = 8;
  const { store } = rig.log;
  const putBlob: typeof store.putBlob = async (...blob) =>
    left-- > 0 ? full : store.putBlob(...blob);
  openBot(rig, platform, { clock, log: { ...rig.log, store: { ...store, putBlob } } });
  const photo = [{ file_id: "file-1", file_size: 6 }];
  platform.say(7, "", { text: undefined, caption: "Look", photo });
  await untilShown(platform, 1);
  expect(textsIn(platform)).toEqual(["Seen."]);
});

test("[P11] what a command came to is told, also when the store has no room for it at first", async () => {
  const platform = await startFakeBotApi();
  const rig = openBotApi([says("Hello.")]);
  openBot(rig, platform, { clock, log: fullOnce(rig, "Nothing is scheduled") });
  platform.say(7, "Hello");
  await untilShown(platform, 1);
  platform.say(7, "/schedule");
  await untilShown(platform, 2);
  expect(textsIn(platform)).toEqual(["Hello.", "Nothing is scheduled."]);
});

test("[P11] an answer in words for which the store has no room at first is still an answer, and no turn", async () => {
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

test("[P11] a file that the store could not read was not sent: it is sent when the store can, and marked by nobody", async () => {
  const platform = await startFakeBotApi();
  const draw = createTool("draw", async ({ owner }) => {
    const put = await rig.store.putBlob(owner, Buffer.from("a picture"), "image/png");
    if (put.status !== "stored") throw new Error(put.message);
    const file = { name: "cat.png", mediaType: "image/png", blobId: put.id, size: put.size };
    return { ...okResult("Drawn."), details: { files: [file] } };
  });
  const rig: ApiRig = openBotApi([calls("draw"), says("Here it is.")], { tools: [draw] });
  let left = 2;
  const { store } = rig.log;
  const blob: typeof store.reads.blob = async (...asked) => {
    if (left-- > 0) throw new StoreFailure("store_unavailable", "The store is away.");
    return store.reads.blob(...asked);
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
