import type { Store } from "@holdfast/engine";
import { aUserMessage } from "@holdfast/testing/fixtures/factories";
import {
  type TestSession,
  openTestSession,
  seqsOf,
  textsOf,
} from "@holdfast/testing/fixtures/open-session";
import { Client } from "pg";
import { expect, onTestFinished, test } from "vitest";

import { startPostgres } from "@holdfast/testing/postgres/start-postgres";
import { createDatabase } from "@holdfast/testing/postgres/create-database";
import { openPostgresStore } from "./open.ts";

/** Killing a backend takes the whole server down: every connection breaks, and the server recovers its log. */
async function crashServer(url: string): Promise<void> {
  const victim = new Client({ connectionString: url });
  victim.on("error", () => undefined);
  const ended = new Promise((resolve) => victim.once("end", resolve));
  await victim.connect();
  const { rows } = await victim.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
  process.kill(rows[0]!.pid, "SIGKILL");
  await ended;
}

/** Writes until stopped, repeating failed commits, and returns what was acknowledged. */
async function writeUntil(chat: TestSession, name: string, stop: AbortSignal): Promise<string[]> {
  const acknowledged: string[] = [];
  for (let count = 0; !stop.aborted; count += 1) {
    const text = `${name} ${count}`;
    const events = [aUserMessage(text)];
    let result = await chat.send(events);
    while (result.status === "failed") result = await chat.send(events);
    expect(result.status).toBe("committed");
    acknowledged.push(text);
  }
  return acknowledged;
}

test("[P1] a server that crashes under load loses nothing acknowledged and doubles nothing", async () => {
  const server = await startPostgres();
  onTestFinished(server.stop);
  const { url } = await createDatabase(server.url);
  const nodes: Store[] = [await openPostgresStore({ url }), await openPostgresStore({ url })];
  onTestFinished(async () => {
    for (const node of nodes) await node.close();
  });
  const chats = await Promise.all(Array.from({ length: 4 }, () => openTestSession(nodes[0]!)));
  const stop = new AbortController();
  const writers = nodes.flatMap((node, n) =>
    chats.map((chat, c) => writeUntil(chat.through(node), `${n}.${c}`, stop.signal)),
  );
  for (let crash = 0; crash < 2; crash += 1) {
    const { head } = await chats[0]!.row();
    // The head must move before each crash and after it, so that there is load.
    while ((await chats[0]!.row()).head < head + 10);
    await crashServer(url);
  }
  const { head } = await chats[0]!.row();
  while ((await chats[0]!.row()).head < head + 10);
  stop.abort();
  const acknowledged = (await Promise.all(writers)).flat();

  const stored: string[] = [];
  for (const chat of chats) {
    const events = await chat.events({ limit: 100_000 });
    expect(seqsOf(events)).toEqual(events.map((_, index) => index + 1));
    stored.push(...textsOf(events.slice(1)));
  }
  expect(stored.toSorted()).toEqual(acknowledged.toSorted());
}, 120_000);
