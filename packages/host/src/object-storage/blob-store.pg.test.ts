import { readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { runFsck, type Store } from "@holdfast/engine";
import type { BlobId, OwnerId } from "@holdfast/protocol";
import { blobCases } from "@holdfast/testing/conformance/store/blobs";
import { databases } from "@holdfast/testing/databases/databases";
import { aFile, anEvent, anInput, anOwner } from "@holdfast/testing/fixtures/factories";
import { openTestSession } from "@holdfast/testing/fixtures/open-session";
import {
  type ObjectServer,
  startObjectServer,
} from "@holdfast/testing/object-server/start-object-server";
import { startProcess } from "@holdfast/testing/process/start-process";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import type { BlobWork } from "../../test/support/objects/blob-work-main.ts";
import { withBlobObjects } from "./blob-store.ts";
import { newObjectKey } from "./object-keys.ts";
import { deleteUnrecorded } from "./delete-garbage.ts";
import { moveBlobs } from "./move-blobs.ts";
import { openS3Storage } from "./s3-storage.ts";

const hourMs = 3_600_000;
const long = (text: string): Uint8Array => Buffer.from(text.repeat(100_000));

describe.each(databases)("blobs in object storage, with rows on $name", (factory) => {
  let served: ObjectServer;
  const cleanups: (() => void | Promise<void>)[] = [];
  afterAll(async () => {
    for (const end of cleanups.toReversed()) await end();
  });
  beforeAll(async () => {
    served = await startObjectServer((end) => void cleanups.push(end));
  });
  let rigs = 0;

  /** Hosts on one database and one prefix, with one clock that can be moved. */
  async function rig() {
    rigs += 1;
    const prefix = `rig${rigs}`;
    const server = {
      ...served,
      settings: { ...served.settings, prefix },
      keys: () => served.keys(`${prefix}/`),
    };
    onTestFinished(async () => void (await server.setFaults([])));
    const storage = openS3Storage(server.settings, { firstPauseMs: 1, idleMs: 60_000 });
    const database = await factory.create();
    onTestFinished(() => database.drop());
    let offsetMs = 0;
    const problems: string[] = [];
    async function openInner(): Promise<Store> {
      const store = await database.open({ clockOffset: () => offsetMs });
      onTestFinished(() => store.close());
      return store;
    }
    const wrap = (store: Store, minBytes = 64 * 1024): Store =>
      withBlobObjects(store, {
        storage,
        place: "objects",
        minBytes,
        report: ({ message }) => void problems.push(message),
      });
    const inner = await openInner();
    const objects = inner.blobObjects!;
    const owner = anOwner();
    const work = (what: Pick<BlobWork, "work" | "text">) => {
      const { address } = database;
      const asked: BlobWork = { address, settings: server.settings, owner, ...what };
      return startProcess([
        "packages/host/test/support/objects/blob-work-main.ts",
        JSON.stringify(asked),
      ]);
    };
    return {
      server,
      storage,
      database,
      problems,
      openInner,
      openHost: async () => wrap(await openInner()),
      wrap,
      inner,
      objects,
      host: wrap(inner),
      owner,
      work,
      advance: (ms: number) => void (offsetMs += ms),
      untilHeld: (count = 1) =>
        vi.waitFor(async () => expect(await server.held()).toBe(count), { timeout: 60_000 }),
    };
  }

  async function put(store: Store, owner: OwnerId, bytes: Uint8Array): Promise<BlobId> {
    const result = await store.putBlob(owner, bytes, "text/plain");
    if (result.status !== "stored") throw new Error(result.message);
    return result.id;
  }

  async function bytesOf(store: Store, owner: OwnerId, id: BlobId): Promise<string | undefined> {
    const blob = await store.reads.blob(owner, id);
    return blob === null ? undefined : Buffer.from(blob.bytes).toString();
  }

  async function findings(store: Store): Promise<readonly string[]> {
    const { found, failure, unproven } = await runFsck(store.audit, { now: await store.now() });
    return [...found.map(({ code }) => code), ...unproven, ...(failure ? [failure] : [])];
  }

  test("the rules for blobs hold, and when none is left, neither is an object", async () => {
    const { server, wrap, inner, openInner, advance } = await rig();
    const store = wrap(inner, 0);
    for (const { run, title } of blobCases) {
      const harness = {
        store,
        open: async () => wrap(await openInner(), 0),
        advanceClock: async (ms: number) => advance(ms),
        close: async () => undefined,
      };
      const broken = await run(harness).catch((error: unknown) => error);
      expect({ title, broken }).toEqual({ title, broken: undefined });
    }
    expect(await findings(store)).toEqual([]);
    advance(25 * hourMs);
    await store.prune(100_000);
    const { rows, objects, pending } = await inner.blobObjects!.totals();
    expect([rows.count, pending]).toEqual([0, 0]);
    expect(objects.count).toBeGreaterThan(0);
    expect(server.keys()).toHaveLength(objects.count);
  });

  test("small blobs stay in rows; a large one is one object, however often it is put", async () => {
    const { server, host, owner, objects } = await rig();
    await put(host, owner, Buffer.from("small"));
    const id = await put(host, owner, long("a"));
    await put(host, owner, long("a"));
    const other = await put(host, anOwner(), long("a"));
    expect(other).toBe(id);
    expect(await objects.totals()).toEqual({
      rows: { count: 1, bytes: 5 },
      objects: { count: 2, bytes: 200_000 },
      pending: 0,
    });
    const { prefix } = server.settings;
    const puts = (await server.requests()).filter(
      ({ method, key }) => method === "PUT" && key.startsWith(`${prefix}/`),
    );
    // Each owner's object is deleted with that owner's blob.
    expect(puts).toHaveLength(2);
    expect(await bytesOf(host, owner, id)).toBe("a".repeat(100_000));
  });

  test("two hosts that put the same bytes at once leave one object", async () => {
    const { server, host, openHost, owner, untilHeld, objects } = await rig();
    const other = await openHost();
    await server.setFaults([{ kind: "hold-after", method: "PUT", times: 2 }]);
    const both = [put(host, owner, long("a")), put(other, owner, long("a"))];
    await untilHeld(2);
    await server.setFaults([]);
    const [id] = await Promise.all(both);
    expect(server.keys()).toHaveLength(2);
    await host.prune(100);
    expect(server.keys()).toHaveLength(1);
    expect((await objects.totals()).pending).toBe(0);
    expect(await bytesOf(other, owner, id!)).toBe("a".repeat(100_000));
  });

  test("bytes that are put again while their old object is being deleted are not lost", async () => {
    const { server, host, openHost, owner, advance, untilHeld } = await rig();
    const chat = await openTestSession(host, {}, owner);
    await put(host, owner, long("a"));
    advance(25 * hourMs);
    const collector = await openHost();
    await server.setFaults([{ kind: "hold-before", method: "DELETE" }]);
    const collected = collector.prune(100);
    await untilHeld();
    const id = await put(host, owner, long("a"));
    await chat.commit([anInput({ attachments: [aFile(id)] })]);
    await server.setFaults([]);
    await collected;
    expect(server.keys()).toHaveLength(1);
    expect(await bytesOf(host, owner, id)).toBe("a".repeat(100_000));
    expect(await findings(host)).toEqual([]);
  });

  test("a writer that took so long that its object was given up puts it again", async () => {
    const { server, host, openHost, owner, advance, untilHeld, objects } = await rig();
    await server.setFaults([{ kind: "hold-before", method: "PUT" }]);
    const slow = put(host, owner, long("a"));
    await untilHeld();
    advance(61 * 60_000);
    await (await openHost()).prune(100);
    expect((await objects.totals()).pending).toBe(0);
    await server.setFaults([]);
    const id = await slow;
    expect(await bytesOf(host, owner, id)).toBe("a".repeat(100_000));
    expect(server.keys()).toHaveLength(1);
  });

  test("[P13] a purged session's objects are gone a day later, but not what a branch shows", async () => {
    const { server, host, owner, advance } = await rig();
    const chat = await openTestSession(host, {}, owner);
    const id = await put(host, owner, long("a"));
    await chat.commit([anInput({ attachments: [aFile(id)] })]);
    await chat.commit([anEvent("session.trashed", {})]);
    expect(await host.purge(owner, chat.session)).toMatchObject({ status: "purged" });
    advance(24 * hourMs + 60_000);
    await host.prune(100);
    expect(server.keys()).toEqual([]);
    expect(await host.reads.blob(owner, id)).toBeNull();
  });

  test("a lost or damaged object is reported by read and fsck, and by nothing else", async () => {
    const { server, host, inner, owner, problems } = await rig();
    const chat = await openTestSession(host, {}, owner);
    const [gone, damaged, whole] = [
      await put(host, owner, long("a")),
      await put(host, owner, long("b")),
      await put(host, owner, long("c")),
    ];
    await chat.commit([anInput({ attachments: [aFile(gone), aFile(damaged), aFile(whole)] })]);
    const keyOf = (id: BlobId): string => server.keys().find((key) => key.includes(id.slice(5)))!;
    const removed = readFileSync(server.fileOf(keyOf(gone)));
    const removedKey = keyOf(gone);
    rmSync(server.fileOf(removedKey));
    writeFileSync(server.fileOf(keyOf(damaged)), long("x"));
    await expect(host.reads.blob(owner, gone)).rejects.toMatchObject({ code: "blob_unreadable" });
    await expect(host.reads.blob(owner, gone)).rejects.toMatchObject({ code: "blob_unreadable" });
    await expect(host.reads.blob(owner, damaged)).rejects.toMatchObject({
      code: "blob_unreadable",
    });
    expect(problems).toHaveLength(2);
    expect(await bytesOf(host, owner, whole)).toHaveLength(100_000);
    expect((await chat.through(host).events()).length).toBeGreaterThan(0);
    expect((await findings(host)).toSorted()).toEqual(["object_damaged", "object_missing"]);

    // Putting it back is all that a repair needs.
    writeFileSync(server.fileOf(removedKey), removed);
    expect(await bytesOf(host, owner, gone)).toBe("a".repeat(100_000));

    // Without object storage nothing is called lost, and reading says what is missing.
    await expect(inner.reads.blob(owner, whole)).rejects.toMatchObject({
      code: "blob_unreadable",
      message: expect.stringContaining("objectStorageUrl") as string,
    });
    expect(await findings(inner)).toEqual([
      "blobs in object storage (no object storage is configured)",
    ]);
    await server.setFaults([{ kind: "cut", times: 1000 }]);
    await expect(host.reads.blob(owner, whole)).rejects.toMatchObject({
      code: "store_unavailable",
    });
    expect(await host.putBlob(owner, long("d"), "text/plain")).toMatchObject({
      status: "failed",
      message: expect.stringContaining("object_storage_unreachable") as string,
    });
    expect(await host.prune(100)).toMatchObject({ status: "pruned" });
    expect(await findings(host)).toMatchObject([expect.stringContaining("unreachable")]);
  });

  test("blobs move out of the rows and back, unchanged", async () => {
    const { server, host, inner, storage, owner, objects } = await rig();
    const texts = ["a", "b", "c"];
    const blobs = await Promise.all(texts.map((text) => put(inner, owner, long(text))));
    const small = await put(inner, owner, Buffer.from("small"));
    expect(server.keys()).toEqual([]);
    const moved = await moveBlobs(objects, storage, { to: "objects" });
    expect(moved).toEqual({ blobs: 3, bytes: 300_000, unreadable: [] });
    expect(await moveBlobs(objects, storage, { to: "objects" })).toMatchObject({ blobs: 0 });
    expect(server.keys()).toHaveLength(3);
    for (const [at, id] of blobs.entries())
      expect(await bytesOf(host, owner, id)).toBe(texts[at]?.repeat(100_000));
    expect(await findings(host)).toEqual([]);

    rmSync(server.fileOf(server.keys()[0] ?? ""));
    const back = await moveBlobs(objects, storage, { to: "rows" });
    expect(back).toMatchObject({
      blobs: 2,
      unreadable: [{ failure: { code: "object_missing" } }],
    });
    await host.prune(100);
    expect(server.keys()).toEqual([]);
    const lost = back.unreadable[0]?.id;
    const whole = [...blobs.entries()].filter(([, id]) => id !== lost);
    expect(whole).toHaveLength(2);
    for (const [at, id] of whole)
      expect(await bytesOf(inner, owner, id)).toBe(texts[at]?.repeat(100_000));
    expect(await bytesOf(inner, owner, small)).toBe("small");
  });

  test("objects that no row records are deleted when asked, once they are a day old", async () => {
    const { server, host, storage, owner, objects } = await rig();
    await put(host, owner, long("a"));
    const [kept = ""] = server.keys();
    const [old, fresh] = ["0", "1"].map((digit) =>
      newObjectKey(`blob_${digit.repeat(64)}` as BlobId),
    );
    // Somebody else's, in a folder of the same name.
    const foreign = [`blobs/holiday.jpg`, `blobs/00/${"0".repeat(64)}`];
    for (const key of [old!, fresh!, ...foreign])
      await storage.put(key, {
        size: 0,
        sha256: emptyHash,
        open: () => new Uint8Array(),
      });
    const longAgo = new Date(Date.now() - 25 * hourMs);
    const inBucket = (key: string): string => `${server.settings.prefix}/${key}`;
    for (const key of [kept, ...[old!, ...foreign].map(inBucket)])
      utimesSync(server.fileOf(key), longAgo, longAgo);
    const result = await deleteUnrecorded(objects, storage, Date.now());
    expect(result).toEqual({ ok: true, value: { seen: 5, deleted: 1 } });
    expect(server.keys()).toEqual([kept, ...[fresh!, ...foreign].map(inBucket)].toSorted());
  });

  test("kill -9 between put and commit leaves garbage that is collected an hour later", async () => {
    const { server, host, owner, work, untilHeld, advance, objects } = await rig();
    await server.setFaults([{ kind: "hold-after", method: "PUT" }]);
    const writer = work({ work: "put", text: "a".repeat(100_000) });
    await untilHeld();
    await writer.kill();
    await server.setFaults([]);
    expect(server.keys()).toHaveLength(1);
    await host.prune(100);
    expect(server.keys()).toHaveLength(1);
    const id = await put(host, owner, long("a"));
    expect(server.keys()).toHaveLength(2);
    advance(61 * 60_000);
    await host.prune(100);
    expect(server.keys()).toHaveLength(1);
    expect(await objects.totals()).toMatchObject({ objects: { count: 1 }, pending: 0 });
    expect(await bytesOf(host, owner, id)).toBe("a".repeat(100_000));
  });

  test.each(["hold-before", "hold-after"] as const)(
    "kill -9 of a collection (%s the deletion) is followed by one that ends it",
    async (kind) => {
      const { server, host, inner, storage, owner, work, untilHeld, objects } = await rig();
      const ids = await Promise.all(["a", "b", "c"].map((text) => put(host, owner, long(text))));
      const kept = await put(host, owner, long("kept"));
      for (const id of ids) {
        const blob = await host.reads.blob(owner, id);
        await objects.takeBack(owner, id, blob!.bytes);
      }
      await server.setFaults([{ kind, method: "DELETE" }]);
      const collector = work({ work: "prune" });
      await untilHeld();
      await collector.kill();
      await server.setFaults([]);
      expect((await objects.totals()).pending).toBeGreaterThan(0);
      await host.prune(100);
      expect(server.keys()).toHaveLength(1);
      expect((await objects.totals()).pending).toBe(0);
      expect(await bytesOf(host, owner, kept)).toHaveLength(400_000);
      expect(await findings(host)).toEqual([]);
      expect(await moveBlobs(objects, storage, { to: "rows" })).toMatchObject({ blobs: 1 });
      expect(await bytesOf(inner, owner, kept)).toHaveLength(400_000);
    },
  );

  test("kill -9 of a move is followed by one that moves the rest", async () => {
    const { server, host, inner, owner, work, untilHeld, advance, objects } = await rig();
    const texts = Array.from("abcdefghij");
    const blobs: BlobId[] = [];
    for (const text of texts) blobs.push(await put(inner, owner, long(text)));
    for (const kind of ["hold-before", "hold-after"] as const) {
      // The first four are under way at once: they pass, and others are held.
      await server.setFaults([
        { kind, method: "PUT", key: blobs[4]!.slice(5), times: 1 },
        { kind, method: "PUT", key: blobs[8]!.slice(5), times: 1 },
      ]);
      const mover = work({ work: "move" });
      await untilHeld(2);
      await mover.kill();
      await server.setFaults([]);
      for (const [at, id] of blobs.entries())
        expect(await bytesOf(host, owner, id)).toBe(texts[at]?.repeat(100_000));
    }
    const last = work({ work: "move" });
    expect((await last.exited).code).toBe(0);
    expect((await objects.totals()).rows.count).toBe(0);
    advance(61 * 60_000);
    await host.prune(100);
    expect(server.keys()).toHaveLength(texts.length);
    for (const [at, id] of blobs.entries())
      expect(await bytesOf(host, owner, id)).toBe(texts[at]?.repeat(100_000));
    expect(await findings(host)).toEqual([]);
  });
});

const emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
