import { appendFileSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Store } from "@holdfast/engine";
import { fsckFindings, type StoreHarness } from "@holdfast/testing/conformance/harness";
import { searchCases, storeCases } from "@holdfast/testing/conformance/store/store-cases";
import { aUserMessage } from "@holdfast/testing/fixtures/factories";
import { openTestSession } from "@holdfast/testing/fixtures/open-session";
import { checkStorePrograms } from "@holdfast/testing/model-check/check-programs";
import { createFolder } from "@holdfast/testing/process/folder";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { openFileStore } from "../../examples/write-a-store/file-store.ts";
import { readConversation, startExample } from "./example.ts";

/** Every row of the store. */
async function dump({ audit }: Store) {
  const sessions = await Array.fromAsync(audit.sessions());
  return {
    leases: await Array.fromAsync(audit.leases()),
    blobs: await Array.fromAsync(audit.blobs()),
    purges: await Array.fromAsync(audit.purges()),
    sessions: await Promise.all(
      sessions.map(async ({ id }) => ({
        derived: await audit.derived(id),
        events: await Array.fromAsync(audit.events(id)),
      })),
    ),
  };
}

async function openUntilTestEnds(file: string): Promise<Store> {
  const store = await openFileStore({ file });
  onTestFinished(() => store.close());
  return store;
}

describe("the file store", () => {
  let folder: string;
  let harness: StoreHarness;
  const handles: Store[] = [];
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "holdfast-file-store-"));
    let offset = 0;
    const store = await openFileStore({
      file: join(folder, "store.log"),
      clock: () => Date.now() + offset,
    });
    harness = {
      store,
      open: async () => {
        const handle = store.open();
        handles.push(handle);
        return handle;
      },
      advanceClock: async (ms) => void (offset += ms),
      fsck: () => fsckFindings(store),
      close: () => store.close(),
    };
  });
  afterAll(async () => {
    for (const handle of handles) await handle.close();
    await harness.close();
    rmSync(folder, { recursive: true });
  });

  test.each(storeCases)("obeys the port's rule: $title", async ({ run }) => {
    await expect(run(harness)).resolves.toBeUndefined();
  });
  test.each(searchCases)("finds what was written: $title", async ({ run }) => {
    await expect(run(harness)).resolves.toBeUndefined();
  });
  test("behaves like the model in random programs", async () => {
    const checked = checkStorePrograms(harness, { runs: 10, steps: 50 });
    await expect(checked).resolves.toBeUndefined();
  });

  test("is sound after these tests, and the same when it is reopened", async () => {
    expect(await harness.fsck?.()).toEqual([]);
    const again = await openFileStore({ file: join(folder, "store.log") });
    expect(await dump(again)).toEqual(await dump(harness.store));
    await again.close();
  });
});

describe("a file left by a crash", () => {
  async function writeMessages(file: string): Promise<void> {
    const store = await openFileStore({ file });
    const chat = await openTestSession(store);
    for (const text of ["one", "two"]) await chat.commit([aUserMessage(text)]);
    await store.close();
  }

  async function headIn(file: string): Promise<number | undefined> {
    const [session] = await Array.fromAsync((await openUntilTestEnds(file)).audit.sessions());
    return session?.head;
  }

  test.each([
    ["half a line", '0123abcd {"at":1'],
    ["a line with a wrong checksum", "00000000 {}\n"],
  ])("loses no confirmed write when it ends with %s", async (_, torn) => {
    const file = join(createFolder(), "store.log");
    await writeMessages(file);
    const whole = readFileSync(file);
    appendFileSync(file, torn);
    expect(await headIn(file)).toBe(3);
    expect(readFileSync(file)).toEqual(whole);
  });

  test("loses a last write that was cut short, and accepts new ones after it", async () => {
    const file = join(createFolder(), "store.log");
    await writeMessages(file);
    truncateSync(file, statSync(file).size - 1);
    expect(await headIn(file)).toBe(2);
    await writeMessages(file);
    expect(await fsckFindings(await openUntilTestEnds(file))).toEqual([]);
  });

  test("is refused if it is damaged elsewhere", async () => {
    const file = join(createFolder(), "store.log");
    await writeMessages(file);
    const text = readFileSync(file, "utf8");
    writeFileSync(file, text.replace("one", "One"));
    await expect(openFileStore({ file })).rejects.toThrow("is damaged at byte");
  });
});

test("[P1] answers given before kill -9 are still there after it, and the rest follow", async () => {
  const folder = createFolder();
  const first = startExample("write-a-store/main.ts", [], { cwd: folder });
  await first.line((line) => line.startsWith("20 squared"));
  await first.kill();
  const seen = first.lines;
  expect(seen.length).toBeLessThan(100);

  const second = startExample("write-a-store/main.ts", [], { cwd: folder });
  expect(await second.exited).toEqual({ code: 0, signal: null });
  const known = second.lines.filter((line) => line.endsWith(" (known)"));
  expect(known.slice(0, seen.length)).toEqual(seen.map((line) => `${line} (known)`));
  expect(second.lines).toHaveLength(100);

  const store = await openUntilTestEnds(join(folder, "conversation.log"));
  const turns = await readConversation(store);
  const numbers = Array.from({ length: 100 }, (_, index) => index + 1);
  expect(turns.map(({ user }) => user)).toEqual(numbers.map(String));
  const sentences = numbers.map((number) => `${number} squared is ${number * number}.`);
  const repeated = turns.filter(({ assistant }, index) => assistant !== sentences[index]);
  // The answer that was interrupted keeps what had been said of it, and its model starts again.
  for (const { user, assistant } of repeated) {
    const sentence = sentences[Number(user) - 1] ?? "";
    expect(assistant.endsWith(sentence)).toBe(true);
    expect(sentence.startsWith(assistant.slice(0, -sentence.length))).toBe(true);
  }
  expect(repeated.length).toBeLessThanOrEqual(1);
  expect(await fsckFindings(store)).toEqual([]);
});
