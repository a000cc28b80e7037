import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";

import { decodeEvent, ids, type LaneKey, type RequestRecord } from "@holdfast/protocol";
import { contractSuite, useRig } from "@holdfast/testing/contracts/contract-suite";
import { openContractRig } from "@holdfast/testing/contracts/contract-rig";
import type { Peer } from "@holdfast/testing/contracts/peer";
import type { SharedDatabase } from "@holdfast/testing/contracts/test-database";
import { openWarmAgents } from "@holdfast/testing/contracts/warm-agents";
import { aLane, aUserMessage } from "@holdfast/testing/fixtures/factories";
import { openTestSession, type TestSession } from "@holdfast/testing/fixtures/open-session";
import { createGate, transcriptLines, until } from "@holdfast/testing/rigs/run-rig";
import { runScriptedDay } from "@holdfast/testing/rigs/scripted-day";

import { undo } from "../src/history/undo.ts";

/** The record of each request, oldest first. */
async function records(chat: TestSession): Promise<readonly RequestRecord[]> {
  return (await chat.entries()).flatMap((entry) => {
    const decoded = decodeEvent(entry);
    if (decoded.kind !== "known" || decoded.event.type !== "message.assistant") return [];
    return decoded.event.data.request ?? [];
  });
}

export const agentsContract = contractSuite<SharedDatabase>("warm agents", (factory) => {
  const rig = useRig(() => openContractRig(factory));
  let elsewhere: Peer;
  let a: TestSession;
  let b: TestSession;
  let lane: LaneKey;
  beforeAll(async () => {
    elsewhere = await rig.database.startPeer("process");
  });
  afterAll(() => elsewhere.end());
  beforeEach(async () => {
    a = await openTestSession(rig.store);
    b = await openTestSession(rig.store, {}, a.owner);
    lane = aLane();
  });

  /** Another process writes to the session. */
  const writeElsewhere = async ({ owner, session }: TestSession, text: string) => {
    const events = [aUserMessage(text)];
    const result = await elsewhere.store.commit({ owner, session, events });
    expect(result).toMatchObject({ status: "committed" });
  };

  test("[S1.3] the next turn includes what another process wrote, and does not use stale state", async () => {
    const agents = openWarmAgents(rig);
    await agents.turn(a, lane, "one");
    await writeElsewhere(a, "from elsewhere");
    await agents.turn(a, lane, "two");
    expect(JSON.stringify(agents.requests[1])).toContain("from elsewhere");
    expect(agents.cache.figures()).toMatchObject({ folds: 1, builds: 1 });
    expect(agents.extendsRequest(0, 1)).toBe(true);
  });

  test("[S1.10] an agent reused for another session writes there, and not to the previous one", async () => {
    const agents = openWarmAgents(rig);
    await agents.turn(a, lane, "to a");
    await agents.turn(b, lane, "to b");
    expect(agents.cache.figures()).toMatchObject({ hits: 1, builds: 1 });
    expect(transcriptLines(await a.entries())).toEqual(["user: to a", "assistant: Answer 1"]);
    expect(transcriptLines(await b.entries())).toEqual(["user: to b", "assistant: Answer 2"]);
    expect(JSON.stringify(agents.requests[1])).not.toContain("to a");
  });

  test("[S1.11] an undo, and a message that replaces the undone one, are both noticed", async () => {
    const agents = openWarmAgents(rig);
    await agents.turn(a, lane, "one");
    await agents.turn(a, lane, "two");
    const commit = elsewhere.store.commit;
    const there = { log: { ...rig.log, commit }, ids };
    expect(await undo(there, a)).toMatchObject({ status: "committed" });
    await agents.turn(a, lane, "three");
    expect(JSON.stringify(agents.requests[2])).not.toContain("two");
    const { messageCount } = await a.row();
    expect(await undo(there, a)).toMatchObject({ status: "committed" });
    await writeElsewhere(a, "instead");
    await writeElsewhere(a, "and more");
    expect((await a.row()).messageCount).toBe(messageCount);
    await agents.turn(a, lane, "four");
    const sent = JSON.stringify(agents.requests[3]);
    expect(sent).toContain("instead");
    expect(sent).not.toContain("three");
    expect(agents.cache.figures()).toMatchObject({ folds: 2, builds: 1 });
    const differs = (await records(a)).at(-1)?.differs;
    expect(differs?.explainedBy?.type).toBe("history.cut");
  });

  test("[S1.12] after reuse, a switch and back, and writes by others, each request starts with the previous one", async () => {
    const agents = openWarmAgents(rig);
    await agents.turn(a, lane, "one");
    await agents.turn(a, lane, "two");
    await agents.turn(b, lane, "elsewhere");
    await agents.turn(a, lane, "three");
    await writeElsewhere(a, "from outside");
    await agents.turn(a, lane, "four");
    await agents.cache.evict(lane);
    await agents.turn(a, lane, "five");
    expect([
      agents.extendsRequest(0, 1),
      agents.extendsRequest(1, 3),
      agents.extendsRequest(3, 4),
      agents.extendsRequest(4, 5),
    ]).toEqual([true, true, true, true]);
    const all = await records(a);
    expect(all).toHaveLength(5);
    expect(all.filter(({ differs }) => differs !== undefined)).toEqual([]);
  });

  test("[S1.13] two lanes on one session take turns one after the other", async () => {
    const agents = openWarmAgents(rig);
    const first = createGate();
    agents.hold(first.promise);
    await agents.send(a, lane, "from one lane");
    await until(() => agents.requests.length === 1);
    await agents.send(a, aLane(), "from another");
    expect(transcriptLines(await a.entries())).toEqual(["user: from one lane"]);
    expect(agents.requests).toHaveLength(1);
    first.open();
    await agents.runner.idle();
    expect(transcriptLines(await a.entries())).toEqual([
      "user: from one lane",
      "assistant: Answer 1",
      "user: from another",
      "assistant: Answer 2",
    ]);
  });

  test("[S1.14] what another process wrote to the first session is noticed after a turn on the second", async () => {
    const agents = openWarmAgents(rig);
    await agents.turn(a, lane, "to a");
    await agents.turn(b, lane, "to b");
    await writeElsewhere(a, "from elsewhere");
    await agents.turn(a, lane, "to a again");
    expect(JSON.stringify(agents.requests[2])).toContain("from elsewhere");
    expect(agents.extendsRequest(0, 2)).toBe(true);
    expect(agents.cache.figures()).toMatchObject({ hits: 1, folds: 1, builds: 1 });
  });

  test("[S1.15] a message queued behind a turn reuses its agent, including what the turn wrote", async () => {
    const agents = openWarmAgents(rig);
    const first = createGate();
    agents.hold(first.promise);
    await agents.send(a, lane, "one");
    await until(() => agents.requests.length === 1);
    await agents.send(a, lane, "two");
    first.open();
    await agents.runner.idle();
    expect(agents.requests).toHaveLength(2);
    expect(agents.extendsRequest(0, 1)).toBe(true);
    expect(agents.cache.figures()).toMatchObject({ hits: 1, folds: 0, builds: 1 });
  });

  test("[P9] through switches, evictions, restarts, steering and writes by others each request starts with the previous one, or the log says why not", async () => {
    const { requests, stable, explained } = await runScriptedDay(rig.store, {
      turns: 40,
      seed: 3,
    });
    expect(stable + explained).toBe(requests);
    expect(stable / requests).toBeGreaterThan(0.8);
  }, 120_000);

  test("[P9] a session keeps the system prompt and the tools it was first sent", async () => {
    const agents = openWarmAgents(rig);
    await agents.turn(a, lane, "one");
    const framed = (await a.entries()).filter(({ type }) => type === "context.framed");
    const another = openWarmAgents(rig);
    await another.turn(a, lane, "two");
    expect(another.requests[0]?.messages[0]).toEqual(agents.requests[0]?.messages[0]);
    expect((await a.entries()).filter(({ type }) => type === "context.framed")).toEqual(framed);
    expect(framed).toHaveLength(1);
  });
});
