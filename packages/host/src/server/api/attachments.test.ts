import { fsckFindings } from "@holdfast/testing/conformance/harness";
import { gate, says, type Script } from "@holdfast/testing/fakes/scripted-model";
import {
  type Attachment,
  type BlobId,
  blobId,
  ownerId,
  type Part,
  type SessionId,
} from "@holdfast/protocol";
import { expect, onTestFinished, test } from "vitest";

import { type ApiRig, openApi } from "../../../test/support/api-rig.ts";
import {
  newSession,
  untilEnded,
  untilStreaming,
  valueOf,
} from "../../../test/support/api-helpers.ts";

function open(script: Script = () => says("Seen.")): ApiRig {
  const rig = openApi(script);
  onTestFinished(async () => {
    expect(await fsckFindings(rig.store)).toEqual([]);
    await rig.close();
    expect(rig.bugs).toEqual([]);
  });
  return rig;
}

const bytesOf = (text: string) => new TextEncoder().encode(text);
const missing = blobId.parse(`blob_${"f".repeat(64)}`);
const notThere = { error: { code: "blob_not_found", problem: { status: 404 } } };

const fileOf = (id: BlobId, name = "notes.txt"): Attachment => ({
  type: "file",
  blobId: id,
  name,
  mediaType: "text/plain",
  size: 5,
});
const imageOf = (id: BlobId): Attachment => ({ type: "image", blobId: id, mediaType: "image/png" });

async function put({ client }: ApiRig, text: string): Promise<BlobId> {
  return valueOf(await client.putBlob({ body: bytesOf(text), mediaType: "text/plain" })).blobId;
}

async function refsOf({ store, owner }: ApiRig, id: BlobId): Promise<number | undefined> {
  for await (const row of store.audit.blobs())
    if (row.owner === owner && row.id === id) return row.refs;
  return undefined;
}

/** The parts of the user's messages. */
async function userMessages({ client }: ApiRig, id: SessionId): Promise<Part[][]> {
  const { entries } = valueOf(await client.readSession({ params: { id } }));
  return entries.flatMap((entry) =>
    entry.type === "message" && entry.role === "user" ? [entry.parts] : [],
  );
}

test("attachments are stored in the message, counted, and named to the model", async () => {
  const rig = open();
  const id = await newSession(rig);
  const [notes, picture] = [await put(rig, "notes"), await put(rig, "picture")];
  const attachments = [fileOf(notes), imageOf(picture), fileOf(notes, "again.txt")];
  const body = { clientId: "one", text: "Look", attachments };
  valueOf(await rig.client.sendMessage({ params: { id }, body }));
  await untilEnded(rig, id);
  expect(await userMessages(rig, id)).toEqual([[{ type: "text", text: "Look" }, ...attachments]]);
  // The acceptance and the entry each hold a reference.
  expect([await refsOf(rig, notes), await refsOf(rig, picture)]).toEqual([2, 2]);
  const [request] = rig.model.requests;
  expect(request?.messages.at(-1)).toMatchObject({
    role: "user",
    text: expect.stringMatching(/^Look\n\n\[attached: notes\.txt, text\/plain, blob_/) as string,
  });
});

test("a message may consist of attachments alone", async () => {
  const rig = open();
  const id = await newSession(rig);
  const attachments = [fileOf(await put(rig, "notes"))];
  const params = { id };
  valueOf(
    await rig.client.sendMessage({ params, body: { clientId: "one", text: "", attachments } }),
  );
  await untilEnded(rig, id);
  expect(await userMessages(rig, id)).toEqual([attachments]);
  const empty = { clientId: "two", text: " ", attachments: [] };
  expect(await rig.client.sendMessage({ params, body: empty })).toMatchObject({
    error: { code: "invalid_request" },
  });
});

test("a missing or foreign blob cannot be attached, and the message is not accepted", async () => {
  const rig = open();
  const id = await newSession(rig);
  const own = await put(rig, "own");
  const other = ownerId.parse("somebody-else");
  const theirs = await rig.store.putBlob(other, bytesOf("theirs"), "text/plain");
  if (theirs.status !== "stored") throw new Error(theirs.message);
  const before = valueOf(await rig.client.readSession({ params: { id } })).seq;
  for (const blob of [missing, theirs.id]) {
    const body = { clientId: "one", text: "Look", attachments: [fileOf(own), fileOf(blob)] };
    expect(await rig.client.sendMessage({ params: { id }, body })).toMatchObject(notThere);
  }
  expect(valueOf(await rig.client.readSession({ params: { id } }))).toMatchObject({
    seq: before,
    inbox: [],
  });
  expect(await refsOf(rig, own)).toBe(0);
});

test("the same message with other attachments is a different message", async () => {
  const rig = open();
  const id = await newSession(rig);
  const [one, two] = [await put(rig, "one"), await put(rig, "two")];
  const send = (blob: BlobId) =>
    rig.client.sendMessage({
      params: { id },
      body: { clientId: "one", text: "Look", attachments: [fileOf(blob)] },
    });
  const first = valueOf(await send(one));
  expect(valueOf(await send(one))).toEqual(first);
  expect(await send(two)).toMatchObject({ error: { code: "idempotency_conflict" } });
  await untilEnded(rig, id);
});

test("editing a queued message changes its attachments, and the last edit runs", async () => {
  const go = Promise.withResolvers<void>();
  const rig = open((_request, before) =>
    before === 0 ? [says("Half"), gate(go.promise)] : says("Seen."),
  );
  const { client } = rig;
  const id = await newSession(rig);
  const [first, second] = [await put(rig, "first"), await put(rig, "second")];
  valueOf(await client.sendMessage({ params: { id }, body: { clientId: "live", text: "Go" } }));
  await untilStreaming(rig, id);
  const body = { clientId: "waits", text: "Look", attachments: [fileOf(first)] };
  const { messageId } = valueOf(await client.sendMessage({ params: { id }, body }));
  const params = { id, messageId };
  const waiting = async () => valueOf(await client.readSession({ params: { id } })).inbox[0];

  valueOf(await client.changeInput({ params, body: { text: "Look here" } }));
  expect(await waiting()).toMatchObject({ text: "Look here", attachments: [] });
  const lost = { text: "Look there", attachments: [fileOf(missing)] };
  expect(await client.changeInput({ params, body: lost })).toMatchObject(notThere);
  const last = { text: "Look at this", attachments: [imageOf(second)] };
  valueOf(await client.changeInput({ params, body: last }));
  expect(await waiting()).toMatchObject(last);

  go.resolve();
  await untilEnded(rig, id);
  expect((await userMessages(rig, id))[1]).toEqual([
    { type: "text", text: "Look at this" },
    imageOf(second),
  ]);
  expect(await client.changeInput({ params, body: last })).toMatchObject({
    error: { code: "input_claimed" },
  });
  // The log records what was accepted first, so its bytes are kept too.
  expect([await refsOf(rig, first), await refsOf(rig, second)]).toEqual([1, 2]);
});

test("a retried message keeps its attachments unless others are given", async () => {
  const rig = open();
  const { client } = rig;
  const id = await newSession(rig);
  const [first, second] = [await put(rig, "first"), await put(rig, "second")];
  const body = { clientId: "one", text: "Look", attachments: [fileOf(first)] };
  valueOf(await client.sendMessage({ params: { id }, body }));
  await untilEnded(rig, id);
  valueOf(await client.retry({ params: { id }, body: { text: "Look again" } }));
  await untilEnded(rig, id);
  expect(await userMessages(rig, id)).toEqual([
    [{ type: "text", text: "Look again" }, fileOf(first)],
  ]);
  const lost = { attachments: [fileOf(missing)] };
  expect(await client.retry({ params: { id }, body: lost })).toMatchObject(notThere);
  valueOf(await client.retry({ params: { id }, body: { attachments: [fileOf(second)] } }));
  await untilEnded(rig, id);
  expect(await userMessages(rig, id)).toEqual([
    [{ type: "text", text: "Look again" }, fileOf(second)],
  ]);
});

test("bytes uploaded without a media type are served as plain bytes", async () => {
  const rig = open();
  for (const mediaType of ["text/html\r\nset-cookie: a=b", "bild/ü", ""]) {
    const stored = await rig.store.putBlob(rig.owner, Buffer.from(`of ${mediaType}`), mediaType);
    if (stored.status !== "stored") throw new Error(stored.status);
    const answer = await rig.ask("GET", `/api/blobs/${stored.id}`);
    expect([answer.status, answer.headers.get("content-type")]).toEqual([
      200,
      "application/octet-stream",
    ]);
    expect(await answer.text()).toBe(`of ${mediaType}`);
  }
});
