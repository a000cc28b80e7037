import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

import type { OwnerId, SessionId } from "@holdfast/protocol";
import { aCommit, aDelta, aMessageId, anInput, aRunId } from "@holdfast/testing/fixtures/factories";
import { openTestSession, textsOf } from "@holdfast/testing/fixtures/open-session";
import { expect, onTestFinished, test } from "vitest";

import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { openSqliteStore } from "../store.ts";
import { connect, type Probe } from "../connection.ts";
import { GroupWriter } from "../write/group-writer.ts";
import { QueryServer, type RawSnapshot } from "./queries.ts";
import { InlineReader, readSnapshot } from "./reads.ts";
import { WriteCounter } from "./watch.ts";

test("a snapshot is read again when its deltas are pruned meanwhile", async () => {
  const session = await (await openTestSession(createReferenceStore())).row();
  const common = { session, entries: { rows: [], more: false }, run: null, inbox: [], journal: [] };
  const { id, type, runId } = aDelta(aRunId());
  const snapshots = [
    { ...common, deltas: { rows: [[9, id, type, 1, 0, runId ?? null, 0, 0, "{}"]], older: 8 } },
    { ...common, deltas: { rows: [], older: null } },
  ];
  const snapshot = await readSnapshot(
    {
      snapshot: async () => snapshots.shift() ?? null,
      deltas: async () => null,
    },
    () => {},
  );
  expect(snapshot?.journal).toEqual([]);
  expect(snapshots).toEqual([]);
});

test("damaged deltas are left out of a long journal and reported once each", async () => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-journal-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "store.db");
  const damaged: number[] = [];
  const store = await openSqliteStore({ file, onDamage: ({ seq }) => damaged.push(seq) });
  onTestFinished(() => store.close());
  const chat = await openTestSession(store);
  const { runId, under } = await chat.startRun();
  const messageId = aMessageId();
  const texts = Array.from({ length: 3_000 }, (_, index) => `${index} `);
  for (const batch of [texts.slice(0, 1_500), texts.slice(1_500)])
    await chat.commit(
      batch.map((text) => aDelta(runId, text, messageId)),
      { under },
    );
  const database = new DatabaseSync(file);
  database.exec("UPDATE deltas SET sum = 0 WHERE seq IN (105, 3003)");
  database.close();
  const { journal } = await chat.snapshot();
  const joined = textsOf(journal.filter(({ type }) => type === "message.delta")).join("");
  expect(joined).toBe(texts.filter((text) => !["100 ", "2998 "].includes(text)).join(""));
  expect(damaged.toSorted((a, b) => a - b)).toEqual([105, 3003]);
});

type ReadRaw = (owner: OwnerId, session: SessionId) => Promise<RawSnapshot | null>;

const readers: readonly (readonly [
  string,
  (file: string, probe: Probe) => { readonly read: ReadRaw; readonly close: () => void },
])[] = [
  [
    "on the event loop",
    (file, probe) => {
      const reader = new InlineReader(file, probe);
      const read: ReadRaw = async (...session) =>
        reader.read("snapshot", [...session, { limit: 10 }])?.value ?? null;
      return { read, close: () => reader.close() };
    },
  ],
  [
    "in the reader thread",
    (file, probe) => {
      const server = new QueryServer(file, new WriteCounter(), () => {}, probe);
      const read: ReadRaw = async (...session) => {
        const args: [OwnerId, SessionId, { limit: number }] = [...session, { limit: 10 }];
        return (await server.handle({ op: "query", name: "snapshot", args })) as RawSnapshot;
      };
      return { read, close: () => server.close() };
    },
  ],
];

test.each(readers)("[S3.15] a snapshot read %s shows one instant", async (_where, open) => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-instant-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "store.db");
  const store = await openSqliteStore({ file });
  const chat = await openTestSession(store);
  await store.close();
  const writer = new GroupWriter({
    open: () => connect({ file, access: "write" }),
    busyMs: 1_000,
    checkpointPages: 1_000,
  });
  let written = 0;
  // Somebody writes after the session's row was read and before its inbox is.
  const reader = open(file, (sql) => {
    if (!sql.includes("FROM inputs") || (written += 1) > 1) return;
    const [outcome] = writer.run(
      [{ name: "commit", request: aCommit(chat, [anInput()]) }],
      Date.now,
    );
    expect(outcome).toMatchObject({ status: "committed", first: 2 });
  });
  onTestFinished(() => {
    reader.close();
    writer.close();
  });
  const { owner, session } = chat;
  expect(await reader.read(owner, session)).toMatchObject({ session: { head: 1 }, inbox: [] });
  const later = await reader.read(owner, session);
  expect(later).toMatchObject({ session: { head: 2 }, inbox: [{ state: "queued" }] });
});
