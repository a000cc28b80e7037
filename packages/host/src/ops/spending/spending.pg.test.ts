import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { admitMessage, type Log, resumeRun, type Store, systemClock } from "@holdfast/engine";
import {
  ids,
  type OwnerId,
  ownerId,
  type RunId,
  type Seq,
  type SessionId,
} from "@holdfast/protocol";
import { openPostgresStore, openSqliteStore } from "@holdfast/store";
import {
  calls,
  says,
  type Script,
  scriptedModel,
  uses,
} from "@holdfast/testing/fakes/scripted-model";
import { createDatabase } from "@holdfast/testing/postgres/create-database";
import { describe, expect, onTestFinished, test } from "vitest";

import { modelsOf } from "../../../test/support/providers/models.ts";
import { openFactStore } from "../../agent/memory/fact-store.ts";
import { openMemoryProviders } from "../../agent/memory/providers.ts";
import { createAgentRuntime } from "../../agent/runtime.ts";
import { createToolset } from "../../agent/toolset.ts";
import { ScheduleStore } from "../../automation/schedules/schedule-store.ts";
import { submitDuePrompts } from "../../automation/schedules/scheduler.ts";
import { sessionForLane } from "../../gateway/lanes.ts";
import { openRightsResolver } from "../../rights/resolve-rights.ts";
import { readConfig } from "../config/read-config.ts";
import { openSessionLimits } from "./session-limits.ts";

const owner: OwnerId = ownerId.parse("owner");
const dollar = 1_000_000;
const costs = (cents: number) => uses({ input: 1, output: 1, costMicros: cents * 10_000 });

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-spending-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

type Open = (clockOffset: () => number) => Promise<Store>;

const databases: readonly (readonly [string, () => Promise<Open>])[] = [
  [
    "SQLite",
    async () => {
      const file = join(newFolder(), "store.db");
      return (clockOffset) => openSqliteStore({ file, clockOffset });
    },
  ],
  [
    "PostgreSQL",
    async () => {
      const database = await createDatabase();
      onTestFinished(() => database[Symbol.asyncDispose]());
      return (clockOffset) => openPostgresStore({ url: database.url, clockOffset });
    },
  ],
];

/** A host on a store of its own, with its own process-wide state. */
async function openHost(store: Store, script: Script, environment: Record<string, string> = {}) {
  const home = newFolder();
  const config = readConfig({ flags: { home }, environment, personFolder: home });
  if (!config.ok) throw new Error(config.failure.message);
  const report = (bug: Error): never => {
    throw bug;
  };
  const memory = await openMemoryProviders(home, {
    choice: "off",
    facts: openFactStore({ register: store.register, home }),
  });
  const model = scriptedModel(script);
  const { engine, titles, spendLimits } = await createAgentRuntime({
    config: config.value,
    store,
    models: modelsOf(model),
    memory,
    toolset: createToolset(config.value, store),
    report,
  });
  onTestFinished(async () => {
    await engine.stop();
    await store.close();
  });
  return { engine, titles, spendLimits, model, log: engine.log };
}

type Host = Awaited<ReturnType<typeof openHost>>;

const isFromChild = (request: { readonly messages: unknown }) =>
  JSON.stringify(request.messages).includes("a task from another agent");
const isTitle = (request: { readonly messages: readonly unknown[] }) =>
  JSON.stringify(request.messages[0]).includes("Name the conversation");

/** Each step costs 40 cents, and there is always another one. */
const endless: Script = (request) =>
  isFromChild(request)
    ? [calls("todo"), costs(40)]
    : [calls("delegate", { task: "Go on" }), costs(40)];

async function newSession(log: Log): Promise<SessionId> {
  return (await log.createSession({ owner, ids })).session;
}

async function say({ engine, log }: Host, session: SessionId, text = "Begin"): Promise<RunId> {
  const message = { owner, session, clientId: ids.make("message"), text };
  const admitted = await admitMessage(log, ids, message);
  if (admitted.status !== "accepted") throw new Error(JSON.stringify(admitted));
  engine.notify(owner, session);
  return admitted.runId;
}

async function endOf({ log }: Host, run: RunId) {
  const row = () => log.store.reads.run(owner, run);
  await expect.poll(async () => (await row())?.endedAt ?? null, { timeout: 20_000 }).not.toBeNull();
  return (await row())!;
}

async function lastNotice({ log }: Host, session: SessionId): Promise<unknown> {
  const page = await log.store.reads.entries(owner, session, { limit: 50 });
  return page?.entries.findLast(({ type }) => type === "notice.added")?.data;
}

describe.each(databases)("limits on %s, shared by two hosts", (_, prepare) => {
  test("a conversation's limit counts its delegated tasks, and once raised the answer continues", async () => {
    const open = await prepare();
    const limit = { HOLDFAST_SPEND_PER_SESSION: "1" };
    const first = await openHost(await open(() => 0), endless, limit);
    const session = await newSession(first.log);
    const run = await say(first, session);
    expect(await endOf(first, run)).toMatchObject({ state: "limit", cause: "spend_session" });
    // 40 cents of its own and twice 40 of its child's: neither has spent a dollar alone.
    expect(first.model.requests.map(isFromChild)).toEqual([false, true, true]);
    expect(await lastNotice(first, session)).toMatchObject({
      kind: "spend_session",
      text: expect.stringContaining("$1.20; its limit is $1.00") as string,
    });

    const second = await openHost(await open(() => 0), [[says("Done."), costs(1)]], limit);
    const blocked = await say(second, session, "And now?");
    expect(await endOf(second, blocked)).toMatchObject({ state: "limit", cause: "spend_session" });
    expect(second.model.requests).toEqual([]);
    // Another conversation has a limit of its own.
    const other = await say(second, await newSession(second.log));
    expect(await endOf(second, other)).toMatchObject({ state: "completed" });

    await openSessionLimits(first.log.store.register).set(owner, session, 5 * dollar);
    const third = await openHost(await open(() => 0), [[says("Gone on."), costs(1)]], limit);
    const target = { owner, runId: blocked, command: ids.make("event") };
    const resumed = await resumeRun(third.log, ids, target);
    if (resumed.status !== "resumed") throw new Error(resumed.status);
    third.engine.notify(owner, session);
    expect(await endOf(third, resumed.runId)).toMatchObject({ state: "completed" });
    const heard = JSON.stringify(third.model.requests[0]?.messages);
    expect(heard).toContain("Begin");
    expect(heard).toContain("And now?");
    expect(await third.spendLimits.ofSession(owner, session)).toMatchObject({
      limitMicros: 5 * dollar,
      spentMicros: 1_210_000,
      isOwn: true,
    });
  });

  test("the limit for a day stops what runs on another host, and background work", async () => {
    const open = await prepare();
    let spent = 0;
    const limit = { HOLDFAST_SPEND_PER_DAY: "1" };
    const slow: Script = () => {
      spent += 1;
      return [calls("todo"), costs(30)];
    };
    const first = await openHost(await open(() => 0), slow, limit);
    const second = await openHost(await open(() => 0), slow, limit);
    const sessions = [await newSession(first.log), await newSession(second.log)] as const;
    const runs = [await say(first, sessions[0]), await say(second, sessions[1])] as const;
    expect(await endOf(first, runs[0])).toMatchObject({ state: "limit", cause: "spend_day" });
    expect(await endOf(second, runs[1])).toMatchObject({ state: "limit", cause: "spend_day" });
    // Alone, each would have taken four steps. Both may have begun one before the other's was paid.
    expect(spent).toBeGreaterThanOrEqual(4);
    expect(spent).toBeLessThanOrEqual(5);
    const titled = await open(() => 25 * 3_600_000);
    const later = await openHost(titled, [[says("Yes."), costs(100)], says("A title")], limit);
    const session = await newSession(later.log);
    expect(await endOf(later, await say(later, session))).toMatchObject({ state: "completed" });
    await later.titles.idle();
    await later.titles.sweep();
    await later.titles.idle();
    expect(later.model.requests.filter(isTitle)).toEqual([]);
  });

  test("a schedule's limit counts its delegated tasks, and keeps it from starting until the next period", async () => {
    const open = await prepare();
    let offset = 0;
    const store = await open(() => offset);
    let isCheap = false;
    const host = await openHost(store, (...request) =>
      isCheap
        ? [says("Nothing."), costs(1)]
        : typeof endless === "function"
          ? endless(...request)
          : [],
    );
    const { log, engine } = host;
    const session = await newSession(log);
    const schedules = new ScheduleStore(store.register, () => store.now());
    const hours = Array.from({ length: 24 }, (__, hour) => `${String(hour).padStart(2, "0")}:00`);
    const created = await schedules.create(owner, ids.make("schedule"), {
      title: "Hourly",
      prompt: "Look around.",
      times: { days: ["mon", "tue", "wed", "thu", "fri", "sat", "sun"], at: hours },
      timeZone: "UTC",
      target: { sessionId: session },
      spendLimit: { costMicros: dollar, per: "day" },
    });
    if (created.status !== "kept") throw new Error(created.status);
    const { id } = created.schedule;
    const toNextHour = async () => {
      const hourMs = 3_600_000;
      offset += hourMs - ((await store.now()) % hourMs) + 1_000;
      await submitDuePrompts({
        log,
        ids,
        clock: systemClock,
        owner,
        store: schedules,
        runner: engine,
        sessionFor: (of, lane, key) => sessionForLane({ log, owner: of }, lane, key),
        rights: openRightsResolver(store.register),
        spendLimits: host.spendLimits,
        report: (bug) => {
          throw bug;
        },
      });
      return (await schedules.find(owner, id))?.last?.outcome;
    };
    const runs = async (): Promise<RunId[]> => {
      const page = await log.store.reads.events(owner, session, { after: 0 as Seq, limit: 500 });
      return (page?.events ?? []).flatMap(({ type, data }) =>
        type === "input.accepted" ? [data["runId"] as RunId] : [],
      );
    };
    // Begin at the first hour of a day, so that the next one is of the same period.
    const dayMs = 24 * 3_600_000;
    offset += dayMs - ((await store.now()) % dayMs) + 1_000;
    await schedules.change(owner, id, {});
    expect(await toNextHour()).toBe("accepted");
    const [first] = await runs();
    expect(await endOf(host, first!)).toMatchObject({ state: "limit", cause: "spend_schedule" });
    expect(host.model.requests.map(isFromChild)).toEqual([false, true, true]);
    expect(await lastNotice(host, session)).toMatchObject({
      text: expect.stringContaining("“Hourly” has cost $1.20") as string,
    });
    expect(await toNextHour()).toBe("over_limit");
    expect(await runs()).toHaveLength(1);
    const schedule = (await schedules.find(owner, id))!;
    expect(await host.spendLimits.ofSchedule(owner, schedule)).toMatchObject({
      spentMicros: 1_200_000,
    });
    // A person's own message there is not the schedule's.
    isCheap = true;
    expect(await endOf(host, await say(host, session))).toMatchObject({ state: "completed" });
    const { length } = await runs();
    expect([await toNextHour(), (await runs()).length]).toEqual(["over_limit", length]);
    offset += dayMs;
    expect(await toNextHour()).toBe("accepted");
    const next = (await runs()).at(-1)!;
    expect(await endOf(host, next)).toMatchObject({ state: "completed" });
    // A title or a summary that is made afterwards counts for the schedule too.
    const inBackground = await host.spendLimits.of({ owner, session });
    expect(inBackground.map(({ cause }) => cause)).toEqual(["spend_schedule"]);
  });
});
