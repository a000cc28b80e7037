import { beforeEach, expect, test } from "vitest";

import { ids } from "@holdfast/protocol";
import { contractSuite, useRig } from "@holdfast/testing/contracts/contract-suite";
import {
  addLongTurn,
  compactionDeps,
  compactionSizes,
  openLongSession,
} from "@holdfast/testing/contracts/compaction-rig";
import { openContractRig } from "@holdfast/testing/contracts/contract-rig";
import { says, scriptedModel } from "@holdfast/testing/fakes/scripted-model";
import { aHolder } from "@holdfast/testing/fixtures/factories";
import { assertPresent, type TestSession } from "@holdfast/testing/fixtures/open-session";
import { createGate, createRunner, transcriptLines, until } from "@holdfast/testing/rigs/run-rig";

import {
  type CompactionDeps,
  type CompactionTarget,
  compactSession,
} from "../src/context/compact.ts";
import { readContext } from "../src/context/session-context.ts";
import { truncate } from "../src/history/cut.ts";
import { undo } from "../src/history/undo.ts";
import { StoreFailure } from "../src/ports/store.ts";

export const compactionContract = contractSuite("compaction", (factory) => {
  const rig = useRig(() => openContractRig(factory));
  let chat: TestSession;
  beforeEach(async () => {
    chat = await openLongSession(rig.store);
  });

  /** An agent that wants to compact; its summariser waits until it may continue. */
  function anAgent(mayStart: Promise<void> = Promise.resolve()) {
    const seen = { asked: 0 };
    const deps = compactionDeps(rig.store, async () => {
      seen.asked += 1;
      await mayStart;
      return { status: "summarised", text: "They counted." };
    });
    const compact = (rest: Partial<CompactionTarget> = {}) =>
      compactSession(deps, {
        owner: chat.owner,
        session: chat.session,
        reason: "preflight",
        sizes: compactionSizes,
        ...rest,
      });
    return { compact, seen, deps };
  }

  const compactions = async () =>
    (await chat.entries()).filter(({ type }) => type === "context.compacted");
  const context = async () =>
    assertPresent(await readContext(rig.store.reads, chat.owner, chat.session));

  test("[S0.11] with two agents at once, one compacts, the other keeps its messages, and its next turn works", async () => {
    const mayStart = createGate();
    const first = anAgent(mayStart.promise);
    const second = anAgent();
    const winner = first.compact();
    await until(() => first.seen.asked === 1);
    const before = await chat.entries();
    expect(await second.compact()).toEqual({ status: "deferred", why: "held" });
    expect(await chat.entries()).toEqual(before);
    expect(second.seen.asked).toBe(0);
    mayStart.open();
    expect(await winner).toMatchObject({ status: "compacted", epoch: 1 });
    expect(await compactions()).toHaveLength(1);
    const sent = await rig.send("five", { chat });
    const runner = createRunner(rig.store, rig.log, { model: scriptedModel([says("Yes.")]) });
    runner.notify(chat.owner, chat.session);
    await runner.idle();
    expect(await sent.run()).toMatchObject({ state: "completed" });
  });

  test("[S0.11] of eight at once one compacts, and nothing is covered twice", async () => {
    const agents = Array.from({ length: 8 }, () => anAgent());
    const { epochs: epoch } = await context();
    const ends = await Promise.all(agents.map(({ compact }) => compact({ epoch })));
    expect(ends.filter(({ status }) => status === "compacted")).toHaveLength(1);
    expect(ends.filter(({ status }) => status === "deferred")).toHaveLength(7);
    expect(await compactions()).toHaveLength(1);
  });

  test("[S0.19] messages sent while the summary is written are live after it, in order, once", async () => {
    const mayStart = createGate();
    const agent = anAgent(mayStart.promise);
    const compacting = agent.compact();
    await until(() => agent.seen.asked === 1);
    await addLongTurn(chat, "five");
    await addLongTurn(chat, "six");
    mayStart.open();
    expect(await compacting).toMatchObject({ status: "compacted" });
    const { tail } = await context();
    const visible = transcriptLines(tail).filter((line) => /five|six/.test(line));
    expect(visible.map((line) => line.split(" word")[0])).toEqual([
      "user: five",
      "assistant: Answer to five",
      "user: six",
      "assistant: Answer to six",
    ]);
  });

  test("[S0.22] whoever gets the lock after the winner finds the newer epoch and does not compact again", async () => {
    const late = anAgent();
    const { lock } = late.deps;
    const acquired = createGate();
    const wonFirst = {
      ...late.deps,
      lock: {
        ...lock,
        async acquire(...args: Parameters<typeof lock.acquire>) {
          // The winner starts and finishes between the read of the session and the lock.
          expect(await anAgent().compact()).toMatchObject({ status: "compacted" });
          acquired.open();
          return lock.acquire(...args);
        },
      },
    };
    const result = await compactSession(wonFirst, {
      owner: chat.owner,
      session: chat.session,
      reason: "preflight",
      sizes: compactionSizes,
    });
    await acquired.promise;
    expect(result).toEqual({ status: "deferred", why: "newer" });
    expect(late.seen.asked).toBe(0);
    expect(await compactions()).toHaveLength(1);
  });

  test("a holder whose lock was taken over leaves everything unchanged", async () => {
    const mayStart = createGate();
    const agent = anAgent(mayStart.promise);
    const compacting = agent.compact();
    await until(() => agent.seen.asked === 1);
    const lease = assertPresent(await rig.store.leases.read("compaction", chat.session));
    await rig.store.leases.acquire({
      kind: "compaction",
      session: chat.session,
      holder: aHolder(),
      ttlMs: 60_000,
      replacing: lease.fence,
    });
    mayStart.open();
    expect(await compacting).toEqual({ status: "deferred", why: "lost" });
    expect(await compactions()).toEqual([]);
  });

  test("a compaction holds even if its lock cannot be released", async () => {
    const { deps } = anAgent();
    const away = () => Promise.reject(new StoreFailure("store_unavailable", "Away."));
    const { owner, session } = chat;
    const sizes = compactionSizes;
    const result = await compactSession(
      { ...deps, lock: { ...deps.lock, release: away } },
      { owner, session, reason: "preflight", sizes },
    );
    expect(result).toMatchObject({ status: "compacted", epoch: 1 });
    expect(await compactions()).toHaveLength(1);
  });

  test("[S0.20] nobody can cut while the summary is written, and a summary of entries that were cut is discarded", async () => {
    const mayStart = createGate();
    const agent = anAgent(mayStart.promise);
    const compacting = agent.compact();
    await until(() => agent.seen.asked === 1);
    const history = { log: rig.log, ids };
    expect(await undo(history, chat)).toMatchObject({ code: "compaction_live" });
    const lease = assertPresent(await rig.store.leases.read("compaction", chat.session));
    await rig.store.leases.release(lease);
    const [, , second] = await chat.entries();
    expect(await truncate(history, chat, assertPresent(second).seq)).toMatchObject({
      status: "committed",
    });
    mayStart.open();
    expect(await compacting).toEqual({ status: "deferred", why: "lost" });
    expect(await compactions()).toEqual([]);
  });

  test("[P8] the session keeps its id, its entries and its list position, and the originals stay readable", async () => {
    const before = await chat.entries();
    await anAgent().compact();
    const after = await chat.entries();
    expect(after.slice(0, before.length)).toEqual(before);
    const { head, tail, epoch } = await context();
    expect(transcriptLines(head)[0]).toMatch(/^user: one/);
    expect(transcriptLines(tail)[0]).toMatch(/four/);
    expect(epoch?.summary).toBe("They counted.");
  });

  test("a second compaction updates the first summary instead of summarising it again", async () => {
    await anAgent().compact();
    for (const text of ["five", "six", "seven"]) await addLongTurn(chat, text);
    const asked: unknown[] = [];
    const agent = anAgent();
    const deps: CompactionDeps = {
      ...agent.deps,
      summariser: {
        async summarise({ previous, material }) {
          asked.push([previous, material.map(({ text }) => text.split(" word")[0])]);
          return { status: "summarised", text: "They counted on." };
        },
      },
    };
    const { owner, session } = chat;
    const sizes = compactionSizes;
    const result = await compactSession(deps, { owner, session, reason: "asked", sizes });
    expect(result).toMatchObject({ status: "compacted", epoch: 2 });
    const [first, second] = (await compactions()).map(({ data }) => data["covers"]);
    expect(second).toMatchObject({ from: (first as { from: number }).from });
    expect(asked).toEqual([
      [
        "They counted.",
        ["four", "Answer to four", "five", "Answer to five", "six", "Answer to six"],
      ],
    ]);
  });

  test("a compaction that gains nothing is reported once, and only a person may retry it early", async () => {
    const agent = anAgent();
    const sizes = { tailTokens: 100_000, summaryTokens: 50 };
    expect(await agent.compact({ sizes })).toEqual({ status: "refused", code: "nothing_to_gain" });
    expect(await agent.compact()).toEqual({ status: "refused", code: "backed_off" });
    expect((await chat.entries()).filter(({ type }) => type === "notice.added")).toHaveLength(1);
    expect(await agent.compact({ reason: "asked" })).toMatchObject({ status: "compacted" });
  });

  test("a compaction that succeeds ends the back-off of the one that gained nothing", async () => {
    const agent = anAgent();
    await agent.compact({ sizes: { tailTokens: 100_000, summaryTokens: 50 } });
    expect(await agent.compact()).toMatchObject({ code: "backed_off" });
    expect(await agent.compact({ reason: "asked" })).toMatchObject({ status: "compacted" });
    for (const text of ["five", "six", "seven"]) await addLongTurn(chat, text);
    expect(await agent.compact()).toMatchObject({ status: "compacted", epoch: 2 });
  });

  test("a model that does not answer does not prevent a compaction", async () => {
    const agent = anAgent();
    const failed = { status: "failed", code: "away", message: "Away." } as const;
    const deps = { ...agent.deps, summariser: { summarise: async () => failed } };
    const { owner, session } = chat;
    const sizes = { tailTokens: 150, summaryTokens: 200 };
    const result = await compactSession(deps, { owner, session, reason: "overflow", sizes });
    expect(result).toMatchObject({ status: "compacted" });
    expect((await context()).epoch?.summary).toMatch(/The person: three/);
  });
});
