import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { startObjectServer } from "@holdfast/testing/object-server/start-object-server";
import { createFolder } from "@holdfast/testing/process/folder";
import { findFreePort } from "@holdfast/testing/process/free-port";
import { expect, onTestFinished, test } from "vitest";
import { bytesBody, fileBody, readObject } from "./object-bodies.ts";
import { ObjectStorageError } from "./object-storage.ts";
import { openS3Storage, type S3Limits } from "./s3-storage.ts";

const quick: Partial<S3Limits> = { firstPauseMs: 1 };
const bytes = new TextEncoder().encode("some bytes, ä, 🙂");

/** Typed, for matching inside of objects. */
const containing = (text: string): string => expect.stringContaining(text) as string;

async function rig(limits: Partial<S3Limits> = quick) {
  const server = await startObjectServer();
  return { server, storage: openS3Storage(server.settings, limits) };
}

test("an object comes back as it was put, and is gone once it is deleted", async () => {
  const { server, storage } = await rig();
  const body = bytesBody(bytes);
  expect(await storage.put("a/b.c_d-1", body)).toEqual({ ok: true, value: undefined });
  expect(server.keys()).toEqual(["holdfast/a/b.c_d-1"]);
  const expected = { sha256: body.sha256, maxBytes: 100 };
  expect(await readObject(storage, "a/b.c_d-1", expected)).toEqual({ ok: true, value: bytes });
  const { mtimeMs } = statSync(server.fileOf("holdfast/a/b.c_d-1"));
  const facts = await storage.head("a/b.c_d-1");
  expect(facts).toEqual({
    ok: true,
    value: { size: bytes.byteLength, modifiedAt: Math.floor(mtimeMs / 1000) * 1000 },
  });

  expect((await storage.delete("a/b.c_d-1")).ok).toBe(true);
  expect((await storage.delete("a/b.c_d-1")).ok).toBe(true);
  expect(await storage.head("a/b.c_d-1")).toMatchObject({ failure: { code: "object_missing" } });
  expect(await storage.get("a/b.c_d-1", {})).toMatchObject({ failure: { code: "object_missing" } });
});

test("an empty object, and one with a stream of 40 MB, are stored whole", async () => {
  const { server, storage } = await rig();
  expect((await storage.put("empty", bytesBody(new Uint8Array()))).ok).toBe(true);
  const { sha256 } = bytesBody(new Uint8Array());
  const empty = await readObject(storage, "empty", { sha256, maxBytes: 0 });
  expect(empty).toEqual({ ok: true, value: new Uint8Array() });

  const path = join(createFolder(), "large");
  writeFileSync(path, randomBytes(40_000_000));
  const body = await fileBody(path);
  expect((await storage.put("large", body)).ok).toBe(true);
  expect(readFileSync(server.fileOf("holdfast/large")).equals(readFileSync(path))).toBe(true);
  const got = await storage.get("large", { sha256: body.sha256 });
  if (!got.ok) throw new Error(got.failure.message);
  let size = 0;
  for await (const chunk of got.value.body) size += chunk.byteLength;
  expect(size).toBe(40_000_000);
});

test("a listing has every key below its prefix, over several pages", async () => {
  const { server, storage } = await rig();
  const keys = Array.from({ length: 1005 }, (_, n) => `many/${String(n).padStart(4, "0")}`);
  await storage.put("other", bytesBody(bytes));
  await storage.put(keys[0] ?? "", bytesBody(bytes));
  for (const key of keys) writeFileSync(server.fileOf(`holdfast/${key}`), "x");
  utimesSync(server.fileOf("holdfast/many/0003"), 1_000_000, 1_000_000);

  const first = await storage.list("many/");
  if (!first.ok) throw new Error(first.failure.message);
  expect(first.value.objects).toHaveLength(1000);
  expect(first.value.objects[3]).toEqual({ key: "many/0003", size: 1, modifiedAt: 1_000_000_000 });
  const second = await storage.list("many/", first.value.next);
  if (!second.ok) throw new Error(second.failure.message);
  expect(second.value.next).toBeUndefined();
  const listed = [...first.value.objects, ...second.value.objects].map(({ key }) => key);
  expect(listed).toEqual(keys);
});

test("other bytes than expected end the stream with object_damaged", async () => {
  const { server, storage } = await rig();
  const body = bytesBody(bytes);
  await storage.put("a", body);
  const file = server.fileOf("holdfast/a");
  const expected = { sha256: body.sha256, maxBytes: 100 };
  writeFileSync(file, readFileSync(file).fill(0x20, 3, 4));
  expect(await readObject(storage, "a", expected)).toMatchObject({
    failure: { code: "object_damaged" },
  });
  writeFileSync(file, Buffer.alloc(101));
  expect(await readObject(storage, "a", expected)).toMatchObject({
    failure: { code: "object_damaged", message: containing("101 bytes") },
  });
});

test("what passes by itself is tried again, streams too", async () => {
  const { server, storage } = await rig();
  await server.setFaults([
    { kind: "refuse", method: "PUT", status: 503, code: "SlowDown" },
    { kind: "refuse", method: "PUT", status: 500, code: "InternalError" },
    { kind: "cut", method: "PUT" },
    { kind: "refuse", method: "GET", status: 429, code: "TooManyRequests" },
  ]);
  const path = join(createFolder({ file: "x".repeat(200_000) }), "file");
  const body = await fileBody(path);
  expect(await storage.put("a", body)).toEqual({ ok: true, value: undefined });
  const read = await readObject(storage, "a", { sha256: body.sha256, maxBytes: 200_000 });
  expect(read.ok).toBe(true);
  const statuses = (await server.requests()).map(({ method, status }) => `${method} ${status}`);
  expect(statuses).toEqual(["PUT 503", "PUT 500", "PUT 0", "PUT 200", "GET 429", "GET 200"]);
});

test("after all tries the failure says what to do", async () => {
  const { server, storage } = await rig({ ...quick, idleMs: 200 });
  const code = (result: unknown): unknown =>
    (result as { failure?: { code: string } }).failure?.code;
  await server.setFaults([{ kind: "refuse", status: 503, code: "SlowDown", times: 4 }]);
  expect(code(await storage.put("a", bytesBody(bytes)))).toBe("object_storage_busy");
  await server.setFaults([{ kind: "hang", times: 4 }]);
  expect(code(await storage.put("a", bytesBody(bytes)))).toBe("object_storage_unreachable");
  await server.setFaults([{ kind: "refuse", status: 501, code: "NotImplemented", times: 4 }]);
  expect(code(await storage.head("a"))).toBe("object_storage_busy");
  await server.setFaults([{ kind: "refuse", status: 400, code: "InvalidRequest" }]);
  expect(code(await storage.put("a", bytesBody(bytes)))).toBe("object_storage_failed");

  await storage.put("a", bytesBody(bytes));
  await server.setFaults([{ kind: "cut-body", method: "GET" }]);
  const got = await storage.get("a", {});
  if (!got.ok) throw new Error(got.failure.message);
  const reading = Array.fromAsync(got.value.body);
  await expect(reading).rejects.toBeInstanceOf(ObjectStorageError);
  await expect(reading).rejects.toMatchObject({ failure: { code: "object_storage_unreachable" } });
});

test("each wrong setting has its code", async () => {
  const { server } = await rig();
  const failureOf = async (changed: object): Promise<unknown> => {
    const result = await openS3Storage({ ...server.settings, ...changed }, quick).put(
      "a",
      bytesBody(bytes),
    );
    return result.ok ? "ok" : result.failure;
  };
  expect(await failureOf({})).toBe("ok");
  expect(await failureOf({ keyId: "other" })).toMatchObject({
    code: "object_storage_denied",
    advice: containing("objectStorageKeyId"),
  });
  expect(await failureOf({ secretKey: "other" })).toMatchObject({
    code: "object_storage_denied",
    advice: containing("objectStorageSecretKey"),
  });
  expect(await failureOf({ bucket: "other" })).toMatchObject({ code: "object_storage_no_bucket" });
  expect(await failureOf({ region: "other" })).toMatchObject({
    code: "object_storage_wrong_region",
  });
  const closed = `http://127.0.0.1:${await findFreePort()}`;
  expect(await failureOf({ url: closed })).toMatchObject({
    code: "object_storage_unreachable",
    message: containing("ECONNREFUSED"),
  });
  await server.setFaults([{ kind: "refuse", status: 403, code: "RequestTimeTooSkewed" }]);
  expect(await failureOf({})).toMatchObject({
    code: "object_storage_clock",
    advice: containing("NTP"),
  });
});

/** Something on loopback that answers in place of S3. */
async function serveInstead(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer((request, response) => {
    request.resume();
    request.once("end", () => answer(request, response));
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const settings = {
    url,
    bucket: "things",
    region: "r-1",
    prefix: "p",
    addressing: "path",
  } as const;
  return openS3Storage({ ...settings, keyId: "k", secretKey: "s" }, quick);
}

test("what only says yes, or not found, or the same page again is not taken for S3", async () => {
  const page = await serveInstead((_, response) => response.end("<html>Sign in</html>"));
  expect(await page.put("a", bytesBody(bytes))).toMatchObject({
    failure: { code: "object_storage_failed", advice: containing("objectStorageUrl") },
  });
  const silent = await serveInstead((_, response) => response.end());
  expect(await silent.put("a", bytesBody(bytes))).toMatchObject({
    failure: { code: "object_storage_failed" },
  });
  const proxy = await serveInstead((_, response) => response.writeHead(404).end("no backend"));
  expect(await proxy.get("a", {})).toMatchObject({ failure: { code: "object_storage_failed" } });
  expect(await proxy.delete("a")).toMatchObject({ failure: { code: "object_storage_failed" } });
  const listing = `<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>1</NextContinuationToken></ListBucketResult>`;
  const repeating = await serveInstead((_, response) => response.end(listing));
  expect(await repeating.list("")).toMatchObject({ value: { next: "1" } });
  expect(await repeating.list("", "1")).toMatchObject({
    failure: { code: "object_storage_failed" },
  });
});

test("what a server says ends up in a message as one short line, however much and deep it is", async () => {
  const deep = `<Message>no\u001b[2J\n${"!".repeat(1000)}</Message>${"<a>".repeat(1_000_000)}`;
  const storage = await serveInstead((_, response) => response.writeHead(400).end(deep));
  const result = await storage.put("a", bytesBody(bytes));
  const message = result.ok ? "" : result.failure.message;
  expect(message).toContain("no [2J !!!");
  expect(message.length).toBeLessThan(500);
});

test("a key that some server would change is refused before it is sent", async () => {
  const { server, storage } = await rig();
  for (const key of ["", "/a", "a//b", "a/../b", "a b", "ä", "a/", "a?b", "a".repeat(800)])
    await expect(storage.put(key, bytesBody(bytes))).rejects.toThrow("can't be an object's key");
  expect(await server.requests()).toEqual([]);
});
