import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLog, runFsck } from "@holdfast/engine";
import { aNotice } from "@holdfast/testing/fixtures/factories";
import { ownerId } from "@holdfast/protocol";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { openSqliteStore } from "@holdfast/store/sqlite";
import { expect, onTestFinished, test } from "vitest";

import { keySettings } from "../../../test/support/providers/models.ts";
import { openSecrets } from "../secrets/secrets.ts";
import { makeBackup, restoreBackup } from "./backup.ts";

const owner = ownerId.parse("owner");

function makeHome(): string {
  const home = mkdtempSync(join(tmpdir(), "holdfast-backup-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

async function openStore(home: string) {
  const store = await openSqliteStore({ file: join(home, "holdfast.db") });
  let isOpen = true;
  const close = async (): Promise<void> => {
    if (isOpen) await store.close();
    isOpen = false;
  };
  onTestFinished(close);
  return { store, log: createLog(store), close };
}

test("a backup made while messages arrive is complete and clean, and restores into an empty home", async () => {
  const home = makeHome();
  mkdirSync(join(home, "memory/6f"), { recursive: true });
  writeFileSync(join(home, "memory/6f/MEMORY.md"), "a note");
  writeFileSync(join(home, "token"), "secret");
  const { store, log } = await openStore(home);
  const { session } = await log.createSession({ owner });
  const copied = new AbortController();
  const writing = (async () => {
    let heads = 0;
    while (!copied.signal.aborted) {
      const result = await log.commit({ owner, session, events: [aNotice(), aNotice()] });
      if (result.status === "committed") heads = result.last;
    }
    return heads;
  })();
  const made = await makeBackup(home, store, new Date(0));
  copied.abort();
  const last = await writing;
  expect(made?.name).toBe("1970-01-01T00-00-00-000Z");
  expect(readdirSync(made?.folder ?? "").toSorted()).toEqual(["holdfast.db", "memory"]);
  expect(statSync(join(made?.folder ?? "", "holdfast.db")).mode & 0o077).toBe(0);

  const fresh = makeHome();
  expect(await restoreBackup(made?.folder ?? "", fresh)).toMatchObject({ ok: true });
  expect(existsSync(join(fresh, "memory/6f/MEMORY.md"))).toBe(true);
  expect(existsSync(join(fresh, "token"))).toBe(false);
  const restored = await openStore(fresh);
  const row = await restored.store.reads.session(owner, session);
  // Each commit has two events, so a torn copy would show.
  expect([(row?.head ?? 0) % 2, (row?.head ?? 0) <= last]).toEqual([1, true]);
  const found = await runFsck(restored.store.audit, { now: await restored.store.now() });
  expect(found).toMatchObject({ exitCode: 0, sessions: 1 });
});

test("a home that is not empty is not overwritten", async () => {
  const home = makeHome();
  const { store } = await openStore(home);
  const made = await makeBackup(home, store, new Date(0));
  const restored = await restoreBackup(made?.folder ?? "", home);
  expect(restored).toMatchObject({ ok: false, failure: { code: "home.unusable" } });
  expect(await restoreBackup(join(home, "nowhere"), makeHome())).toMatchObject({ ok: false });
});

test("[P1] a leftover WAL of another store is never replayed into a restored one", async () => {
  const home = makeHome();
  const { store, log } = await openStore(home);
  const made = await makeBackup(home, store, new Date(0));
  const fresh = makeHome();
  // Somebody has moved the damaged store away, but not its WAL.
  await log.createSession({ owner });
  cpSync(join(home, "holdfast.db-wal"), join(fresh, "holdfast.db-wal"));
  const restored = await restoreBackup(made?.folder ?? "", fresh);
  expect(restored).toMatchObject({ ok: false, failure: { code: "home.unusable" } });
  expect(readdirSync(fresh)).toEqual(["holdfast.db-wal"]);
});

test("a store with its own backup tools is left to them", async () => {
  const store = createReferenceStore();
  onTestFinished(() => store.close());
  expect(await makeBackup(makeHome(), store, new Date(0))).toBeUndefined();
});

test("a failed copy leaves nothing that looks like a backup", async () => {
  const home = makeHome();
  const failing = { backup: async () => Promise.reject(new Error("no room")) };
  await expect(makeBackup(home, failing, new Date(0))).rejects.toThrow("no room");
  expect(readdirSync(join(home, "backups"))).toEqual([]);
});

test("[safety] a backup has stored secrets without their key, which a restored home needs", async () => {
  const [home, restored] = [makeHome(), makeHome()];
  const { store } = await openStore(home);
  const stored = { key: "one-secret-key", baseUrl: "https://models.example/v1" };
  await (await openSecrets(keySettings(home), store, failTest)).secrets.put("openai", stored);
  const made = await makeBackup(home, store, new Date(0));
  const names = readdirSync(made?.folder ?? "", { recursive: true }).map(String);
  expect(names.filter((name) => /key|secret|token|password/.test(name))).toEqual([]);
  for (const name of names)
    expect(readFileSync(join(made?.folder ?? "", name), "latin1")).not.toContain("one-secret-key");
  await restoreBackup(made?.folder ?? "", restored);
  const { store: again } = await openStore(restored);
  const reports: Error[] = [];
  const locked = await openSecrets(keySettings(restored), again, (error) => reports.push(error));
  expect([locked.secrets.read("openai"), reports.length]).toEqual([null, 1]);
  cpSync(join(home, "secrets.key"), join(restored, "secrets.key"));
  const { secrets } = await openSecrets(keySettings(restored), again, failTest);
  expect(secrets.read("openai")).toEqual(stored);
});

const failTest = (error: Error): never => {
  throw error;
};
