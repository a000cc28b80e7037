import { type Client } from "@holdfast/client";
import { laneKey, type SessionId } from "@holdfast/protocol";
import { describe, expect, test } from "vitest";
import { followUntil, serveWithClient, valueOf } from "./served-host.ts";
import {
  createSession,
  recordMemory,
  serveModel,
  shareStore,
  storeKinds,
  turn,
} from "./shared-store.ts";
import { serveBot, startFakeBotApi, untilShown } from "./telegram-rig.ts";

/** Polls end long before the periodic scan, which commits after five idle minutes. */
const poll = { interval: 50 };

const waiting = async (client: Client) => valueOf(await client.readMemory()).backlog.turns;

describe.each(storeKinds)("%s", (kind) => {
  async function serve(other: Record<string, string> = {}) {
    const { commitsOf, settings: itsSettings } = recordMemory();
    const settings = { ...(await shareStore(kind)), ...itsSettings, ...other };
    return { ...(await serveWithClient(settings)), settings, commitsOf };
  }

  /** A run that goes on until its host ends. */
  async function startEndlessRun(client: Client, id: SessionId) {
    const body = { clientId: "endless", text: "Tell me more {words:2} {stall:600}" };
    valueOf(await client.sendMessage({ params: { id }, body }));
    await followUntil(client, id, ({ live }) =>
      (live?.messages ?? []).some(({ parts }) => parts.length > 0),
    );
  }

  test("[S2.8] a host that is asked to stop commits completed turns, even before a run that it interrupts", async () => {
    const { host, client, commitsOf } = await serve();
    const id = await createSession(client);
    await turn(client, id, "I like herons");
    await startEndlessRun(client, id);
    expect(commitsOf(id)).toEqual([]);
    host.signal("SIGTERM");
    expect(await host.exited).toEqual({ code: 0, signal: null });
    expect(commitsOf(id)).toEqual([["I like herons"]]);
  });

  test("[S2.17] a host that starts commits the turns that a killed host completed", async () => {
    const { host, home, client, settings, commitsOf } = await serve();
    const id = await createSession(client);
    await turn(client, id, "I like herons");
    await turn(client, id, "I like storks");
    await host.kill();
    expect(commitsOf(id)).toEqual([]);
    const next = await serveWithClient({ ...settings, HOLDFAST_HOME: home });
    await expect.poll(() => commitsOf(id), poll).toEqual([["I like herons", "I like storks"]]);
    await expect.poll(() => waiting(next.client), poll).toBe(0);
  });

  test("[S2.10] a session's turns are committed when its agent gives way to one of another configuration", async () => {
    const model = await serveModel();
    const { client, commitsOf } = await serve({ ...model.settings, HOLDFAST_MODEL: "rehearsal" });
    const id = await createSession(client);
    await turn(client, id, "I like herons");
    await turn(client, id, "I like storks");
    expect(commitsOf(id)).toEqual([]);
    const body = { model: "openai-compatible/heron" };
    valueOf(await client.changeSession({ params: { id }, body }));
    await turn(client, id, "I like cranes");
    await expect.poll(() => commitsOf(id), poll).toEqual([["I like herons", "I like storks"]]);
    await expect.poll(() => waiting(client), poll).toBe(1);
  });

  test("a session's turns are committed when its lane leaves it for a new session", async () => {
    const { client, commitsOf } = await serve();
    const lane = laneKey.parse("desk:one");
    const create = async () => valueOf(await client.createSession({ body: { lane } })).session.id;
    const id = await create();
    const body = { clientId: "one", text: "I like herons {words:1}", lane };
    valueOf(await client.sendMessage({ params: { id }, body }));
    await expect.poll(() => waiting(client), poll).toBe(1);
    expect(commitsOf(id)).toEqual([]);
    await create();
    await expect.poll(() => commitsOf(id), poll).toEqual([["I like herons"]]);
  });

  test("a session's turns are committed when its chat goes back to another session", async () => {
    const platform = await startFakeBotApi();
    const memory = recordMemory();
    const { client } = await serveBot(platform, {
      ...(await shareStore(kind)),
      ...memory.settings,
    });
    const say = async (text: string, shown: number) => {
      platform.say(7, text);
      await untilShown(platform, () => platform.shownIn(7).length === shown);
    };
    await say("I like herons {words:1}", 1);
    await say("/new Kitchen", 2);
    await say("I like pots {words:1}", 3);
    const { sessions } = valueOf(await client.listSessions());
    const kitchen = sessions.find(({ title }) => title === "Kitchen")!.id;
    await expect.poll(() => waiting(client), poll).toBe(1);
    expect(memory.commitsOf(kitchen)).toEqual([]);
    await say("/resume herons", 4);
    await expect.poll(() => memory.commitsOf(kitchen), poll).toEqual([["I like pots"]]);
  });

  test("a session's turns are committed when it is compacted", async () => {
    const wide = { rehearsal: { window: 200_000 } };
    const { client, commitsOf } = await serve({ HOLDFAST_MODELS: JSON.stringify(wide) });
    const id = await createSession(client);
    for (const text of ["one", "two", "three"])
      await turn(client, id, `${text} ${"word ".repeat(12_000)}`.trim());
    expect(commitsOf(id)).toHaveLength(0);
    valueOf(await client.compact({ params: { id }, body: {} }));
    await expect.poll(() => commitsOf(id).map((texts) => texts.length), poll).toEqual([3]);
    expect(valueOf(await client.readSession({ params: { id } })).session.epoch).toBe(1);
  });

  test("[S2.13] a session's turns are committed when it is cleared", async () => {
    const { client, commitsOf } = await serve();
    const id = await createSession(client);
    await turn(client, id, "I like herons");
    expect(commitsOf(id)).toEqual([]);
    valueOf(await client.clear({ params: { id }, body: {} }));
    await expect.poll(() => commitsOf(id), poll).toEqual([["I like herons"]]);
  });

  test("[S2.19] a person stops waiting for a memory provider that is gone, and newer turns are committed", async () => {
    const { host, home, client, settings, commitsOf } = await serve();
    const id = await createSession(client);
    await turn(client, id, "I like herons");
    await host.kill();
    const other = recordMemory("another-recorder");
    const next = { ...settings, ...other.settings, HOLDFAST_HOME: home };
    const { client: newer } = await serveWithClient(next);
    await expect
      .poll(async () => valueOf(await newer.readMemory()).backlog.failing?.code, poll)
      .toBe("provider_unreachable");
    await turn(newer, id, "I like storks");
    const stop = async () => valueOf(await newer.stopWaiting({ params: { id }, body: {} })).settled;
    expect(await stop()).toBe(1);
    await expect.poll(() => other.commitsOf(id), poll).toEqual([["I like storks"]]);
    // The log says so once the provider has answered.
    await expect.poll(() => waiting(newer), poll).toBe(0);
    expect([commitsOf(id), await stop()]).toEqual([[], 0]);
  });
});
