import { rmSync } from "node:fs";
import { startObjectServer } from "@holdfast/testing/object-server/start-object-server";
import { startHost } from "@holdfast/testing/process/start-process";
import { expect, test } from "vitest";

import {
  followUntil,
  hasEnded,
  makeFolder,
  serveWithClient,
  settingsFor,
  valueOf,
} from "./served-host.ts";

test("a host keeps attachments in a bucket, says what is lost, and takes them back", async () => {
  const bucket = await startObjectServer();
  const settings = { ...bucket.environment, HOLDFAST_MODEL: "rehearsal" };
  const { client, home, address, token } = await serveWithClient({
    ...settings,
    HOLDFAST_BLOB_STORAGE: "objects",
  });
  const run = async (...args: string[]) => {
    const env = settingsFor({ ...settings, HOLDFAST_HOME: home });
    const command = startHost(args, { env });
    const { code } = await command.exited;
    return { code, out: command.stdout(), err: command.stderr() };
  };
  const upload = async (fill: number) =>
    valueOf(
      await client.putBlob({ body: new Uint8Array(100_000).fill(fill), mediaType: "image/png" }),
    );
  const [kept, lost] = [await upload(1), await upload(2)];
  expect(kept).toMatchObject({ size: 100_000, mediaType: "image/png" });
  const [keptKey, lostKey] = [kept, lost].map(({ blobId }) =>
    bucket.keys().find((key) => key.includes(blobId.slice(5))),
  );
  expect([keptKey, lostKey]).toEqual([expect.any(String), expect.any(String)]);

  const session = valueOf(await client.createSession({ body: {} })).session;
  const attachments = [kept, lost].map(({ blobId, mediaType }) => ({
    type: "file" as const,
    name: "sea.png",
    mediaType,
    size: 100_000,
    blobId,
  }));
  rmSync(bucket.fileOf(lostKey ?? ""));
  const body = { clientId: "look", text: "Look", attachments };
  valueOf(await client.sendMessage({ params: { id: session.id }, body }));
  // The conversation goes on without what is lost.
  const { run: answer } = await followUntil(client, session.id, hasEnded);
  expect(answer).toMatchObject({ state: "completed" });

  const get = (id: string) =>
    fetch(`${address}api/blobs/${id}`, { headers: { authorization: `Bearer ${token}` } });
  const whole = await get(kept.blobId);
  expect([whole.status, (await whole.bytes()).length]).toEqual([200, 100_000]);
  const missing = await get(lost.blobId);
  expect(missing.status).toBe(502);
  expect(await missing.json()).toMatchObject({ code: "blob_unreadable" });

  const doctor = await run("doctor");
  expect(doctor.out).toMatch(/✓ Objects +http.* one object written, read, listed and deleted/);
  const fsck = await run("fsck");
  expect(fsck.out).toContain(`object_missing  blobs: There is no object`);
  expect(fsck.out).toContain("1 finding");
  expect((await run("blobs")).out).toMatch(/in object storage +2 blobs/);

  const moved = await run("blobs", "move", "database");
  expect(moved).toMatchObject({
    code: 1,
    out: expect.stringContaining("1 blob, 1 MB moved") as string,
  });
  expect(moved.err).toContain(`${lost.blobId} stays where it is`);
  const cleaned = await run("blobs", "clean");
  expect(cleaned).toMatchObject({ code: 0 });
  expect(bucket.keys()).toEqual([]);
  expect((await get(kept.blobId)).status).toBe(200);
});

test("a host that is to keep blobs in objects, and isn't told where, does not start", async () => {
  const env = settingsFor({ HOLDFAST_HOME: makeFolder(), HOLDFAST_BLOB_STORAGE: "objects" });
  const command = startHost(["serve"], { env });
  expect((await command.exited).code).toBe(1);
  expect(command.stderr()).toContain("HOLDFAST_OBJECT_STORAGE_URL");
});
