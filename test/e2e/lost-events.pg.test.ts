import { type Client, type FollowItem } from "@holdfast/client";
import { type Seq, type SessionId } from "@holdfast/protocol";
import { startHost } from "@holdfast/testing/process/start-process";
import { onTestFinished, expect, test } from "vitest";
import { startCluster } from "../chaos/nodes/cluster.ts";
import { serveWithClient, settingsFor, textIn, valueOf } from "./served-host.ts";
import { createSession, turn } from "./shared-store.ts";

/** Until everything that is stored has reached the replica. */
async function untilReplicated(cluster: Awaited<ReturnType<typeof startCluster>>): Promise<void> {
  const behind = async () => {
    const rows = await cluster.query(
      "SELECT 1 FROM pg_stat_replication WHERE flush_lsn < pg_current_wal_lsn()",
    );
    return rows.length;
  };
  await expect.poll(behind).toBe(0);
}

/** Follows a session from its head, and records what it is told. */
function follow(client: Client, id: SessionId, after: Seq): FollowItem[] {
  const items: FollowItem[] = [];
  const leaving = new AbortController();
  onTestFinished(() => leaving.abort());
  void (async () => {
    for await (const item of client.follow(id, after, { signal: leaving.signal })) items.push(item);
  })();
  return items;
}

async function readAll(client: Client, id: SessionId) {
  const { entries, seq } = valueOf(await client.readSession({ params: { id } }));
  return {
    seq,
    said: entries.flatMap((entry) =>
      entry.type === "message" && entry.role === "user" ? [textIn(entry)] : [],
    ),
    notices: entries.flatMap((entry) => (entry.type === "notice" ? [entry.kind] : [])),
  };
}

test("when PostgreSQL fails over to a replica that lags, readers start anew, and the loss is told once in the conversation, in logs, health and doctor", async () => {
  const cluster = await startCluster(() => {});
  onTestFinished(() => cluster.close());
  const settings = { HOLDFAST_STORE: cluster.outsideUrl, HOLDFAST_REVIEW: "off" };
  const writer = await serveWithClient(settings);
  const reader = await serveWithClient(settings);
  await cluster.addReplica("asynchronous");
  const id = await createSession(writer.client);
  await turn(writer.client, id, "first");
  await untilReplicated(cluster);

  cluster.starveReplica();
  await turn(writer.client, id, "second");
  const lone = await createSession(writer.client);
  const { seq } = await readAll(reader.client, id);
  const items = follow(reader.client, id, (seq - 1) as Seq);
  await expect.poll(() => items.length).toBeGreaterThan(0);
  await cluster.failOver();

  await expect.poll(() => items.at(-1)?.kind).toBe("resync");
  await expect
    .poll(async () => readAll(reader.client, id))
    .toMatchObject({ said: ["first {words:1}"], notices: ["events_lost"] });
  // A cursor of before, of a reader that was away.
  const late = follow(reader.client, id, seq);
  await expect.poll(() => late.at(-1)?.kind).toBe("resync");

  for (const { host, address } of [writer, reader]) {
    await expect.poll(() => host.stderr()).toContain('"code":"events_lost"');
    const health = async (): Promise<unknown> =>
      (await fetch(new URL("health?ready", address))).json();
    await expect.poll(health).toMatchObject({ ready: true, store: { ready: true, lost: {} } });
  }
  expect(writer.host.stderr()).toContain(lone);

  await turn(writer.client, id, "again");
  await expect
    .poll(async () => readAll(reader.client, id))
    .toMatchObject({ said: ["first {words:1}", "again {words:1}"], notices: ["events_lost"] });
  const doctor = startHost(["doctor"], {
    env: settingsFor({ ...settings, HOLDFAST_HOME: writer.home }),
  });
  await doctor.exited;
  expect(doctor.stdout()).toMatch(/lost confirmed events/);
  // A host that starts later knows as well.
  const third = await serveWithClient(settings);
  const health = (await (await fetch(new URL("health", third.address))).json()) as object;
  expect(health).toMatchObject({ store: { lost: { sessions: 2 } } });
}, 120_000);
