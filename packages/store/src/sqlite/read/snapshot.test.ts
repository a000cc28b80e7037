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

test("deltas that are cleared away while they are read make it read another instant", async () => {
  const session = await (await openTestSession(createReferenceStore())).row();
  const common = { session, entries: { rows: [], more: false }, run: null, inbox: [], journal: [] };
  const { id, type, runId } = aDelta(aRunId());
  const instants = [
    { ...common, deltas: { rows: [[9, id, type, 1, 0, runId ?? null, 0, 0, "{}"]], older: 8 } },
    { ...common, deltas: { rows: [], older: null } },
  ];
  const snapshot = await readSnapshot(
    {
      snapshot: async () => instants.shift() ?? null,
      deltas: async () => null,
    },
    () => {},
  );
  expect(snapshot?.journal).toEqual([]);
  expect(instants).toEqual([]);
});

test("deltas that cannot be read are left out of a long journal, wherever they stand, and told once each", async () => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-journal-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "store.db");
  const damaged: number[] = [];
  const store = await openSqliteStore({ file, onDamage: ({ seq }) => damaged.push(seq) });
  onTestFinished(() => store.close());
  const chat = await openTestSession(store);
  const { runId, under } = await chat.startRun();
  const messageId = aMessageId();
  const words = Array.from({ length: 3_000 }, (_, index) => `${index} `);
  for (const some of [words.slice(0, 1_500), words.slice(1_500)])
    await chat.commit(
      some.map((word) => aDelta(runId, word, messageId)),
      { under },
    );
  const database = new DatabaseSync(file);
  database.exec("UPDATE deltas SET sum = 0 WHERE seq IN (105, 3003)");
  database.close();
  const { journal } = await chat.snapshot();
  const said = textsOf(journal.filter(({ type }) => type === "message.delta")).join("");
  expect(said).toBe(words.filter((word) => !["100 ", "2998 "].includes(word)).join(""));
  expect(damaged.toSorted((a, b) => a - b)).toEqual([105, 3003]);
});
