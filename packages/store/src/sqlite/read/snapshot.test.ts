import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

import { aDelta, aMessageId, aRunId } from "@holdfast/testing/fixtures/factories";
import { openTestSession, textsOf } from "@holdfast/testing/fixtures/open-session";
import { expect, onTestFinished, test } from "vitest";

import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { openSqliteStore } from "../store.ts";
import { readSnapshot } from "./reads.ts";

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
