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
import { anAnswer } from "@holdfast/testing/fixtures/factories";
import { assertPresent, openTestSession } from "@holdfast/testing/fixtures/open-session";
import { type StoreHarness } from "@holdfast/testing/conformance/harness";
import { answerApproval } from "./answer-approval.ts";

let harness: StoreHarness;
beforeEach(async () => {
  harness = await referenceHarness.open();
});
afterEach(() => harness.close());

/** A tool that needs approval, in a folder that the test can change. Without a workspace only its folder is known. */
async function openPlaced(here: { place: string; workspace?: string } = { place: "/one" }) {
  const worked: unknown[] = [];
  const dig = createTool("dig", async ({ place }) => okResult(`dug ${worked.push(place)}`), {
    approval: () => "ask",
    place: async () => {
      const { place: folder, workspace } = here;
      if (folder === "") throw new Error("There is no such folder.");
      return workspace === undefined ? folder : { folder, workspace };
    },
  });
  const digs = [calls("dig"), says("Done.")];
  const rig = await openRunRig(harness.store, {
    model: scriptedModel([...digs, ...digs, ...digs]),
    tools: [dig],
  });
  const { owner, session } = rig.chat;
  const ask = async () => {
    await rig.say("Dig");
    await rig.work();
  };
  const open = async () =>
    (await harness.store.reads.approvals(owner, { session, limit: 1 })).approvals;
  const allow = async (decision: "once" | "session" = "once") => {
    await answerApproval(rig.log, ids, owner, assertPresent((await open())[0]).id, decision);
    await rig.work();
  };
  await ask();
  return { rig, here, worked, ask, open, allow };
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

test("[P7] a call allowed in a workspace runs there on a host that has it in another folder", async () => {
  const { here, worked, allow } = await openPlaced({ place: "/a/work", workspace: "session:1" });
  here.place = "/b/work";
  await allow();
  expect(worked).toEqual(["/b/work"]);
});

test("[P7] a call allowed in a workspace does not run in another one, even in the same folder", async () => {
  const { rig, here, worked, allow } = await openPlaced({ place: "/work", workspace: "session:1" });
  here.workspace = "shared:work";
  await allow();
  expect(worked).toEqual([]);
  expect(transcriptLines(await rig.entries())).toContainEqual(
    expect.stringMatching(/^tool: cancelled This is not what/),
  );
});

test("[P7] a call allowed before workspaces had names runs in its folder, and in no other", async () => {
  for (const [folder, done] of [
    ["/one", ["/one"]],
    ["/two", []],
  ] as const) {
    const { here, worked, allow } = await openPlaced();
    Object.assign(here, { place: folder, workspace: "session:1" });
    await allow();
    expect(worked).toEqual(done);
  }
});

test("[P7] a yes for the session holds in its workspace on every host, and in no other workspace", async () => {
  const { here, worked, ask, open, allow } = await openPlaced({ place: "/a", workspace: "one" });
  await allow("session");
  here.place = "/b";
  await ask();
  expect([worked, await open()]).toEqual([["/a", "/b"], []]);
  here.workspace = "two";
  await ask();
  expect(worked).toHaveLength(2);
  expect(await open()).toMatchObject([{ details: { place: "/b", workspace: "two" } }]);
});

test("[P7] a yes for the session from before workspaces had names holds in its folder only", async () => {
  const { here, worked, ask, open, allow } = await openPlaced();
  await allow("session");
  here.workspace = "one";
  await ask();
  expect([worked, await open()]).toEqual([["/one", "/one"], []]);
  here.place = "/two";
  await ask();
  expect(worked).toHaveLength(2);
  expect(await open()).toHaveLength(1);
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

test("a tool that took a while says how long, beside its other details", async () => {
  const clock = manualClock();
  const change = { path: "a", change: "changed" as const, diff: "+1" };
  const slow = createTool("slow", async () => {
    await clock.advance(1_500);
    return { ...okResult("did"), details: { changes: [change] } };
  });
  const model = scriptedModel([calls("slow"), says("Done.")]);
  const rig = await openRunRig(harness.store, { model, tools: [slow], clock });
  await rig.say("Do");
  await rig.work();
  const result = (await rig.entries()).find(({ type }) => type === "message.tool");
  expect(result?.data["parts"]).toMatchObject([{ details: { changes: [change], tookMs: 1_500 } }]);
});

test("what a person says with a no reaches the model, and is shown with the result", async () => {
  const pay = createTool("pay", async () => okResult("paid"), { approval: () => "ask" });
  const model = scriptedModel([calls("pay"), says("Then not.")]);
  const rig = await openRunRig(harness.store, { model, tools: [pay] });
  const { owner, session } = rig.chat;
  await rig.say("Pay");
  await rig.work();
  const { approvals } = await harness.store.reads.approvals(owner, { session, limit: 1 });
  const { id } = assertPresent(approvals[0]);
  await answerApproval(rig.log, ids, owner, id, "deny", { answer: "Ask for the invoice first." });
  await rig.work();
  const result = (await rig.entries()).find(({ type }) => type === "message.tool");
  expect(result?.data["parts"]).toMatchObject([
    { outcome: "cancelled", details: { reason: "Ask for the invoice first." } },
  ]);
  const heard = model.requests[1]?.messages.findLast(({ role }) => role === "tool");
  expect(JSON.stringify(heard)).toContain("Ask for the invoice first.");
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

test("an approval is answered in the session that asked, and in no other", async () => {
  const { rig, open, worked } = await openPlaced();
  const { owner } = rig.chat;
  const { id } = assertPresent((await open())[0]);
  const other = await openTestSession(harness.store, {}, owner);
  const commit = { owner, session: other.session, events: [anAnswer(id)] };
  expect(await harness.store.commit(commit)).toMatchObject({
    status: "refused",
    code: "invalid_event",
  });
  expect(await open()).toMatchObject([{ id, state: "open" }]);
  expect(worked).toEqual([]);
});
