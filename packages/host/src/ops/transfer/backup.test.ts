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
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { createLog, runFsck } from "@holdfast/engine";
import { aNotice } from "@holdfast/testing/fixtures/factories";
import { ownerId } from "@holdfast/protocol";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { openSqliteStore } from "@holdfast/store/sqlite";
import { expect, onTestFinished, test } from "vitest";

import { keySettings } from "../../../test/support/providers/models.ts";
import { prepareHome } from "../config/home.ts";
import { openSecrets } from "../secrets/secrets.ts";
import { listBackups, type MadeBackup, makeBackup } from "./backup.ts";
import { restoreBackup } from "./restore.ts";

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
  writeFileSync(join(home, "config.json"), '{"port":8787}');
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
  expect(made).toMatchObject({
    status: "verified",
    backup: { name: "1970-01-01T00-00-00-000Z", sessions: 1 },
  });
  expect(readdirSync(made?.folder ?? "").toSorted()).toEqual([
    "backup.json",
    "config.json",
    "holdfast.db",
    "memory",
  ]);
  expect(readdirSync(join(home, "backups"))).toEqual(["1970-01-01T00-00-00-000Z"]);
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
  const { store } = await openStore(home);
  const failing = {
    audit: store.audit,
    now: () => store.now(),
    backup: async () => Promise.reject(new Error("no room")),
  };
  await expect(makeBackup(home, failing, new Date(0))).rejects.toThrow("no room");
  expect(readdirSync(join(home, "backups"))).toEqual([]);
});

test("[safety] a backup has stored secrets without their key, which a restored home needs", async () => {
  const [home, restored] = [makeHome(), makeHome()];
  const { store } = await openStore(home);
  const stored = { key: "one-secret-key", baseUrl: "https://models.example/v1" };
  await (await openSecrets(keySettings(home), store, failTest)).secrets.put("openai", stored);
  // Somebody has put a secret into the settings, which have no place for one.
  writeFileSync(join(home, "config.json"), '{"token":"one-secret-key"}');
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

test("a copy that is damaged, or lacks what was stored before, is named unverified", async () => {
  const home = makeHome();
  const { store, log } = await openStore(home);
  const { session } = await log.createSession({ owner });
  await log.commit({ owner, session, events: [aNotice(), aNotice()] });
  const copies = {
    damaged: "UPDATE events SET data = '{}' WHERE seq = 2",
    shortened: "DELETE FROM sessions",
  };
  for (const [index, change] of Object.values(copies).entries()) {
    const careless = {
      audit: store.audit,
      now: () => store.now(),
      async backup(to: string) {
        await store.backup(to);
        const copy = new DatabaseSync(to);
        copy.exec(change);
        copy.close();
      },
    };
    const made = await makeBackup(home, careless, new Date(index));
    expect([made?.status, made?.folder]).toEqual([
      "unverified",
      expect.stringMatching(/-unverified$/),
    ]);
  }
  const listed = await listBackups(home);
  expect(listed.map(({ verifiedAt }) => verifiedAt)).toEqual([null, null]);
});

test("a damaged backup is not restored, and what is there is only ever moved aside", async () => {
  const home = makeHome();
  const { store, log, close } = await openStore(home);
  const { session } = await log.createSession({ owner });
  const folder = folderOf(await makeBackup(home, store, new Date(0)));
  const later = await log.createSession({ owner });
  await close();
  const restored = await restoreBackup(folder, home, { existing: "moved aside", now: new Date(5) });
  expect(restored).toMatchObject({ ok: true });
  const names = readdirSync(home).filter((name) => !name.startsWith("."));
  expect(names.filter((name) => name.includes(".search"))).toEqual([]);
  expect(names.toSorted()).toEqual(["backups", "holdfast.db", "replaced-1970-01-01T00-00-00-005Z"]);
  const { store: again, close: closeAgain } = await openStore(home);
  expect(await again.reads.session(owner, session)).not.toBeNull();
  expect(await again.reads.session(owner, later.session)).toBeNull();
  await closeAgain();
  const old = await openStore(join(home, "replaced-1970-01-01T00-00-00-005Z"));
  expect(await old.store.reads.session(owner, later.session)).not.toBeNull();

  const bytes = readFileSync(join(folder, "holdfast.db"));
  bytes[5_000] = (bytes[5_000] ?? 0) ^ 1;
  writeFileSync(join(folder, "holdfast.db"), bytes);
  const fresh = makeHome();
  expect(await restoreBackup(folder, fresh)).toMatchObject({
    ok: false,
    failure: {
      message: `${folder} is damaged: holdfast.db has changed since the backup was made. Use another backup.`,
    },
  });
  expect(readdirSync(fresh)).toEqual([]);
});

const main = fileURLToPath(
  new URL("../../../test/support/full-export/backup-main.ts", import.meta.url),
);

function runMain(...args: readonly string[]) {
  return spawnSync(process.execPath, [main, ...args], { stdio: ["ignore", "ignore", "inherit"] });
}

test("[P1] a restore that was killed is finished by the same command, and nothing works on half of it", async () => {
  const home = makeHome();
  const { store, log, close } = await openStore(home);
  const { session } = await log.createSession({ owner });
  mkdirSync(join(home, "memory"));
  writeFileSync(join(home, "memory", "MEMORY.md"), "then");
  const folder = folderOf(await makeBackup(home, store, new Date(0)));
  await log.createSession({ owner });
  await close();
  writeFileSync(join(home, "memory", "MEMORY.md"), "now");
  const refusals = [];
  // Before the copy, then with no store there, before the new one, without memory, and before the new one.
  for (const instant of [1, 4, 1, 2, 1]) {
    const { signal } = runMain("restore", home, folder, `${instant}`);
    expect([instant, signal]).toEqual([instant, "SIGKILL"]);
    refusals.push(prepareHome(home).ok ? "usable" : "refused");
  }
  expect(refusals).toEqual(["usable", ...Array.from({ length: 4 }, () => "refused")]);
  expect(runMain("restore", home, folder, "0").status).toBe(0);
  expect(prepareHome(home)).toMatchObject({ ok: true });
  expect(readFileSync(join(home, "memory", "MEMORY.md"), "utf8")).toBe("then");
  expect(readdirSync(home).filter((name) => name.startsWith("restor"))).toEqual([]);
  const { store: restored } = await openStore(home);
  const { sessions } = await restored.reads.sessions(owner, { limit: 5 });
  expect(sessions.map(({ id }) => id)).toEqual([session]);
});

test("[P1] a backup that was killed leaves nothing under a backup's name", async () => {
  const home = makeHome();
  const { log, close } = await openStore(home);
  await log.createSession({ owner });
  await close();
  for (const instant of [1, 3]) {
    expect(runMain("backup", home, "", `${instant}`).signal).toBe("SIGKILL");
    expect(await listBackups(home)).toEqual([]);
  }
  expect(runMain("backup", home, "", "0").status).toBe(0);
  const [backup] = await listBackups(home);
  expect([backup?.sessions, typeof backup?.verifiedAt]).toEqual([1, "number"]);
});

function folderOf(made: MadeBackup | undefined): string {
  if (made?.status !== "verified") throw new Error(JSON.stringify(made));
  return made.folder;
}
