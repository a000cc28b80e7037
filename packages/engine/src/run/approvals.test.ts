import { ids } from "@holdfast/protocol";
import { referenceHarness } from "@holdfast/testing/stores/harnesses";
import { afterEach, beforeEach, expect, test } from "vitest";

import {
  createTool,
  okResult,
  transcriptLines,
  openRunRig,
  until,
} from "@holdfast/testing/rigs/run-rig";
import { withMembers } from "@holdfast/testing/contracts/wrapped-stores";
import { manualClock } from "@holdfast/testing/fakes/manual-clock";
import { calls, says, scriptedModel } from "@holdfast/testing/fakes/scripted-model";
import { assertPresent } from "@holdfast/testing/fixtures/open-session";
import { type StoreHarness } from "@holdfast/testing/conformance/harness";
import { answerApproval } from "./approvals.ts";

let harness: StoreHarness;
beforeEach(async () => {
  harness = await referenceHarness.open();
});
afterEach(() => harness.close());

/** A tool that needs approval, in a place the test can move. */
async function openPlaced() {
  const here = { place: "/one" };
  const worked: unknown[] = [];
  const dig = createTool("dig", async ({ place }) => okResult(`dug ${worked.push(place)}`), {
    approval: () => "ask",
    place: async () => {
      if (here.place === "") throw new Error("There is no such folder.");
      return here.place;
    },
  });
  const rig = await openRunRig(harness.store, {
    model: scriptedModel([calls("dig"), says("Done.")]),
    tools: [dig],
  });
  const { owner, session } = rig.chat;
  await rig.say("Dig");
  await rig.work();
  const allow = async () => {
    const { approvals } = await harness.store.reads.approvals(owner, { session, limit: 1 });
    await answerApproval(rig.log, ids, owner, assertPresent(approvals[0]).id, "once");
    await rig.work();
  };
  return { rig, here, worked, allow };
}

test("[P7] a call runs in the place it was allowed for, and the person was told which", async () => {
  const { rig, worked, allow } = await openPlaced();
  const asked = (await rig.chat.events()).find(({ type }) => type === "approval.asked");
  expect(asked?.data["place"]).toBe("/one");
  await allow();
  expect(worked).toEqual(["/one"]);
});

test("[P7] a call allowed in one place does not run in another", async () => {
  const { rig, here, worked, allow } = await openPlaced();
  here.place = "/two";
  await allow();
  expect(worked).toEqual([]);
  expect(transcriptLines(await rig.entries())).toContainEqual(
    expect.stringMatching(/^tool: cancelled This is not what/),
  );
});

test("a call whose place is gone fails and says so", async () => {
  const { rig, here, worked, allow } = await openPlaced();
  here.place = "";
  await allow();
  expect(worked).toEqual([]);
  expect(transcriptLines(await rig.entries())).toContain("tool: failed There is no such folder.");
});

test("details are stored with the output but not sent to the model; oversized ones are dropped", async () => {
  const change = { path: "a", change: "changed" as const, diff: "+1" };
  const small = createTool("small", async () => ({
    ...okResult("did"),
    details: { changes: [change] },
  }));
  const diff = "+".repeat(20_000);
  const large = createTool("large", async () => ({
    ...okResult("did"),
    details: { changes: [{ ...change, diff }] },
  }));
  const model = scriptedModel([[calls("small"), calls("large")], says("Done.")]);
  const rig = await openRunRig(harness.store, { model, tools: [small, large] });
  await rig.say("Do");
  await rig.work();
  const results = (await rig.entries()).filter(({ type }) => type === "message.tool");
  expect(results.map(({ data }) => data["parts"])).toMatchObject([
    [{ name: "small", details: { changes: [change] } }],
    [{ name: "large" }],
  ]);
  expect(JSON.stringify(results[1])).not.toContain("details");
  expect(JSON.stringify(model.requests)).not.toContain("changes");
});

test("[P7] a run holds its lease until its question is stored", async () => {
  const clock = manualClock();
  let failures = 0;
  const store = withMembers(harness.store, {
    async commit(commit) {
      const isQuestion = commit.events.some(({ type }) => type === "approval.asked");
      if (!isQuestion || failures > 0) return harness.store.commit(commit);
      failures += 1;
      return { status: "failed", code: "store_unavailable", message: "gone" };
    },
  });
  const pay = createTool("pay", async () => okResult("paid"), { approval: () => "ask" });
  const rig = await openRunRig(store, {
    model: scriptedModel([calls("pay")]),
    tools: [pay],
    clock,
    deps: { policy: "off" },
  });
  const { runId } = await rig.say("Pay");
  rig.runner.notify(rig.chat.owner, rig.chat.session);
  await until(() => failures === 1);
  expect(await harness.store.leases.read("run", rig.chat.session)).not.toBeNull();
  let isIdle = false;
  void rig.runner.idle().then(() => (isIdle = true));
  await until(async () => {
    await clock.advance(100);
    return isIdle;
  });
  expect(await rig.run(runId)).toMatchObject({ state: "waiting", attempt: 0 });
  expect(await harness.store.leases.read("run", rig.chat.session)).toBeNull();
});
