import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { openWebhookReceiver } from "@holdfast/testing/host/webhook-receiver";
import type { Client } from "@holdfast/client";
import type { SessionId, SessionRead } from "@holdfast/protocol";

import { startHost, type OnCleanup } from "@holdfast/testing/process/start-process";
import { botToken, FakeBotApi } from "@holdfast/testing/telegram/fake-bot-api";
import { serveWithClient, valueOf } from "../../e2e/served-host.ts";
import { settingsFor } from "../../e2e/served-host.ts";
import { preload } from "../preload.ts";
import { type HomeSnapshot, liveText, type SessionName } from "../snapshot.ts";
import { createDriver, type Driver, until } from "./driver.ts";
import { createChats, createWebhookSessions } from "./gateway.ts";
import {
  branchKey,
  createRestingSessions,
  createWaitingSessions,
  picture,
  sharedWorkspace,
  startLiveRuns,
} from "./sessions.ts";

export interface ScenarioPlace {
  readonly home: string;
  /** Settings of a store that is not in the home. */
  readonly store: Record<string, string>;
  readonly onCleanup: OnCleanup;
}

const ciSecret = "a-secret-that-both-sides-know";

/** Serves a fresh home until everything in it is under way, and kills the host. */
export async function makeHome({ home, store, onCleanup }: ScenarioPlace): Promise<HomeSnapshot> {
  const telegram = new FakeBotApi();
  await telegram.start();
  onCleanup(() => telegram.stop());
  const receiver = await openWebhookReceiver(["hold"]);
  onCleanup(() => receiver.close());
  await configure(home, {
    model: "rehearsal",
    review: "off",
    workspaceRoots: sharedWorkspace,
    telegramToken: botToken,
    telegramAllow: "7,8,9",
    webhooks: JSON.stringify({ ci: { secret: ciSecret, url: receiver.url, network: "private" } }),
  });
  writeFileSync(join(home, "persona.md"), "You keep the light on.\n");

  const settings = {
    HOLDFAST_HOME: home,
    HOLDFAST_TELEGRAM_API_ROOT: telegram.address,
    ...store,
    ...preload("make/set-hostname.ts"),
  };
  const { host, address, client, token } = await serveWithClient(settings, onCleanup);
  const driver = createDriver(client);
  const access = { token, ...(await signIn(client, address)) };
  const scheduled = await createSchedules(driver);
  const resting = await createRestingSessions(driver);
  const hooked = await createWebhookSessions(driver, { address, receiver, ciSecret });
  const chats = await createChats(driver, telegram);
  const waiting = await createWaitingSessions(driver);
  const quiet = { scheduled, ...resting, ...hooked.sessions, ...chats.sessions, ...waiting };
  const views = await readViews(client);
  const quietSessions = await readSessions(client, quiet);

  const begun = await startLiveRuns(driver);
  const lists = await readLists(client);
  await until("the beginning of both answers", async () => {
    const sessions = [await driver.read(begun.live), await driver.read(begun.child)];
    return sessions.every((session) => wordsShown(session) > 12);
  });
  const liveSessions = await readSessions(client, begun);
  await host.kill();
  for (const name of ["live", "child"] as const) expectMidStream(name, liveSessions[name]);
  return {
    killedAt: Date.now(),
    ...views,
    lists,
    sessions: { ...quietSessions, ...liveSessions },
    access,
    branchKey,
    picture: Buffer.from(picture).toString("base64"),
    webhooks: hooked.webhooks,
    telegram: chats.telegram,
  };
}

const wordsShown = (session: SessionRead): number => liveText(session).split(" ").length;

/** Of eighty words: a second before the end is soon enough for the kill. */
function expectMidStream(name: string, session: SessionRead): void {
  const words = wordsShown(session);
  if (words <= 12 || words > 50) throw new Error(`${name} was killed after ${words} words.`);
}

/** Writes the home's configuration with the command that people use. */
async function configure(home: string, settings: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, value] of Object.entries(settings)) {
    const env = settingsFor({ HOLDFAST_HOME: home });
    const command = startHost(["config", "set", name, value], { env, onCleanup: () => undefined });
    const { code } = await command.exited;
    if (code !== 0) throw new Error(command.stderr());
  }
}

async function signIn(client: Client, address: string) {
  const password = "correct horse battery";
  valueOf(await client.setPassword({ body: { password } }));
  const response = await fetch(`${address}api/login`, {
    method: "POST",
    body: JSON.stringify({ password }),
    headers: { "content-type": "application/json", "user-agent": "An old browser" },
  });
  const cookie = /=([^;]+)/.exec(response.headers.get("set-cookie") ?? "")?.[1] ?? "";
  const [signedIn] = valueOf(await client.listSignIns()).signIns;
  return { password, cookie, signIn: signedIn! };
}

const minuteMs = 60_000;

/** One prompt comes due between the kill and the opening, another one half a day later. */
async function createSchedules({ client, createSession }: Driver): Promise<SessionId> {
  const sessionId = await createSession({ title: "Reminders" });
  const common = { timeZone: "UTC", target: { sessionId } } as const;
  const later = new Date(Date.now() + 720 * minuteMs).toISOString();
  const days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const;
  const daily = { days: [...days], at: [later.slice(11, 16)] };
  const soon = new Date(Date.now() + 5 * minuteMs).toISOString();
  const once = { date: soon.slice(0, 10), at: soon.slice(11, 16) };
  for (const body of [
    { ...common, title: "Daily", prompt: "Trim the lamp {words:5}", times: daily },
    { ...common, title: "Once", prompt: "Wind the clock {words:5}", times: once, missed: "once" },
  ] as const)
    valueOf(await client.createSchedule({ body }));
  return sessionId;
}

async function readViews(client: Client) {
  return {
    approvals: valueOf(await client.listApprovals()).approvals,
    rules: valueOf(await client.listRules()).rules,
    schedules: valueOf(await client.listSchedules()).schedules,
    gateway: valueOf(await client.readGateway()),
    memoryBacklog: valueOf(await client.readMemory()).backlog.turns,
  };
}

async function readSessions<Name extends SessionName>(
  client: Client,
  names: Readonly<Record<Name, SessionId>>,
): Promise<Readonly<Record<Name, SessionRead>>> {
  const reads = Object.entries<SessionId>(names).map(async ([name, id]) => [
    name,
    valueOf(await client.readSession({ params: { id } })),
  ]);
  return Object.fromEntries(await Promise.all(reads)) as Record<Name, SessionRead>;
}

async function readLists(client: Client): Promise<HomeSnapshot["lists"]> {
  const list = async (query: object): Promise<readonly SessionId[]> =>
    valueOf(await client.listSessions({ query: { limit: 100, ...query } })).sessions.map(
      ({ id }) => id,
    );
  return {
    active: await list({}),
    archived: await list({ archived: true }),
    trashed: await list({ trashed: true }),
  };
}
