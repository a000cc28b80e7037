import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openWebhookReceiver } from "@holdfast/testing/host/webhook-receiver";
import type { Client, SessionState } from "@holdfast/client";
import type { EntryView, RunId, SessionId, SessionRead, StoredEvent } from "@holdfast/protocol";

import { startHost, type StartedProcess } from "@holdfast/testing/process/start-process";
import { FakeBotApi } from "@holdfast/testing/telegram/fake-bot-api";
import {
  followUntil,
  hasEnded,
  readLog,
  serveWithClient,
  textIn,
  valueOf,
  countWords,
} from "../e2e/served-host.ts";
import { settingsFor } from "../e2e/served-host.ts";
import { Client as DatabaseClient } from "pg";
import { expect } from "vitest";
import { postSigned } from "./post-signed.ts";
import { type RestoredHome, restoreHome, type RestoreOptions } from "./restore.ts";
import type { HomeSnapshot, SessionName } from "./snapshot.ts";

/** A restored home that today's host serves, with Telegram and the webhook's receiver reachable again. */
export interface OpenedHome extends RestoredHome<HomeSnapshot> {
  readonly host: StartedProcess;
  readonly address: string;
  readonly client: Client;
  readonly telegram: FakeBotApi;
  readonly receiver: Awaited<ReturnType<typeof openWebhookReceiver>>;
  readonly idOf: (name: SessionName) => SessionId;
  readonly read: (name: SessionName) => Promise<SessionRead>;
  /** The session once its run has ended and its inbox is empty. */
  readonly ended: (name: SessionName) => Promise<SessionState>;
  readonly log: (name: SessionName) => Promise<readonly StoredEvent[]>;
  /** Deletes the stored answers, as if the old host had died before it could store them. */
  readonly forgetAnswers: () => Promise<void>;
  /** Posts to the webhook `home`. */
  readonly post: (id: string, text: string, secret?: string) => Promise<Response>;
  /** Runs a command of the command line on this home. */
  readonly command: (
    ...args: readonly string[]
  ) => Promise<{ readonly code: number | null; readonly output: string }>;
}

export async function openHome(options: Omit<RestoreOptions, "kind">): Promise<OpenedHome> {
  const { onCleanup } = options;
  const restored = await restoreHome<HomeSnapshot>({ kind: "home", ...options });
  const { snapshot } = restored;
  const telegram = new FakeBotApi();
  await telegram.start();
  onCleanup(() => telegram.stop());
  // Its update ids go on from where they were.
  while (telegram.nextUpdate < snapshot.telegram.nextUpdate) telegram.push({});
  const receiver = await openWebhookReceiver();
  onCleanup(() => receiver.close());
  const ci = { secret: snapshot.webhooks.ciSecret, url: receiver.url, network: "private" };
  const settings = {
    ...restored.settings,
    HOLDFAST_TELEGRAM_API_ROOT: telegram.address,
    HOLDFAST_WEBHOOKS: JSON.stringify({ ci }),
  };
  const { host, address, client } = await serveWithClient(settings, onCleanup);
  const idOf = (name: SessionName): SessionId => snapshot.sessions[name].session.id;
  const read = async (name: SessionName): Promise<SessionRead> =>
    valueOf(await client.readSession({ params: { id: idOf(name) } }));
  return {
    ...restored,
    settings,
    host,
    address,
    client,
    telegram,
    receiver,
    idOf,
    read,
    ended: (name) => followUntil(client, idOf(name), hasEnded),
    log: async (name) => readLog(client, idOf(name), (await read(name)).seq),
    forgetAnswers: () => deleteAnswers(restored),
    post: (id, text, secret = snapshot.webhooks.homeSecret) => {
      const message = { conversation: "deploys", text };
      return postSigned({ address, name: "home", secret, id, message, at: restored.now() });
    },
    command: async (...args) => {
      const process = startHost(args, { env: settingsFor(settings), onCleanup });
      const { code } = await process.exited;
      return { code, output: process.stdout() + process.stderr() };
    },
  };
}

async function deleteAnswers({ home, settings }: RestoredHome<HomeSnapshot>): Promise<void> {
  const statement = "DELETE FROM requests";
  const url = settings["HOLDFAST_STORE"];
  if (url === undefined) {
    const database = new DatabaseSync(join(home, "holdfast.db"), { timeout: 10_000 });
    expect(database.prepare(statement).run().changes).toBeGreaterThan(0);
    return database.close();
  }
  const database = new DatabaseClient({ connectionString: url });
  await database.connect();
  const { rowCount } = await database.query(statement);
  await database.end();
  expect(rowCount).toBeGreaterThan(0);
}

const endStates = new Set<unknown>(["completed", "cancelled", "failed", "interrupted", "limit"]);

/** Every end of a run that its log has. */
export function endsOf(events: readonly StoredEvent[], runId: RunId): readonly unknown[] {
  return events
    .filter((event) => event.type === "run.state" && event.runId === runId)
    .map(({ data }) => data["state"])
    .filter((state) => endStates.has(state));
}

/** One line for each entry. */
export function outline(entries: readonly EntryView[]): readonly string[] {
  return entries.map((entry) => {
    if (entry.type === "notice") return `notice ${entry.kind}`;
    if (entry.type !== "message") return entry.type;
    if (entry.role === "user") return `user: ${textIn(entry).split(" {")[0] ?? ""}`;
    if (entry.role === "tool") return "tool";
    const kind = entry.partial === undefined ? "answer" : "partial answer";
    return `${kind} of ${countWords(textIn(entry))} words`;
  });
}

export function resultsIn(entries: readonly EntryView[]) {
  return entries.flatMap((entry) =>
    entry.type === "message" ? entry.parts.filter((part) => part.type === "tool_result") : [],
  );
}
