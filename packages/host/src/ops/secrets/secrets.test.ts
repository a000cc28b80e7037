import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

import { openSecrets } from "./secrets.ts";

function makeHome(): string {
  const home = mkdtempSync(join(tmpdir(), "holdfast-secrets-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  return home;
}

const stored = (key: string) => ({ key, baseUrl: "https://models.example/v1" });
const silent = (error: Error): never => {
  throw error;
};

test("a key is stored in a file readable by its owner only, and another process sees it at once", async () => {
  const home = makeHome();
  const [here, there] = [openSecrets(home, silent), openSecrets(home, silent)];
  expect(there.read("anthropic")).toBeNull();
  await here.put("anthropic", stored("one"));
  await here.put("openai", stored("two"));
  expect(there.read("anthropic")).toEqual(stored("one"));
  expect(await there.remove("anthropic")).toBe(true);
  expect(here.read("anthropic")).toBeNull();
  expect(here.keys()).toEqual(["two"]);
  expect(await here.remove("anthropic")).toBe(false);
  expect(readdirSync(home)).toEqual(["secrets.json"]);
  expect(statSync(join(home, "secrets.json")).mode & 0o777).toBe(0o600);
});

test("concurrent writes lose no key", async () => {
  const secrets = openSecrets(makeHome(), silent);
  const names = Array.from({ length: 20 }, (_, index) => `provider-${index}`);
  await Promise.all(names.map((name) => secrets.put(name, stored(name))));
  expect(secrets.keys().toSorted()).toEqual(names.toSorted());
});

test("a file readable by others gets its permissions fixed", async () => {
  const home = makeHome();
  const path = join(home, "secrets.json");
  await openSecrets(home, silent).put("openai", stored("two"));
  chmodSync(path, 0o644);
  expect(openSecrets(home, silent).read("openai")).toEqual(stored("two"));
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test("a damaged file yields no key, and is reported without its content", async () => {
  const home = makeHome();
  const path = join(home, "secrets.json");
  writeFileSync(path, '{"version": 1, "keys": {"openai": {"key": "half-a-sec');
  const reports: string[] = [];
  const secrets = openSecrets(home, ({ message }) => void reports.push(message));
  expect(secrets.read("openai")).toBeNull();
  expect(reports.join()).toContain("damaged");
  expect(reports.join()).not.toContain("half-a-sec");
  await secrets.put("openai", stored("whole"));
  expect(secrets.read("openai")).toEqual(stored("whole"));
  expect(readFileSync(path, "utf8")).toContain("whole");
});

test("[safety] temporarily unreadable keys are neither overwritten nor taken for removed", async () => {
  const home = makeHome();
  const path = join(home, "secrets.json");
  await openSecrets(home, silent).put("openai", stored("two"));
  renameSync(path, `${path}.aside`);
  symlinkSync("secrets.json", path);
  const secrets = openSecrets(home, () => undefined);
  await expect(secrets.put("anthropic", stored("one"))).rejects.toThrow("ELOOP");
  await expect(secrets.remove("openai")).rejects.toThrow("ELOOP");
  renameSync(`${path}.aside`, path);
  await secrets.put("anthropic", stored("one"));
  expect(secrets.keys().toSorted()).toEqual(["one", "two"]);
});
