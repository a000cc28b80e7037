import { says, type Script } from "@holdfast/testing/fakes/scripted-model";
import { blobId, type BlobId, ownerId, problem, routes } from "@holdfast/protocol";
import { describe, expect, onTestFinished, test } from "vitest";

import { type ApiRig, openApi } from "../../../test/support/api-rig.ts";
import { valueOf } from "../../../test/support/api-helpers.ts";

function open(script: Script = says("Seen.")): ApiRig {
  const rig = openApi(script);
  onTestFinished(async () => {
    await rig.close();
    expect(rig.bugs).toEqual([]);
  });
  return rig;
}

const bytesOf = (text: string) => new TextEncoder().encode(text);
const missing = blobId.parse(`blob_${"f".repeat(64)}`);

async function summarizeReply(answer: Response) {
  expect(answer.headers.get("content-type")).toBe("application/problem+json");
  return { status: answer.status, code: problem.parse(await answer.json()).code };
}

async function post({ app, bearer }: ApiRig, body: BodyInit, mediaType?: string) {
  const type = mediaType === undefined ? {} : { "content-type": mediaType };
  const init = { method: "POST", body, headers: { ...bearer, ...type }, duplex: "half" };
  return app.request("/api/blobs", init, {});
}

async function put(rig: ApiRig, text: string, mediaType: string): Promise<BlobId> {
  return valueOf(await rig.client.putBlob({ body: bytesOf(text), mediaType })).blobId;
}

async function storedBlobs({ store }: ApiRig): Promise<number> {
  let count = 0;
  for await (const _ of store.audit.blobs()) count += 1;
  return count;
}

/** Sends a body of unknown length; `end` says how the upload ends. */
function chunked(chunks: readonly Uint8Array[], end: "whole" | "broken"): ReadableStream {
  let next = 0;
  return new ReadableStream({
    pull(controller) {
      const chunk = chunks[next++];
      if (chunk !== undefined) controller.enqueue(chunk);
      else if (end === "whole") controller.close();
      else controller.error(new Error("The client has left."));
    },
  });
}

test("a blob round-trips, named by its content", async () => {
  const rig = open();
  const body = Uint8Array.from({ length: 256 }, (_, index) => index);
  const first = valueOf(await rig.client.putBlob({ body, mediaType: "image/png" }));
  expect(first).toMatchObject({ size: 256, mediaType: "image/png" });
  expect(valueOf(await rig.client.putBlob({ body, mediaType: "text/html" }))).toEqual(first);
  expect(valueOf(await rig.client.getBlob({ params: { id: first.blobId } }))).toEqual(body);
  expect(await storedBlobs(rig)).toBe(1);
});

test.each([
  ["image/png", "inline"],
  ["image/JPEG", "inline"],
  ["image/gif", "inline"],
  ["image/webp; q=1", "inline"],
  ["image/svg+xml", "attachment"],
  ["text/html; charset=utf-8", "attachment"],
  ["text/plain", "attachment"],
  ["application/pdf", "attachment"],
  ["application/octet-stream", "attachment"],
])(
  "[safety] %s is served as %s, and never as a page of this host",
  async (mediaType, disposition) => {
    const rig = open();
    const id = await put(rig, "<script>alert(1)</script>", mediaType);
    const { headers } = await rig.ask("GET", `/api/blobs/${id}`);
    expect(headers.get("content-type")).toBe(mediaType);
    expect(headers.get("content-disposition")).toBe(disposition);
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("content-security-policy")).toMatch(/^default-src 'none';.*; sandbox$/);
    expect(headers.get("cross-origin-resource-policy")).toBe("same-origin");
  },
);

test("[safety] only what is a PDF is shown in a frame of the page, whatever its media type says", async () => {
  const rig = open();
  const show = async (text: string, mediaType: string) =>
    (await rig.ask("GET", `/api/blobs/${await put(rig, text, mediaType)}?as=view`)).headers;
  const shown = await show("%PDF-1.7 the ferry", "application/pdf");
  expect(shown.get("content-type")).toBe("application/pdf");
  expect(shown.get("content-disposition")).toBe("inline");
  expect(shown.get("content-security-policy")).toContain("frame-ancestors 'self'");
  expect(shown.get("x-frame-options")).toBe("SAMEORIGIN");
  const page = await show("<script>alert(1)</script>", "application/pdf");
  expect(page.get("content-disposition")).toBe("attachment");
  expect(page.get("content-security-policy")).toMatch(/sandbox$/);
});

test("a fetched blob is cached for good and not sent again", async () => {
  const rig = open();
  const path = `/api/blobs/${await put(rig, "once", "text/plain")}`;
  const first = await rig.ask("GET", path);
  const tag = first.headers.get("etag") ?? "";
  expect(first.headers.get("cache-control")).toBe("private, max-age=31536000, immutable");
  for (const condition of [tag, `W/${tag}`, `"other", ${tag}`, "*"]) {
    const again = await rig.ask("GET", path, undefined, { "if-none-match": condition });
    expect([condition, again.status, await again.text()]).toEqual([condition, 304, ""]);
    expect(again.headers.get("etag")).toBe(tag);
  }
  const other = await rig.ask("GET", path, undefined, { "if-none-match": '"other"' });
  expect([other.status, await other.text()]).toEqual([200, "once"]);
});

test("[safety] a foreign blob looks like a missing one, whatever the client knows of it", async () => {
  const rig = open();
  const stored = await rig.store.putBlob(
    ownerId.parse("somebody-else"),
    bytesOf("theirs"),
    "image/png",
  );
  if (stored.status !== "stored") throw new Error(stored.message);
  for (const id of [stored.id, missing]) {
    const tag = { "if-none-match": `"${id}"` };
    for (const headers of [{}, tag])
      expect(
        await summarizeReply(await rig.ask("GET", `/api/blobs/${id}`, undefined, headers)),
      ).toEqual({
        status: 404,
        code: "blob_not_found",
      });
  }
  expect(await summarizeReply(await rig.ask("GET", "/api/blobs/passwd"))).toMatchObject({
    status: 400,
  });
});

test.each([
  ["multipart/form-data; boundary=x"],
  ["application/x-www-form-urlencoded"],
  ["nonsense"],
  ["image/png, text/html"],
  ["text/html; charset"],
  [`text/${"x".repeat(300)}`],
])("%s is refused as a media type, and nothing is stored", async (mediaType) => {
  const rig = open();
  expect(await summarizeReply(await post(rig, "some bytes", mediaType))).toEqual({
    status: 415,
    code: "unsupported_media_type",
  });
  expect(await storedBlobs(rig)).toBe(0);
});

test("bytes without a media type are stored as plain bytes", async () => {
  const rig = open();
  const answer = await post(rig, new Blob([bytesOf("raw")]));
  expect(answer.status).toBe(201);
  expect(await answer.json()).toMatchObject({ size: 3, mediaType: "application/octet-stream" });
});

describe("the upload limit", () => {
  const most = routes.putBlob.largestBody;
  const chunk = new Uint8Array(1024 * 1024).fill(7);
  const full = Array.from({ length: most / chunk.byteLength }, () => chunk);

  test("is far above that of a command and exact, for chunked bodies too", async () => {
    const rig = open();
    const whole = await post(rig, chunked(full, "whole"), "application/zip");
    expect(await whole.json()).toMatchObject({ size: most });
    const over = [...full, new Uint8Array(1)];
    expect(
      await summarizeReply(await post(rig, chunked(over, "whole"), "application/zip")),
    ).toEqual({
      status: 413,
      code: "payload_too_large",
    });
    expect(await storedBlobs(rig)).toBe(1);
  });

  test("applies before a byte is read when the length is declared", async () => {
    const rig = open();
    let asked = 0;
    const body = new ReadableStream({ pull: () => void (asked += 1) }, { highWaterMark: 0 });
    const headers = { ...rig.bearer, "content-length": String(most + 1) };
    const init = { method: "POST", body, headers, duplex: "half" };
    expect(await summarizeReply(await rig.app.request("/api/blobs", init, {}))).toMatchObject({
      status: 413,
    });
    expect(asked).toBe(0);
  });

  test("does not apply to the other routes", async () => {
    const rig = open();
    const text = "x".repeat(1024 * 1024);
    expect(
      await summarizeReply(await rig.ask("POST", "/api/sessions", { title: text })),
    ).toMatchObject({
      status: 413,
    });
  });
});

test("an aborted upload leaves nothing behind and reports no bug", async () => {
  const rig = open();
  const half = () => chunked([bytesOf("half of i")], "broken");
  const headers = { ...rig.bearer, "content-length": "18", "content-type": "text/plain" };
  const bounds = { method: "POST", body: half(), headers, duplex: "half" };
  expect((await rig.app.request("/api/blobs", bounds, {})).status).toBe(400);
  expect((await post(rig, half(), "text/plain")).status).toBe(400);
  expect(await storedBlobs(rig)).toBe(0);
});
