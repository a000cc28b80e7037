import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { createLog } from "@holdfast/engine";
import { KeptSchedules } from "@holdfast/host/testing";
import { ids, ownerId } from "@holdfast/protocol";
import { openSqliteStore } from "@holdfast/store";
import { beforeEach, expect, test } from "vitest";

import { requirePage } from "../support/page.ts";
import { followUntil, hasEnded, serve, textIn, valueOf } from "./client.ts";
import { makeFolder } from "./host.ts";

beforeEach(requirePage);

const owner = ownerId.parse("owner");
const minuteMs = 60_000;

/** A home in which a prompt has come to be due while no host was there. */
async function homeWithDuePrompt() {
  const home = join(makeFolder(), "home");
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const store = await openSqliteStore({ file: join(home, "holdfast.db") });
  const { session } = await createLog(store).createSession({ owner, ids });
  const due = new Date(Date.now() - minuteMs).toISOString();
  const kept = new KeptSchedules(store.register, async () => Date.now() - 3 * minuteMs);
  const made = await kept.create(owner, ids.make("schedule"), {
    title: "Now",
    prompt: "Hello {words:3}",
    times: { date: due.slice(0, 10), at: due.slice(11, 16) },
    timeZone: "UTC",
    target: { sessionId: session },
    missed: "once",
  });
  expect(made.status).toBe("kept");
  await store.close();
  return { home, session };
}

test("[P11] what is due is one turn, though a host is killed as it is said and another looks at the same time", async () => {
  const { home, session } = await homeWithDuePrompt();
  const settings = { HOLDFAST_HOME: home, HOLDFAST_LEASE_MS: "3000" };
  const [first, second] = await Promise.all([serve(settings), serve(settings)]);
  await followUntil(
    second.client,
    session,
    ({ entries, inbox }) => entries.length + inbox.length > 0,
  );
  await first.host.kill();
  const third = await serve(settings);
  await followUntil(third.client, session, hasEnded);
  // Who was killed may have left it to the next look to write down what became of it.
  const became = async () => valueOf(await third.client.listSchedules()).schedules;
  const done = [{ nextAt: null, last: { outcome: "accepted" } }];
  await expect.poll(became, { timeout: 15_000 }).toMatchObject(done);
  const { entries } = valueOf(await third.client.readSession({ params: { id: session } }));
  const said = entries.flatMap((entry) =>
    entry.type === "message" && entry.role === "user" ? [textIn(entry)] : [],
  );
  expect(said).toEqual([expect.stringContaining("Hello")]);
});
