import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ownerId } from "@holdfast/protocol";
import { openSqliteStore } from "@holdfast/store/sqlite";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { expect, onTestFinished, test } from "vitest";
import { keySettings } from "../../../test/support/providers/models.ts";
import { createPasswords } from "../../server/auth/password.ts";
import { SecretsLocked } from "./encrypted-rows.ts";
import { openSecrets } from "./secrets.ts";

function makeHome(): string {
  const home = mkdtempSync(join(tmpdir(), "holdfast-secrets-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  return home;
}

type SomeStore = Pick<ReturnType<typeof createReferenceStore>, "register">;

const owner = ownerId.parse("owner");
const stored = (key: string) => ({ key, baseUrl: "https://models.example/v1" });
const silent = (error: Error): never => {
  throw error;
};
const open = (home: string, store: SomeStore, key?: string) =>
  openSecrets(keySettings(home, key), store, silent);

test("[safety] a key is encrypted in the store, and another host with the key reads it", async () => {
  const [home, store] = [makeHome(), createReferenceStore()];
  const { secrets: here } = await open(home, store);
  expect([here.read("anthropic"), readdirSync(home)]).toEqual([null, []]);
  await here.put("anthropic", stored("one-secret-key"));
  await here.put("openai", stored("two-secret-key"));
  expect(statSync(join(home, "secrets.key")).mode & 0o777).toBe(0o600);
  const rows = await store.register.list(owner, "", 100);
  expect(rows.map(({ key }) => key)).toEqual(["secret/key/anthropic", "secret/key/openai"]);
  expect(JSON.stringify(rows)).not.toMatch(/secret-key|models\.example/);
  const text = readFileSync(join(home, "secrets.key"), "utf8").trim();
  const { secrets: there } = await open(makeHome(), store, text);
  expect(there.read("anthropic")).toEqual(stored("one-secret-key"));
  expect(await there.remove("anthropic")).toBe(true);
  expect(await there.remove("anthropic")).toBe(false);
  expect(there.names("")).toEqual(["openai"]);
  expect(there.keys()).toEqual(["two-secret-key"]);
});

test("concurrent writes lose no key", async () => {
  const { secrets } = await open(makeHome(), createReferenceStore());
  const names = Array.from({ length: 20 }, (_, index) => `provider-${index}`);
  await Promise.all(names.map((name) => secrets.put(name, stored(name))));
  expect(secrets.keys().toSorted()).toEqual(names.toSorted());
});

test("[safety] a row that was moved to another name or changed does not open", async () => {
  const [home, store] = [makeHome(), createReferenceStore()];
  const { secrets, rows } = await open(home, store);
  await secrets.put("openai", stored("two"));
  const { value = "" } = (await store.register.read(owner, "secret/key/openai")) ?? {};
  await store.register.put({ owner, key: "secret/key/other", value, expect: 0 });
  const changed = value.replace(
    /"sealed":"(.)/,
    (_, first) => `"sealed":"${first === "A" ? "B" : "A"}`,
  );
  await store.register.put({ owner, key: "secret/key/changed", value: changed, expect: 0 });
  await rows.reload();
  expect([secrets.read("openai"), secrets.read("other"), secrets.read("changed")]).toEqual([
    stored("two"),
    null,
    null,
  ]);
  expect(rows.unreadable().toSorted()).toEqual(["key/changed", "key/other"]);
});

test.each([
  ["no key", undefined, "key_missing"],
  ["another key", "another-key-".repeat(4), "key_wrong"],
])(
  "with %s nothing is read or overwritten, and the error says what to do",
  async (_, key, code) => {
    const store = createReferenceStore();
    const { secrets: first } = await open(makeHome(), store);
    await first.put("openai", stored("two"));
    const reports: Error[] = [];
    const home = makeHome();
    const { secrets, rows } = await openSecrets(keySettings(home, key), store, (error) =>
      reports.push(error),
    );
    expect(reports).toEqual([expect.objectContaining({ name: "SecretsLocked", code })]);
    expect(reports[0]?.message).toContain("HOLDFAST_SECRETS_KEY");
    expect(secrets.read("openai")).toBeNull();
    await expect(secrets.put("openai", stored("three"))).rejects.toThrow(SecretsLocked);
    await expect(rows.rotate()).rejects.toThrow(SecretsLocked);
    expect(readdirSync(home)).toEqual([]);
    expect(first.read("openai")).toEqual(stored("two"));
  },
);

test("a key file readable by others gets its permissions fixed", async () => {
  const [home, store] = [makeHome(), createReferenceStore()];
  await (await open(home, store)).secrets.put("openai", stored("two"));
  chmodSync(join(home, "secrets.key"), 0o644);
  expect((await open(home, store)).secrets.read("openai")).toEqual(stored("two"));
  expect(statSync(join(home, "secrets.key")).mode & 0o777).toBe(0o600);
});

test("[safety] a password that was changed on one host is the only valid one on another, at once", async () => {
  const store = createReferenceStore();
  const key = "a-key-of-both-hosts-".repeat(2);
  const one = createPasswords((await open(makeHome(), store, key)).rows);
  await one.set("correct horse");
  // It has just read the store, so what it has in memory counts as fresh.
  const other = createPasswords((await open(makeHome(), store, key)).rows);
  await one.set("battery staple");
  expect(await other.matches("battery staple")).toBe("yes");
  await one.set("a third password");
  expect(await other.matches("battery staple")).toBe("no");
});

test("rotating encrypts everything with a new key, which a running host picks up", async () => {
  const [home, store] = [makeHome(), createReferenceStore()];
  const running = await open(home, store);
  for (const name of ["a", "b"]) await running.secrets.put(name, stored(name));
  const before = readFileSync(join(home, "secrets.key"), "utf8");
  expect(await (await open(home, store)).rows.rotate()).toBe(2);
  const after = readFileSync(join(home, "secrets.key"), "utf8");
  expect([after === before, after.trim().split("\n").length]).toEqual([false, 1]);
  await running.rows.reload();
  expect(running.secrets.keys().toSorted()).toEqual(["a", "b"]);
  await running.secrets.put("c", stored("c"));
  expect((await open(makeHome(), store, after.trim())).rows.unreadable()).toEqual([]);
  expect((await open(makeHome(), store, after.trim())).secrets.keys()).toHaveLength(3);
});

test("a rotation that fails on the way leaves everything readable, and the next one finishes it", async () => {
  const [home, store] = [makeHome(), createReferenceStore()];
  const { secrets } = await open(home, store);
  for (const name of ["a", "b", "c"]) await secrets.put(name, stored(name));
  let writes = 0;
  const register: SomeStore["register"] = {
    ...store.register,
    async put(change) {
      writes += 1;
      return writes > 1
        ? { status: "failed", code: "store_full", message: "full" }
        : store.register.put(change);
    },
  };
  await expect((await open(home, { register })).rows.rotate()).rejects.toThrow("full");
  expect((await open(home, store)).secrets.keys().toSorted()).toEqual(["a", "b", "c"]);
  expect(await (await open(home, store)).rows.rotate()).toBe(3);
  expect((await open(home, store)).secrets.keys().toSorted()).toEqual(["a", "b", "c"]);
});

const hash = "$argon2id$c2FsdHNhbHQ$aGFzaA";

function writeOldFiles(home: string): void {
  const keys = { anthropic: stored("one-secret-key"), openai: stored("two-secret-key") };
  writeFileSync(join(home, "secrets.json"), JSON.stringify({ version: 1, keys }), { mode: 0o600 });
  writeFileSync(join(home, "password"), `${hash}\n`, { mode: 0o600 });
}

const main = fileURLToPath(
  new URL("../../../test/support/kill-while-moving-main.ts", import.meta.url),
);

test.each([
  ["before", 0],
  ["after", 0],
  ["before", 1],
  ["after", 1],
  ["before", 2],
  ["after", 2],
])("files of an earlier version are moved, also after kill -9 %s write %i", async (when, step) => {
  const home = makeHome();
  writeOldFiles(home);
  const killed = spawnSync(process.execPath, [main, "secrets", home, when, String(step)], {
    encoding: "utf8",
  });
  expect([killed.signal, killed.stderr]).toEqual(["SIGKILL", ""]);
  const store = await openSqliteStore({ file: join(home, "holdfast.db") });
  onTestFinished(() => store.close());
  const { secrets, rows } = await open(home, store);
  expect(secrets.keys().toSorted()).toEqual(["one-secret-key", "two-secret-key"]);
  expect(rows.read("password")).toBe(hash);
  for (const name of ["secrets.json", "password"]) expect(existsSync(join(home, name))).toBe(false);
});

test("values that differ from the store's are set aside, neither lost nor used", async () => {
  const store = createReferenceStore();
  const [first, second] = [makeHome(), makeHome()];
  const { secrets } = await open(first, store);
  await secrets.put("openai", stored("the store's"));
  const key = readFileSync(join(first, "secrets.key"), "utf8").trim();
  writeOldFiles(second);
  const reports: string[] = [];
  const opened = await openSecrets(keySettings(second, key), store, ({ message }) =>
    reports.push(message),
  );
  expect(opened.secrets.read("openai")).toEqual(stored("the store's"));
  expect(opened.secrets.read("anthropic")).toEqual(stored("one-secret-key"));
  expect(reports.join()).toContain("key/openai");
  expect(reports.join()).not.toContain("two-secret-key");
  expect(readFileSync(join(second, "secrets.json.not-moved"), "utf8")).toContain("two-secret-key");
});

test("a host without the store's key keeps using its own files, and leaves them in place", async () => {
  const store = createReferenceStore();
  await (await open(makeHome(), store)).secrets.put("other", stored("the store's"));
  const home = makeHome();
  writeOldFiles(home);
  const { secrets, rows } = await openSecrets(keySettings(home), store, () => undefined);
  expect(secrets.read("openai")).toEqual(stored("two-secret-key"));
  expect(rows.read("password")).toBe(hash);
  expect(readdirSync(home).toSorted()).toEqual(["password", "secrets.json"]);
});

test("a damaged file is reported without its content, and stays", async () => {
  const home = makeHome();
  writeFileSync(
    join(home, "secrets.json"),
    '{"version": 1, "keys": {"openai": {"key": "half-a-sec',
  );
  const reports: string[] = [];
  const { secrets } = await openSecrets(keySettings(home), createReferenceStore(), ({ message }) =>
    reports.push(message),
  );
  expect(secrets.read("openai")).toBeNull();
  expect(reports.join()).toContain("damaged");
  expect(reports.join()).not.toContain("half-a-sec");
  expect(existsSync(join(home, "secrets.json"))).toBe(true);
});
