import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import type { MemorySegment, MemoryHandle } from "@holdfast/engine";
import { anOwner, toSeq } from "@holdfast/testing/fixtures/factories";
import { assertPresent } from "@holdfast/testing/fixtures/open-session";
import { ids, type OwnerId } from "@holdfast/protocol";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { readConfig } from "../../ops/config/read-config.ts";
import { serveOpenViking } from "@holdfast/testing/host/providers/openviking-server";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { type FactStore, openFactStore } from "./fact-store.ts";
import { openConfiguredMemory, openMemoryProviders } from "./providers.ts";

let home: string;
let facts: FactStore;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "holdfast-provider-"));
  facts = openFactStore({ register: createReferenceStore().register, home });
});
afterEach(() => rmSync(home, { recursive: true }));

const examples = fileURLToPath(new URL("../../../../../examples", import.meta.url));
const example = join(examples, "write-a-memory-provider", "lines.ts");
const empty = { owner: anOwner(), session: ids.make("session"), key: "k", turns: [] };
const never = new AbortController().signal;

function writeModule(text: string): string {
  const file = join(home, "provider.mjs");
  writeFileSync(file, text);
  return file;
}

/** What every provider promises, whoever wrote it. Each `open` is like a restart. */
function memoryProviderCases(open: () => Promise<MemoryHandle>): void {
  test("recalls matching facts to their owner alone, after a restart too", async () => {
    const [owner, stranger] = [anOwner(), anOwner()];
    const first = await open();
    expect(await first.commit(aBatch(owner, "I like black coffee."), never)).toEqual({
      status: "committed",
    });
    await first.close();
    const again = await open();
    expect(again.owner).toEqual(first.owner);
    expect((await recalled(again, owner, "coffee")).join()).toContain("black coffee");
    expect(await recalled(again, stranger, "coffee")).toEqual([]);
    expect(await recalled(again, owner, "submarine")).toEqual([]);
  });

  test("[P10] counts a key once, also when it comes again after a restart", async () => {
    const owner = anOwner();
    const batch = aBatch(owner, "I like black coffee.");
    for (let each = 0; each < 3; each += 1) {
      const handle = await open();
      expect(await handle.commit(batch, never)).toEqual({ status: "committed" });
    }
    expect(await recalled(await open(), owner, "coffee")).toHaveLength(1);
  });
}

function aBatch(owner: OwnerId, text: string): MemorySegment {
  const messages = [{ role: "user" as const, text }];
  const turn = { generation: toSeq(3), runId: ids.make("run"), at: 1, messages };
  return { owner, session: ids.make("session"), key: "one", turns: [turn] };
}

async function recalled(handle: MemoryHandle, owner: OwnerId, text: string): Promise<string[]> {
  const found = await handle.recall({ owner, session: ids.make("session"), text }, never);
  return found.map((each) => each.text);
}

describe("the example provider", () => {
  memoryProviderCases(async () =>
    assertPresent((await openMemoryProviders(home, { choice: example, facts })).handle),
  );

  test("reports a failed write", async () => {
    const handle = assertPresent(
      (await openMemoryProviders(home, { choice: example, facts })).handle,
    );
    writeFileSync(join(home, "memory", "lines"), "in the way");
    const answer = await handle.commit(empty, never);
    expect(answer).toMatchObject({ status: "failed", code: "lines_not_written" });
  });
});

describe("the facts provider", () => {
  memoryProviderCases(async () =>
    assertPresent((await openMemoryProviders(home, { choice: "facts", facts })).handle),
  );
});

describe("the openviking provider", () => {
  let server: Awaited<ReturnType<typeof serveOpenViking>>;
  beforeEach(async () => void (server = await serveOpenViking("key")));
  afterEach(() => server.close());
  memoryProviderCases(async () => {
    const openviking = { url: server.url, key: "key" };
    return assertPresent(
      (await openMemoryProviders(home, { choice: "openviking", openviking, facts })).handle,
    );
  });
});

describe("a module that violates the port", () => {
  test("and returns nothing from a commit has not committed", async () => {
    const choice = writeModule(
      `export const name = "quiet"; export const configuration = "one";
       export const open = () => ({ commit: async () => undefined, recall: async () => [] });`,
    );
    const handle = assertPresent((await openMemoryProviders(home, { choice, facts })).handle);
    const answer = await handle.commit(empty, never);
    expect(answer).toMatchObject({ status: "failed", code: "provider_said_nothing" });
  });

  test.each([
    ["has the name of another", `export const name = "facts"; export const configuration = "x";`],
    ["opens nothing", `export const name = "mine"; export const configuration = "x";`],
  ])("and %s prevents the host from starting, with a message", async (_, text) => {
    const opened = await openConfiguredMemory(settled({ memory: writeModule(text) }), facts);
    expect(opened).toMatchObject({ ok: false, failure: { code: "config.invalid" } });
  });
});

test("a chosen server without an address prevents the host from starting", async () => {
  const opened = await openConfiguredMemory(settled({ memory: "openviking" }), facts);
  expect(opened).toMatchObject({ ok: false, failure: { code: "config.invalid" } });
  const flags = { memory: "openviking", "openviking-url": "http://127.0.0.1:1933" };
  const named = await openConfiguredMemory(settled(flags), facts);
  expect(named).toMatchObject({
    ok: true,
    value: { handle: { owner: { provider: "openviking" } } },
  });
});

function settled(flags: Readonly<Record<string, string>>) {
  const read = readConfig({ flags: { home, ...flags }, environment: {}, personFolder: home });
  if (!read.ok) throw new Error(read.failure.message);
  return read.value;
}
