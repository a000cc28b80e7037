import { describe, expect, expectTypeOf, test } from "vitest";

import {
  type SessionView,
  type Seq,
  makeProblem,
  problemMediaType,
  ownerId,
} from "@holdfast/protocol";
import { emptySessionRead } from "../reducer/state.ts";
import { findFreePort } from "@holdfast/testing/process/free-port";
import { testId } from "@holdfast/testing/session-logs/write-log";
import { describeError } from "../commands/command.ts";
import { createClient } from "./create-client.ts";
import { type Fetch, type Result } from "./call-route.ts";

interface Sent {
  readonly url: string;
  readonly method: string | undefined;
  readonly headers: Record<string, string>;
  readonly body: unknown;
}

const id = testId("session", 1);
const { session } = emptySessionRead(id, ownerId.parse("me"));
const accepted = { messageId: testId("message", 1), runId: testId("run", 1), seq: 4 };

/** A host that answers from a list, one answer per request, and records what it was sent. */
function hostWith(...answers: (() => Response)[]) {
  const sent: Sent[] = [];
  const slept: number[] = [];
  const fetch: Fetch = (url, { method, headers, body }) => {
    sent.push({ url, method, headers: headers as Record<string, string>, body });
    const answer = answers[sent.length - 1];
    if (answer === undefined) throw new Error("one request too many");
    return answer();
  };
  const sleep = (ms: number) => {
    slept.push(ms);
    return Promise.resolve();
  };
  let keys = 0;
  const newKey = () => `key-${++keys}`;
  const options = { baseUrl: "http://host/base/", token: "secret", fetch, sleep, newKey };
  return { sent, slept, client: createClient({ ...options, random: () => 0.5 }) };
}

const json = (status: number, body: unknown) => () => Response.json(body, { status });
const lost = () => {
  throw new TypeError("connection reset");
};

describe("a call", () => {
  test("goes to the route's address with its values as text and the token", async () => {
    const read = { ...emptySessionRead(id, ownerId.parse("me")) };
    const { client, sent } = hostWith(json(200, read));
    const result = await client.readSession({
      params: { id },
      query: { before: 12 as Seq, limit: 5 },
    });
    expect(result).toStrictEqual({ ok: true, value: read });
    expect(sent).toMatchObject([
      {
        url: `http://host/base/api/sessions/${id}?before=12&limit=5`,
        method: "GET",
        headers: { authorization: "Bearer secret" },
      },
    ]);
  });

  test("carries the revision as an entity tag and its body as JSON", async () => {
    const { client, sent } = hostWith(json(200, { session }));
    await client.changeSession({
      params: { id },
      headers: { "if-match": 7 },
      body: { title: "new" },
    });
    expect(sent[0]?.headers).toMatchObject({
      "if-match": '"7"',
      "content-type": "application/json",
    });
    expect(sent[0]?.body).toBe('{"title":"new"}');
  });

  test("resolves to the host's problem, unchanged", async () => {
    const problem = makeProblem("run_live", { detail: "it runs" });
    const headers = { "content-type": `${problemMediaType}; charset=utf-8` };
    const { client } = hostWith(
      () => new Response(JSON.stringify(problem), { status: 409, headers }),
    );
    const result = await client.undo({ params: { id } });
    expect(result).toStrictEqual({
      ok: false,
      error: { kind: "problem", code: "run_live", problem },
    });
  });

  test("resolves to a value when something other than the host answers", async () => {
    const { client } = hostWith(
      () => new Response("<html>bad gateway</html>", { status: 502 }),
      () => new Response("not json"),
      json(200, { session: { id: 1 } }),
    );
    const codes = [
      await client.health(),
      await client.health(),
      await client.readRun({ params: { id: testId("run", 1) } }),
    ];
    expect(codes.map(codeOf)).toStrictEqual([
      "unexpected_answer",
      "unexpected_answer",
      "unexpected_answer",
    ]);
  });

  test("that violates the contract is refused before it is sent", async () => {
    const { client, sent } = hostWith();
    expect(codeOf(await client.search({ query: { q: "" } }))).toBe("invalid_request");
    expect(sent).toHaveLength(0);
  });

  test("is repeated under one key after a lost connection, with growing waits", async () => {
    const { client, sent, slept } = hostWith(lost, lost, json(201, { session }));
    const result = await client.createSession();
    expect(result.ok).toBe(true);
    expect(sent.map(({ headers }) => headers["idempotency-key"])).toStrictEqual([
      "key-1",
      "key-1",
      "key-1",
    ]);
    expect(slept).toStrictEqual([187.5, 375]);
  });

  test("keeps the key that its caller chose", async () => {
    const { client, sent } = hostWith(json(202, { run: {} }));
    await client.cancelRun({
      params: { id: testId("run", 1) },
      headers: { "idempotency-key": "mine" },
    });
    expect(sent[0]?.headers["idempotency-key"]).toBe("mine");
  });

  test("that sends a message is repeated under its client id, without a key", async () => {
    const { client, sent } = hostWith(lost, json(202, accepted));
    const result = await client.sendMessage({
      params: { id },
      body: { clientId: "c1", text: "hi" },
    });
    expect(result).toStrictEqual({ ok: true, value: accepted });
    expect(sent.map(({ body }) => body)).toStrictEqual(
      Array(2).fill('{"clientId":"c1","text":"hi"}'),
    );
    expect(sent[0]?.headers).not.toHaveProperty("idempotency-key");
  });

  test("that is not safe to repeat is not repeated", async () => {
    const { client, sent } = hostWith(lost);
    const result = await client.changeSession({ params: { id }, body: { pinned: true } });
    expect(codeOf(result)).toBe("network_failed");
    expect(sent).toHaveLength(1);
  });

  test("gives up after four tries", async () => {
    const { client, sent } = hostWith(lost, lost, lost, lost);
    expect(codeOf(await client.listSessions())).toBe("network_failed");
    expect(sent).toHaveLength(4);
  });

  test("that was aborted says so and is not repeated", async () => {
    const { client, sent } = hostWith(lost);
    const result = await client.listSessions({}, { signal: AbortSignal.abort() });
    expect(codeOf(result)).toBe("aborted");
    expect(sent).toHaveLength(1);
  });

  test("sends bytes as they are and gets bytes back", async () => {
    const bytes = new Uint8Array([0, 255, 10]);
    const blobId = `blob_${"a".repeat(64)}`;
    const stored = { blobId, size: 3, mediaType: "image/png" };
    const { client, sent } = hostWith(
      json(201, stored),
      json(201, stored),
      () => new Response(bytes),
    );
    const put = await client.putBlob({ body: bytes, mediaType: "image/png" });
    if (!put.ok) throw new Error("not stored");
    expect(sent[0]).toMatchObject({ body: bytes, headers: { "content-type": "image/png" } });
    await client.putBlob({ body: bytes, mediaType: "" });
    expect(sent[1]).toMatchObject({ headers: { "content-type": "application/octet-stream" } });
    const got = await client.getBlob({ params: { id: put.value.blobId } });
    expect(got).toStrictEqual({ ok: true, value: bytes });
  });

  test("is typed by its route", () => {
    const { client } = hostWith();
    expectTypeOf(client.createSession).returns.resolves.toExtend<
      Result<{ session: SessionView }>
    >();
    expectTypeOf(client.getBlob).returns.resolves.toEqualTypeOf<Result<Uint8Array>>();
    expectTypeOf(client.removeInput).returns.resolves.toEqualTypeOf<Result<undefined>>();
    expectTypeOf(client.sendMessage).parameter(0).toHaveProperty("body");
    expectTypeOf(client).not.toHaveProperty("followSession");
  });
});

function codeOf(result: Result<unknown>): string {
  return result.ok ? "ok" : result.error.code;
}

test("an error about a host that is not running names its address and says what to check", async () => {
  const baseUrl = `http://127.0.0.1:${await findFreePort()}`;
  const client = createClient({ baseUrl, sleep: () => Promise.resolve() });
  const read = await client.readSession({ params: { id } });
  const text = read.ok ? "" : describeError(read.error);
  expect(text).toContain(new URL(baseUrl).host);
  expect(text).toContain("Check that it is running");
});
