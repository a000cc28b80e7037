import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { DatabaseSync } from "node:sqlite";

import { expect, test } from "vitest";

import { SearchService } from "./service.ts";
import { openSearchRig, sendMessages, seqsFound } from "@holdfast/testing/stores/search-rig";

const slow = { timeout: 60_000 };
const messages = Array.from({ length: 300 }, (_, index) => `mackerel ${index} of the shoal`);

/** Ways in which an index goes bad; each gets the path of a complete one. */
const damages: Record<string, (path: string) => void> = {
  "is missing": (path) => rmSync(path),
  "is empty": (path) => truncateSync(path, 0),
  "is garbage": (path) => writeFileSync(path, "not a database, ".repeat(5_000)),
  "is cut short": (path) => truncateSync(path, Math.floor(statSync(path).size / 2)),
  "has garbage in the middle": (path) => {
    const bytes = readFileSync(path);
    writeFileSync(path, bytes.fill(0xa5, 4_096, bytes.length - 4_096));
  },
  "is of another version": (path) => execute(path, "PRAGMA user_version = 999"),
  "lacks a table": (path) => execute(path, "DROP TABLE documents"),
  "is somebody else's database": (path) => {
    rmSync(path);
    execute(path, "CREATE TABLE mine (n); PRAGMA user_version = 1");
  },
  "has lost its progress": (path) => execute(path, "DELETE FROM progress"),
  "is ahead of its store": (path) => execute(path, "UPDATE progress SET pos = 1000000"),
  "belongs to another store": (path) => execute(path, "UPDATE progress SET event_id = 'evt_other'"),
};

function execute(path: string, sql: string): void {
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
}

function indexAll(service: SearchService): void {
  for (let steps = 0; steps < 1_000; steps += 1) {
    const progress = service.step();
    if (progress.status === "current") return;
    expect(progress.status).not.toBe("busy");
  }
  expect.fail("the index is never complete");
}

test("a damaged index is rebuilt, whatever the damage", slow, async () => {
  await using rig = await openSearchRig();
  const { file, index, store, chat } = rig;
  await sendMessages(chat, ...messages);
  const find = (service: SearchService): number => {
    const result = service.search(chat.owner, { text: "mackerel", limit: 500 });
    return result.status === "ok" ? result.hits.length : -1;
  };
  for (const [name, damage] of Object.entries(damages)) {
    for (const state of ["closed", "open"]) {
      const before = new SearchService(file);
      indexAll(before);
      expect({ name, found: find(before) }).toEqual({ name, found: 300 });
      if (state === "closed") before.close();
      damage(index);
      const after = new SearchService(file);
      for (const service of state === "open" ? [before, after] : [after]) {
        // Until the index is complete again, a search returns something and never throws.
        expect(find(service)).toBeLessThanOrEqual(300);
        indexAll(service);
        indexAll(service);
        expect({ name, state, found: find(service) }).toEqual({ name, state, found: 300 });
      }
      if (state === "open") before.close();
      after.close();
    }
  }
  await sendMessages(chat, "no write has noticed");
  expect(await seqsFound(chat, "noticed")).toEqual([302]);
  await store.search.settled();
});

test("an index deleted under load is rebuilt without disturbing writes", slow, async () => {
  await using rig = await openSearchRig();
  const { store, chat, index, open } = rig;
  const other = await open();
  let deleted = 0;
  for (let round = 0; round < 6; round += 1) {
    const writes = messages.slice(0, 40).map((text) => sendMessages(chat, text));
    const searches = [store, other].map((handle) =>
      handle.search.search(chat.owner, { text: "shoal", limit: 5 }),
    );
    await Promise.all([...writes, ...searches, store.search.settled()]);
    if (!existsSync(index)) continue;
    for (const suffix of ["-wal", "-shm", ""]) rmSync(index + suffix, { force: true });
    deleted += 1;
  }
  expect(deleted).toBeGreaterThan(2);
  await sendMessages(chat, "the last shoal");
  for (const handle of [store, other]) {
    await handle.search.settled();
    expect((await seqsFound(chat.through(handle), "shoal"))[0]).toBe((await chat.row()).head);
  }
});

test(
  "searches report that no index can be created, and everything else goes on",
  slow,
  async () => {
    await using rig = await openSearchRig();
    const { store, chat, index } = rig;
    mkdirSync(index);
    await sendMessages(chat, "a shrimp");
    const result = await store.search.search(chat.owner, { text: "shrimp", limit: 5 });
    expect(result.status).toBe("unavailable");
    await expect(store.search.settled()).rejects.toMatchObject({ code: "store_unavailable" });
    await sendMessages(chat, "another shrimp");
    rmSync(index, { recursive: true });
    await store.search.settled();
    expect(await seqsFound(chat, "shrimp")).toEqual([3, 2]);
  },
);

test("a store restored to an earlier state is searched as it is now", slow, async () => {
  await using rig = await openSearchRig();
  const { file, store, chat, open } = rig;
  await sendMessages(chat, "a shrimp");
  await store.backup(`${file}.backup`);
  await sendMessages(chat, "a lobster");
  await store.search.settled();
  await store.close();
  for (const suffix of ["-wal", "-shm", ""]) rmSync(file + suffix, { force: true });
  cpSync(`${file}.backup`, file);
  const restored = chat.through(await open());
  await sendMessages(restored, "an oyster");
  await restored.store.search.settled();
  expect(await seqsFound(restored, "lobster")).toEqual([]);
  expect(await seqsFound(restored, "oyster")).toEqual([3]);
  expect(await seqsFound(restored, "shrimp")).toEqual([2]);
});
