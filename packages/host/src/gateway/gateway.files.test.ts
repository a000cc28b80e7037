import { systemClock } from "@holdfast/engine";
import { createTool, okResult } from "@holdfast/testing/rigs/run-rig";
import { calls, says } from "@holdfast/testing/fakes/scripted-model";
import { expect, test } from "vitest";

import {
  chunksOf,
  openBot,
  openBotApi,
  startFakeBotApi,
  untilShown,
  textsIn,
} from "../../test/support/gateway/bot-rig.ts";
import type { ApiRig } from "../../test/support/api-rig.ts";

const picture = Buffer.from("a picture");

/** A bot whose model calls a tool that returns these files, and then comments on them. */
async function openDrawing(
  files: readonly { readonly name: string; readonly mediaType: string }[],
) {
  const platform = await startFakeBotApi();
  const draw = createTool("draw", async ({ owner }) => {
    const stored = await rig.store.putBlob(owner, picture, "image/png");
    if (stored.status !== "stored") throw new Error(stored.message);
    const { id: blobId, size } = stored;
    return {
      ...okResult("Drawn."),
      details: { files: files.map((file) => ({ ...file, blobId, size })) },
    };
  });
  const rig: ApiRig = openBotApi([calls("draw"), says("Here it is.")], { tools: [draw] });
  openBot(rig, platform);
  return { platform, rig };
}

const cat = { name: "cat.png", mediaType: "image/png" };
const report = { name: "report.pdf", mediaType: "application/pdf" };

test("files from a tool arrive as a photo or document, in order and once", async () => {
  const { platform, rig } = await openDrawing([cat, report]);
  platform.say(7, "Draw me a cat");
  await untilShown(platform, 3);
  expect(platform.shownIn(7).map(({ file, text }) => file?.name ?? text)).toEqual([
    "cat.png",
    "report.pdf",
    "Here it is.",
  ]);
  expect(platform.shownIn(7)[0]?.file?.bytes.equals(picture)).toBe(true);
  const methods = platform.calls
    .map(({ method }) => method)
    .filter((name) => /^send[PDM]/.test(name));
  expect(methods).toEqual(["sendPhoto", "sendDocument", "sendMessage"]);
  expect(await chunksOf(rig)).toEqual([]);
});

test("[safety] a file's name cannot inject multipart fields", async () => {
  const names = [`a";name="chat_id.png`, "b\nc.pdf"];
  const { platform, rig } = await openDrawing(names.map((name) => ({ ...report, name })));
  platform.say(7, "Draw me a cat");
  await untilShown(platform, 3);
  expect(platform.shownIn(7).map(({ file, text }) => file?.name ?? text)).toEqual([
    "a__name__chat_id.png",
    "b_c.pdf",
    "Here it is.",
  ]);
  expect(await chunksOf(rig)).toEqual([]);
});

test("[P11] a file that arrived although the connection broke is marked, not resent", async () => {
  const { platform, rig } = await openDrawing([cat, report]);
  platform.faults.add("sendPhoto", { kind: "cut", when: "after" });
  platform.say(7, "Draw me a cat");
  await untilShown(platform, 4);
  const [first, second, third, fourth] = platform.shownIn(7);
  expect([first?.file?.name, third?.file?.name]).toEqual(["cat.png", "report.pdf"]);
  expect(second?.text).toContain("cannot know whether it arrived");
  expect(fourth?.text).toBe("Here it is.");
  expect(await chunksOf(rig)).toMatchObject([{ state: "unknown", chunk: 0 }]);
});

test("a rejected photo is sent as a document, and a file that cannot be sent is reported", async () => {
  const { platform, rig } = await openDrawing([cat, report]);
  const refused = { kind: "error", code: 400, description: "Bad Request: PHOTO_INVALID" } as const;
  const large = { kind: "error", code: 413, description: "Request Entity Too Large" } as const;
  platform.faults.add("sendPhoto", refused);
  let documents = 0;
  platform.faults.before = (method) => {
    if (method === "sendDocument" && ++documents === 2) platform.faults.add("sendDocument", large);
  };
  platform.say(7, "Draw me a cat");
  await untilShown(platform, 2);
  expect(platform.shownIn(7)[0]?.file?.name).toBe("cat.png");
  expect(textsIn(platform)[1]).toBe(
    "⚠ report.pdf could not be sent: Request Entity Too Large\n\nHere it is.",
  );
  expect(await chunksOf(rig)).toMatchObject([{ state: "failed", code: "telegram_413" }]);
});

test("a file whose fetch fails is fetched later, and its message becomes one turn", async () => {
  const platform = await startFakeBotApi();
  const rig = openBotApi([says("Seen.")]);
  platform.files.set("file-1", Buffer.from("pixels"));
  platform.faults.add("getFile", { kind: "html", code: 502 });
  openBot(rig, platform);
  platform.say(7, "", { text: undefined, voice: { file_id: "file-1", file_size: 6 } });
  await untilShown(platform, 1);
  expect(textsIn(platform)).toEqual(["Seen."]);
  expect(JSON.stringify(rig.model.requests)).toMatch(/voice-\d+\.ogg, audio\/ogg/);
});

test("a file whose fetch fails five times is given up with a reply, and the chat goes on", async () => {
  const platform = await startFakeBotApi();
  const rig = openBotApi([says("Hello.")]);
  platform.files.set("file-1", Buffer.from("pixels"));
  let fetches = 0;
  platform.faults.before = (method) => {
    if (method !== "getFile") return;
    fetches += 1;
    platform.faults.add("getFile", { kind: "html", code: 502 });
  };
  // Cuts the pauses between attempts short.
  const sleep: typeof systemClock.sleep = (ms, signal) =>
    systemClock.sleep(Math.min(ms, 20), signal);
  openBot(rig, platform, { clock: { ...systemClock, sleep } });
  platform.say(7, "", { text: undefined, voice: { file_id: "file-1", file_size: 6 } });
  await untilShown(platform, 1);
  expect(textsIn(platform)[0]).toMatch(/could not be received: .*send it again\./);
  expect(fetches).toBe(5);
  platform.say(7, "Anybody there?");
  await untilShown(platform, 2);
  expect(textsIn(platform)[1]).toBe("Hello.");
});

test("a file larger than its declared size is refused with a reply", async () => {
  const platform = await startFakeBotApi();
  const rig = openBotApi([says("Hello.")]);
  platform.files.set("file-1", Buffer.alloc(21 * 1024 * 1024));
  openBot(rig, platform);
  platform.say(7, "", { text: undefined, document: { file_id: "file-1", file_size: 6 } });
  await untilShown(platform, 1);
  expect(textsIn(platform)[0]).toContain("could not be received: it is larger than 20 MB");
  expect(rig.model.requests).toEqual([]);
});
