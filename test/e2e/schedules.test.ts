import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { createLog } from "@holdfast/engine";
import { ScheduleStore } from "../../packages/host/test/support/schedule-store.ts";
import { ids, ownerId } from "@holdfast/protocol";
import { openSqliteStore } from "@holdfast/store";
import { beforeEach, expect, test } from "vitest";

import { requirePage } from "./page/require-page.ts";
import {
  followUntil,
  hasEnded,
  serveWithClient,
  textIn,
  valueOf,
  makeFolder,
} from "./served-host.ts";

beforeEach(requirePage);

const owner = ownerId.parse("owner");
const minuteMs = 60_000;

type Kept = Parameters<ScheduleStore["advance"]>[0]["schedule"];

/** A home with a prompt that came due while no host was running. */
async function homeWithDuePrompt() {
  const home = join(makeFolder(), "home");
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const store = await openSqliteStore({ file: join(home, "holdfast.db") });
  const { session } = await createLog(store).createSession({ owner, ids });
  const due = new Date(Date.now() - minuteMs).toISOString();
  const kept = new ScheduleStore(store.register, async () => Date.now() - 3 * minuteMs);
  const made = await kept.create(owner, ids.make("schedule"), {
    title: "Now",
    prompt: "Hello {words:3}",
    times: { date: due.slice(0, 10), at: due.slice(11, 16) },
    timeZone: "UTC",
    target: { sessionId: session },
    missed: "once",
  });
  await store.close();
  if (made.status !== "kept") throw new Error(made.status);
  return { home, session, schedule: made.schedule };
}

/** As if its host had died between sending it and recording that. */
async function forgetRecordedRun(home: string, before: Kept): Promise<void> {
  const store = await openSqliteStore({ file: join(home, "holdfast.db") });
  const kept = new ScheduleStore(store.register, () => store.now());
  const [now] = await kept.list(owner);
  if (now !== undefined) await kept.advance({ ...now, schedule: before });
  await store.close();
}

test("[P11] a due prompt is one turn, though its host is killed before it has recorded it, and two hosts check again", async () => {
  const { home, session, schedule } = await homeWithDuePrompt();
  const settings = { HOLDFAST_HOME: home, HOLDFAST_LEASE_MS: "3000" };
  const first = await serveWithClient(settings);
  await followUntil(
    first.client,
    session,
    ({ entries, inbox }) => entries.length + inbox.length > 0,
  );
  await first.host.kill();
  await forgetRecordedRun(home, schedule);
  const [second] = await Promise.all([serveWithClient(settings), serveWithClient(settings)]);
  const became = async () => valueOf(await second.client.listSchedules()).schedules;
  const done = [{ nextAt: null, last: { outcome: "accepted" } }];
  await expect.poll(became).toMatchObject(done);
  await followUntil(second.client, session, hasEnded);
  const { entries } = valueOf(await second.client.readSession({ params: { id: session } }));
  const said = entries.flatMap((entry) =>
    entry.type === "message" && entry.role === "user" ? [textIn(entry)] : [],
  );
  expect(said).toEqual([expect.stringContaining("Hello")]);
});
