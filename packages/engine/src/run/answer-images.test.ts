import { fsckFindings, type StoreHarness } from "@holdfast/testing/conformance/harness";
import {
  fails,
  says,
  scriptedModel,
  type ScriptedStep,
} from "@holdfast/testing/fakes/scripted-model";
import { createTool, okResult, openRunRig, type RunRig } from "@holdfast/testing/rigs/run-rig";
import { referenceHarness } from "@holdfast/testing/stores/harnesses";
import { afterEach, beforeEach, expect, test } from "vitest";

import { taintOfEntries } from "../context/taint.ts";
import type { ModelMessage } from "../ports/model.ts";
import { imageLimits } from "./answer-images.ts";

let harness: StoreHarness;
beforeEach(async () => {
  harness = await referenceHarness.open();
});
afterEach(() => harness.close());

const pngStart = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
const png = Uint8Array.from([...pngStart, 1]);
const draws = (bytes: Uint8Array | null, mediaType = "image/png"): ScriptedStep => ({
  kind: "image",
  mediaType,
  bytes,
  opaque: { by: "m", options: { signature: "s" } },
});

async function entriesOf(rig: RunRig, type: string) {
  return (await rig.entries()).filter((entry) => entry.type === type).map(({ data }) => data);
}

async function partsOf(rig: RunRig): Promise<unknown[]> {
  return (await entriesOf(rig, "message.assistant")).flatMap(({ parts }) => parts as unknown[]);
}

test("a picture is a part of the answer, its bytes are a blob, and the model gets both back", async () => {
  const model = scriptedModel([
    [says("Here"), draws(png), says("and there."), { kind: "call", name: "look", input: {} }],
    says("Done."),
  ]);
  const look = createTool("look", async () => okResult("seen"));
  const rig = await openRunRig(harness.store, { model, tools: [look] });
  await rig.say("Draw");
  await rig.work();
  const image = {
    type: "image",
    blobId: expect.stringMatching(/^blob_/) as string,
    mediaType: "image/png",
    name: "picture-1.png",
    size: 9,
    opaque: { by: "m", options: { signature: "s" } },
  };
  const [text, more, stored, call] = await partsOf(rig);
  expect([text, more, stored]).toEqual([
    { type: "text", text: "Here" },
    { type: "text", text: "and there." },
    image,
  ]);
  expect(call).toMatchObject({ type: "tool_call", name: "look" });
  const { blobId, mediaType, opaque } = stored as typeof image;
  const blob = await harness.store.reads.blob(rig.chat.owner, blobId as never);
  expect(blob?.bytes).toEqual(png);
  const answer = model.requests[1]?.messages[2] as Extract<ModelMessage, { role: "assistant" }>;
  expect(answer.parts[2]).toEqual({ kind: "image", blobId, mediaType, opaque });
  expect(JSON.stringify(await rig.entries())).not.toContain(Buffer.from(png).toString("base64"));
  expect(await fsckFindings(harness.store)).toEqual([]);
});

test("an answer that is only a picture completes its run", async () => {
  const rig = await openRunRig(harness.store, { model: scriptedModel([[draws(png)]]) });
  const { runId } = await rig.say("Draw");
  await rig.work();
  expect(await rig.run(runId)).toMatchObject({ state: "completed" });
  expect(await partsOf(rig)).toMatchObject([{ type: "image", name: "picture-1.png" }]);
});

test("a picture that came before a failure is kept", async () => {
  const model = scriptedModel([[draws(png), fails("fatal")]]);
  const rig = await openRunRig(harness.store, { model });
  await rig.say("Draw");
  await rig.work();
  expect(await entriesOf(rig, "message.assistant")).toMatchObject([
    { parts: [{ type: "image" }], partial: "failed" },
  ]);
});

test.each([
  ["a script", Buffer.from("<svg onload='x()'/>"), "image/svg+xml", /\(image\/svg\+xml\)/],
  ["a page that is called a picture", Buffer.from("<script>"), "image/png", /not a PNG/],
  ["a type that is markup", Buffer.from("x"), "<b>/x", /sent a file that/],
  ["an address", null, "image/png", /as a link/],
  ["too large a picture", Buffer.concat([png, Buffer.alloc(imageLimits.bytes)]), "", /20 MB/],
])("%s is left out, and a notice says so", async (_, bytes, mediaType, sentence) => {
  const model = scriptedModel([[says("Here."), draws(bytes, mediaType)]]);
  const rig = await openRunRig(harness.store, { model });
  const { runId } = await rig.say("Draw");
  await rig.work();
  expect(await rig.run(runId)).toMatchObject({ state: "completed" });
  expect(await partsOf(rig)).toEqual([{ type: "text", text: "Here." }]);
  expect(await entriesOf(rig, "notice.added")).toMatchObject([
    { kind: "image_left_out", text: expect.stringMatching(sentence) as string },
  ]);
});

test("of too many pictures the first are kept, and one notice tells of the rest", async () => {
  const many = Array.from({ length: imageLimits.count + 3 }, (_, index) =>
    draws(Uint8Array.from([...pngStart, index])),
  );
  const rig = await openRunRig(harness.store, { model: scriptedModel([many]) });
  await rig.say("Draw");
  await rig.work();
  expect(await partsOf(rig)).toHaveLength(imageLimits.count);
  expect(await entriesOf(rig, "notice.added")).toMatchObject([{ kind: "image_left_out" }]);
});

test("a picture that the model made is not material of a stranger", async () => {
  const rig = await openRunRig(harness.store, { model: scriptedModel([[draws(png)]]) });
  await rig.say("Draw");
  await rig.work();
  expect(await partsOf(rig)).toHaveLength(1);
  expect(taintOfEntries(await rig.entries())).toEqual([]);
});
