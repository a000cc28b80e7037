import { referenceHarness } from "@holdfast/testing/stores/harnesses";
import { afterEach, beforeEach, expect, test } from "vitest";

import { systemClock } from "../ports/clock.ts";
import { aHolder } from "@holdfast/testing/fixtures/factories";
import {
  createTool,
  createGate,
  okResult,
  transcriptLines,
  until,
  createRunner,
  openRunRig,
} from "@holdfast/testing/rigs/run-rig";
import { calls, says, scriptedModel } from "@holdfast/testing/fakes/scripted-model";
import { fsckFindings, type StoreHarness } from "@holdfast/testing/conformance/harness";
import { assertSameJson } from "@holdfast/testing/fixtures/open-session";

let harness: StoreHarness;
beforeEach(async () => {
  harness = await referenceHarness.open();
});
afterEach(async () => {
  assertSameJson(await fsckFindings(harness.store), []);
  await harness.close();
});

test("many tools that output more at once than a commit takes lose nothing", async () => {
  const loud = "y".repeat(400_000);
  const many = Array.from({ length: 24 }, () => calls("shout"));
  const all = createGate();
  let started = 0;
  const shout = createTool("shout", async (_call, { write }) => {
    started += 1;
    if (started === many.length) all.open();
    await all.promise;
    write(loud);
    return okResult("done");
  });
  const rig = await openRunRig(harness.store, {
    model: scriptedModel([many, says("Fine.")]),
    tools: [shout],
  });
  const { runId } = await rig.say("All of you");
  await rig.work();
  expect(await rig.run(runId)).toMatchObject({ state: "completed" });
  const results = transcriptLines(await rig.entries()).filter((line) => line === "tool: ok done");
  expect(results).toHaveLength(many.length);
});

test("results whose output grows when stored are all kept", async () => {
  const many = Array.from({ length: 100 }, () => calls("ring"));
  const rig = await openRunRig(harness.store, {
    model: scriptedModel([many, says("Fine.")]),
    tools: [createTool("ring", async () => okResult("\u0007".repeat(20_000)))],
  });
  const { runId } = await rig.say("All of you");
  await rig.work();
  expect(await rig.run(runId)).toMatchObject({ state: "completed" });
});

test("[P7] the output of many tools is settled when their runner dies", async () => {
  const many = Array.from({ length: 20 }, () => calls("shout"));
  const holder = aHolder();
  const shout = createTool("shout", async (_call, { write }) => {
    write("y".repeat(500_000));
    return new Promise(() => {});
  });
  const rig = await openRunRig(harness.store, {
    model: scriptedModel([many]),
    tools: [shout],
    clock: systemClock,
    holder,
  });
  const { runId } = await rig.say("All of you");
  rig.runner.notify(rig.chat.owner, rig.chat.session);
  await until(async () => (await rig.chat.row()).openDeltas === many.length);
  const next = createRunner(harness.store, rig.log, {
    model: scriptedModel([says("Fine.")]),
    dead: (candidate) => candidate.nonce === holder.nonce,
  });
  await next.sweep();
  await next.idle();
  expect(await rig.run(runId)).toMatchObject({ state: "completed" });
  const results = transcriptLines(await rig.entries()).filter((line) =>
    line.startsWith("tool: unknown y"),
  );
  expect(results).toHaveLength(many.length);
});
