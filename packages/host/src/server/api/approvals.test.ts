import { createTool, okResult } from "@holdfast/testing/rigs/run-rig";
import { calls, says } from "@holdfast/testing/fakes/scripted-model";
import { ids, problem } from "@holdfast/protocol";
import { expect, onTestFinished, test } from "vitest";

import { newSession, untilEnded, valueOf } from "../../../test/support/api-helpers.ts";
import { openApi } from "../../../test/support/api-rig.ts";

async function openWaiting() {
  const paid: unknown[] = [];
  const pay = createTool("pay", async ({ input }) => okResult(`paid ${paid.push(input)}`), {
    approval: () => "ask",
  });
  const script = [[calls("pay", "rent"), calls("pay", "tax")], says("Done.")];
  const rig = openApi(script, { tools: [pay] });
  onTestFinished(async () => {
    await rig.close();
    expect(rig.bugs).toEqual([]);
  });
  const { client } = rig;
  const session = await newSession(rig);
  const params = { id: session };
  const { runId } = valueOf(
    await client.sendMessage({ params, body: { clientId: "one", text: "Pay" } }),
  );
  await expect
    .poll(async () => valueOf(await client.readSession({ params })).session.liveState)
    .toBe("waiting");
  const open = async () => valueOf(await client.listApprovals()).approvals;
  return { rig, client, session, params, runId, paid, open };
}

test("[P7] a pending approval is listed, answered over HTTP, and its call then runs", async () => {
  const { rig, client, session, params, runId, paid, open } = await openWaiting();
  const [first, second] = await open();
  expect(first).toMatchObject({
    sessionId: session,
    runId,
    name: "pay",
    state: "open",
    decision: null,
  });
  const read = valueOf(await client.readSession({ params }));
  expect(read.live?.approvals.map(({ approvalId }) => approvalId).toSorted()).toEqual(
    [first?.approvalId, second?.approvalId].map(String).toSorted(),
  );

  const answer = (which: typeof first, decision: "once" | "deny") =>
    client.answerApproval({
      params: { id: which?.approvalId ?? ids.make("approval") },
      body: { decision },
    });
  const expectedAnswer = { decision: "once", by: "owner (token)" };
  expect(valueOf(await answer(first, "once")).approval).toMatchObject(expectedAnswer);
  expect(valueOf(await answer(first, "once")).approval).toMatchObject(expectedAnswer);
  expect(await answer(first, "deny")).toMatchObject({ error: { code: "approval_answered" } });
  expect(paid).toEqual([]);
  valueOf(await answer(second, "deny"));
  await untilEnded(rig, session);
  expect(paid).toEqual([first?.input]);
  const { entries } = valueOf(await client.readSession({ params }));
  const results = entries.flatMap((entry) =>
    entry.type === "message" ? entry.parts.filter((part) => part.type === "tool_result") : [],
  );
  expect(results.map(({ outcome, details }) => [outcome, details?.refusal])).toEqual([
    ["ok", undefined],
    ["cancelled", "denied"],
  ]);
  expect(await open()).toEqual([]);
  expect(await answer(undefined, "once")).toMatchObject({ error: { code: "approval_not_found" } });
});

test("open approvals are paged, for one session or all, and a made-up cursor is refused", async () => {
  const { client, rig, session, open } = await openWaiting();
  const query = { limit: 1, sessionId: session };
  const page = valueOf(await client.listApprovals({ query }));
  expect(page.approvals).toHaveLength(1);
  const cursor = page.nextCursor ?? "";
  const rest = valueOf(await client.listApprovals({ query: { ...query, cursor } }));
  expect(rest.nextCursor).toBeNull();
  expect([...page.approvals, ...rest.approvals]).toEqual(await open());
  const elsewhere = valueOf(
    await client.listApprovals({ query: { sessionId: await newSession(rig) } }),
  );
  expect(elsewhere.approvals).toEqual([]);
  expect((await rig.ask("GET", "/api/approvals?cursor=made-up")).status).toBe(400);
});

test("[S3.16] cancelling a waiting run over HTTP ends it and its approval before the response", async () => {
  const { client, params, runId, open, paid } = await openWaiting();
  const { run } = valueOf(await client.cancelRun({ params: { id: runId } }));
  expect(run.state).toBe("cancelled");
  expect(await open()).toEqual([]);
  const { session, live } = valueOf(await client.readSession({ params }));
  expect([session.liveRun, session.liveState, live]).toEqual([null, null, null]);
  expect(paid).toEqual([]);
});

test.each([
  ["who it is from", { by: "somebody-else" }],
  ["whose it is", { owner: "somebody-else" }],
  ["what it is bound to", { inputHash: "0".repeat(64) }],
  ["the call", { input: "everything" }],
  ["where it works", { place: "/" }],
  ["its state", { state: "answered" }],
])("[safety] an answer with %s is refused, and nothing is answered", async (_, more) => {
  const { rig, paid, open } = await openWaiting();
  const [first] = await open();
  const path = `/api/approvals/${first?.approvalId ?? ""}`;
  const answer = await rig.ask("POST", path, { decision: "once", ...more });
  expect([answer.status, problem.parse(await answer.json()).code]).toEqual([
    400,
    "invalid_request",
  ]);
  expect([(await open()).length, paid]).toEqual([2, []]);
});

test("the reason for a denial reaches the model, and only a denial has one", async () => {
  const { rig, client, session, params, paid, open } = await openWaiting();
  const [first, second] = await open();
  const answer = (which: typeof first, body: { decision: "once" | "deny"; answer?: string }) =>
    client.answerApproval({ params: { id: which?.approvalId ?? ids.make("approval") }, body });
  expect(await answer(first, { decision: "once", answer: "go on" })).toMatchObject({
    error: { code: "invalid_request" },
  });
  valueOf(await answer(first, { decision: "deny", answer: "The rent is paid. Pay the tax." }));
  valueOf(await answer(second, { decision: "once" }));
  await untilEnded(rig, session);
  expect(paid).toHaveLength(1);
  const { entries } = valueOf(await client.readSession({ params }));
  const results = entries.flatMap((entry) =>
    entry.type === "message" ? entry.parts.filter((part) => part.type === "tool_result") : [],
  );
  const denied = results.find(({ callId }) => callId === first?.callId);
  expect(denied?.output).toContain("They said:\n\nThe rent is paid. Pay the tax.");
  expect(denied?.details).toMatchObject({
    refusal: "denied",
    reason: "The rent is paid. Pay the tax.",
  });
});
