import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import type { BlobRow } from "@holdfast/engine";
import { fsckFindings } from "@holdfast/testing/conformance/harness";
import { routes } from "@holdfast/protocol";
import { openSqliteStore } from "@holdfast/store/sqlite";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { requirePage } from "./page/require-page.ts";
import { followUntil, hasEnded, serveWithClient, textIn, valueOf } from "./served-host.ts";

beforeEach(requirePage);

/** What the host left in its store: every blob, and every problem. */
async function lookInto(home: string) {
  const store = await openSqliteStore({ file: join(home, "holdfast.db") });
  onTestFinished(() => store.close());
  const blobs: BlobRow[] = [];
  for await (const row of store.audit.blobs()) blobs.push(row);
  return { blobs, wrong: await fsckFindings(store) };
}

test("[P1] an uploaded attachment survives kill -9 before its message and after its acceptance", async () => {
  const first = await serveWithClient();
  const body = Uint8Array.from({ length: 100_000 }, (_, index) => (index * 7) % 256);
  const { blobId } = valueOf(await first.client.putBlob({ body, mediaType: "image/png" }));
  await first.host.kill();

  const second = await serveWithClient({ HOLDFAST_HOME: first.home });
  const { session } = valueOf(await second.client.createSession({ body: {} }));
  const params = { id: session.id };
  const image = { type: "image", blobId, mediaType: "image/png", name: "heron.png" } as const;
  const message = { clientId: "one", text: "What is this? {echo}", attachments: [image] };
  const accepted = valueOf(await second.client.sendMessage({ params, body: message }));
  await second.host.kill();

  const { client, host } = await serveWithClient({ HOLDFAST_HOME: first.home });
  expect(valueOf(await client.sendMessage({ params, body: message }))).toEqual(accepted);
  const { entries, run } = await followUntil(client, session.id, hasEnded);
  expect(run).toMatchObject({ id: accepted.runId, state: "completed" });
  const messages = entries.filter((entry) => entry.type === "message");
  const [asked, answered] = [messages[0]!, messages.at(-1)!];
  expect(asked.parts).toEqual([
    { type: "text", text: message.text },
    image,
    {
      type: "attached",
      source: "workspace",
      text: expect.stringContaining("attachments/heron.png") as string,
    },
    { type: "attached", source: "time", text: expect.stringMatching(/ \d\d:\d\d \(/) as string },
  ]);
  expect(textIn(answered)).toContain("heron.png");
  expect(valueOf(await client.getBlob({ params: { id: blobId } }))).toEqual(body);

  await host.kill();
  const { blobs, wrong } = await lookInto(first.home);
  expect(wrong).toEqual([]);
  expect(blobs.find((blob) => blob.id === blobId)).toMatchObject({ refs: 2, size: 100_000 });
});

test("an interrupted or oversized upload leaves nothing behind, and the host goes on", async () => {
  const { address, client, home, host, token } = await serveWithClient();
  const { port } = new URL(address);
  const socket = connect(Number(port), "127.0.0.1");
  await once(socket, "connect");
  const head = [
    "POST /api/blobs HTTP/1.1",
    `Host: 127.0.0.1:${port}`,
    `Authorization: Bearer ${token}`,
    "Content-Type: text/plain",
    "Content-Length: 1000",
  ];
  await new Promise((written) =>
    socket.write(`${head.join("\r\n")}\r\n\r\n${"x".repeat(500)}`, written),
  );
  socket.resetAndDestroy();

  const body = new Uint8Array(routes.putBlob.largestBody + 1);
  expect(await client.putBlob({ body, mediaType: "application/zip" })).toMatchObject({
    error: { code: "payload_too_large", problem: { status: 413 } },
  });
  const kept = valueOf(await client.putBlob({ body: new Uint8Array(3), mediaType: "text/plain" }));
  host.signal("SIGTERM");
  expect(await host.exited).toEqual({ code: 0, signal: null });
  expect(host.stderr()).toBe("");
  const { blobs, wrong } = await lookInto(home);
  expect(blobs.map(({ id }) => id)).toEqual([kept.blobId]);
  expect(wrong).toEqual([]);
});
