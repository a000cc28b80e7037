import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ownerId } from "@holdfast/protocol";
import { openSqliteStore } from "@holdfast/store/sqlite";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { expect, onTestFinished, test } from "vitest";
import { moveTrustFile, openWorkspaceTrust } from "./workspace-trust.ts";

const owner = ownerId.parse("owner");
const hash = "a".repeat(64);

/** A home of an earlier version, in which two folders were decided about. */
function makeHome(text?: string) {
  const home = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-trust-")));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const [garden, harbour] = [join(home, "garden"), join(home, "harbour")];
  const decisions = [
    { owner, folder: garden, hash, decision: "trusted", at: 1 },
    { owner, folder: harbour, hash, decision: "refused", at: 2 },
  ];
  const file = join(home, "trust.json");
  writeFileSync(file, text ?? JSON.stringify(decisions));
  return { home, file, garden, harbour };
}

const main = fileURLToPath(
  new URL("../../test/support/kill-while-moving-main.ts", import.meta.url),
);

test.each([
  ["before", 0],
  ["after", 0],
  ["before", 1],
  ["after", 1],
])(
  "decisions of an earlier version are moved, also after kill -9 %s write %i",
  async (when, step) => {
    const { home, file, garden, harbour } = makeHome();
    const argv = [main, "trust", home, when, String(step)];
    const killed = spawnSync(process.execPath, argv, { encoding: "utf8" });
    expect([killed.signal, killed.stderr]).toEqual(["SIGKILL", ""]);
    const store = await openSqliteStore({ file: join(home, "holdfast.db") });
    onTestFinished(() => store.close());
    await moveTrustFile(home, store.register, () => undefined);
    const trust = openWorkspaceTrust(store.register);
    expect(await trust.of(owner, garden)).toMatchObject({ hash, decision: "trusted" });
    expect(await trust.of(owner, harbour)).toMatchObject({ hash, decision: "refused" });
    expect(await trust.of(ownerId.parse("other"), garden)).toBeNull();
    expect(existsSync(file)).toBe(false);
  },
);

test("[safety] a decision in the store is newer than one in a file", async () => {
  const { register } = createReferenceStore();
  const { home, garden } = makeHome();
  const trust = openWorkspaceTrust(register);
  await trust.decide(owner, garden, { hash, decision: "refused" });
  await moveTrustFile(home, register, () => undefined);
  expect(await trust.of(owner, garden)).toMatchObject({ decision: "refused" });
});

test("[safety] a damaged file is set aside and reported, and nothing is trusted", async () => {
  const { register } = createReferenceStore();
  const { home, file, garden } = makeHome("[{]");
  const reports: string[] = [];
  await moveTrustFile(home, register, ({ message }) => reports.push(message));
  expect(reports.join()).toContain("trust.json.not-moved");
  expect([existsSync(file), existsSync(`${file}.not-moved`)]).toEqual([false, true]);
  expect(await openWorkspaceTrust(register).of(owner, garden)).toBeNull();
});
