import { aHolder } from "@holdfast/testing/fixtures/factories";
import { says } from "@holdfast/testing/fakes/scripted-model";
import { ownerRights, ids, type LaneKey, laneKey } from "@holdfast/protocol";
import { botToken } from "@holdfast/testing/telegram/fake-bot-api";
import { systemClock } from "@holdfast/engine";
import { expect, onTestFinished, test } from "vitest";

import {
  openBot,
  openBotApi,
  startFakeBotApi,
  textsIn,
  untilShown,
} from "../../../test/support/gateway/bot-rig.ts";
import { openFastTelegram } from "../../../test/support/gateway/gateway-rig.ts";
import type { ApiRig } from "../../../test/support/api-rig.ts";
import { chatAddressing, sessionForLane } from "../lanes.ts";
import { OutboxWriter } from "./chunk.ts";
import { Dispatcher } from "./dispatcher.ts";
import { enqueueNote } from "./enqueue.ts";

const bot = botToken.split(":")[0] ?? "";
const lane: LaneKey = laneKey.parse(`telegram:${bot}:p7:0`);

const sessionOf = ({ log, owner }: ApiRig) => sessionForLane({ log, owner }, lane, "first");

async function note(rig: ApiRig, text: string): Promise<void> {
  const session = await sessionOf(rig);
  const target = { session, lane, key: `note:${text}`, replyTo: null };
  expect(await enqueueNote(rig, target, text)).toBe("queued");
}

test("[P11] a host that lost its outbox lease writes nothing", async () => {
  const rig = openBotApi([]);
  await note(rig, "One");
  const session = await sessionOf(rig);
  const { leases, reads } = rig.store;
  const request = { kind: "outbox", session, ttlMs: 60_000 } as const;
  const first = await leases.acquire({ ...request, holder: aHolder() });
  if (first.status !== "acquired") throw new Error(first.status);
  const { fence } = first.lease;
  const writer = new OutboxWriter(rig.log, ids, rig.owner, fence);
  const next = await leases.acquire({ ...request, holder: aHolder(), replacing: fence });
  expect(next.status).toBe("acquired");
  const query = { session, states: ["pending", "sending"], limit: 9 } as const;
  const [row] = await reads.outbox(rig.owner, query);
  expect(await writer.write({ ...row!, state: "sending" })).toBe(false);
  expect(await reads.outbox(rig.owner, query)).toEqual([row]);
});

test("[P11] a dead host's deliveries are made at once, not when its lease expires", async () => {
  const platform = await startFakeBotApi();
  const rig = openBotApi([says("Hello.")]);
  const session = await sessionOf(rig);
  const dead = aHolder();
  const held = await rig.store.leases.acquire({
    kind: "outbox",
    session,
    holder: dead,
    ttlMs: 3_600_000,
  });
  expect(held.status).toBe("acquired");
  openBot(rig, platform, {
    liveness: { isDead: ({ nonce }) => (nonce === dead.nonce ? "dead" : "alive") },
  });
  platform.say(7, "Anybody there?");
  await untilShown(platform, 1);
  expect(textsIn(platform)).toEqual(["Hello."]);
});

test("[P11] a message that falls due while a delivery ends is not left to the next sweep", async () => {
  const platform = await startFakeBotApi();
  const rig = openBotApi([]);
  const session = await sessionOf(rig);
  await note(rig, "One");
  const isEnding = Promise.withResolvers<void>();
  const mayEnd = Promise.withResolvers<void>();
  const { store } = rig.log;
  const release: typeof store.leases.release = async (lease) => {
    isEnding.resolve();
    await mayEnd.promise;
    return store.leases.release(lease);
  };
  const dispatcher = new Dispatcher({
    log: { ...rig.log, store: { ...store, leases: { ...store.leases, release } } },
    ids,
    clock: systemClock,
    holder: () => aHolder(),
    liveness: { isDead: () => "unknown" },
    leaseMs: 30_000,
    adapter: await openFastTelegram(botToken, platform.address),
    addressing: chatAddressing("telegram", bot),
    rights: { ofLane: async () => ownerRights },
    sweepMs: 3_600_000,
    onError: (error) => void rig.bugs.push(new Error(String(error))),
  });
  const stopping = new AbortController();
  const running = dispatcher.run(stopping.signal);
  onTestFinished(async () => {
    stopping.abort();
    await running;
  });
  await isEnding.promise;
  await note(rig, "Two");
  dispatcher.notify(rig.owner, session);
  mayEnd.resolve();
  await untilShown(platform, 2);
  expect(textsIn(platform)).toEqual(["One", "Two"]);
});
