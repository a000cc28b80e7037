import { gate, says, type Script } from "@holdfast/testing/fakes/scripted-model";
import { ids, laneKey, ownerId, problem, routes, sessionView } from "@holdfast/protocol";
import { expect, onTestFinished, test } from "vitest";

import { type ApiRig, openApi } from "../../../test/support/api-rig.ts";
import { newSession, untilEnded, valueOf } from "../../../test/support/api-helpers.ts";

function open(script: Script = []): ApiRig {
  const rig = openApi(script);
  onTestFinished(async () => {
    await rig.close();
    expect(rig.bugs).toEqual([]);
  });
  return rig;
}

async function summarizeReply(answer: Response) {
  const { code, errors } = problem.parse(await answer.json());
  return { status: answer.status, code, fields: errors?.map(({ path }) => path) };
}

test("every served route requires a principal", async () => {
  const { app, ask } = open();
  const walked = app.routes.filter(
    ({ method, path }) => method !== "ALL" && path.startsWith("/api/"),
  );
  expect(walked.length).toBeGreaterThan(15);
  for (const { method, path } of walked) {
    if (path === "/api/login") continue;
    const { status } = await app.request(path.replaceAll(/:\w+/g, "x"), { method });
    expect([method, path, status]).toEqual([method, path, 401]);
  }
  expect((await ask("GET", "/api/nothing")).status).toBe(404);
});

test("a session is created on its lane, listed, changed, trashed and restored", async () => {
  const rig = open();
  const { client, store, owner } = rig;
  const lane = laneKey.parse("web:a-tab");
  const { session } = valueOf(await client.createSession({ body: { title: "Ideas", lane } }));
  expect(session).toMatchObject({ title: "Ideas", titleSource: "chosen", revision: 1 });
  expect(await store.reads.lane(owner, lane)).toBe(session.id);

  const params = { id: session.id };
  const headers = { "if-match": session.revision };
  const changed = valueOf(
    await client.changeSession({ params, headers, body: { pinned: true, tags: ["b", "a"] } }),
  );
  expect(changed.session).toMatchObject({ pinned: true, tags: ["a", "b"], revision: 2 });
  expect(await client.changeSession({ params, headers, body: { pinned: false } })).toMatchObject({
    error: { code: "revision_conflict" },
  });

  for (const _ of ["once", "again"])
    expect(valueOf(await client.trashSession({ params })).session.trashedAt).not.toBeNull();
  expect(valueOf(await client.listSessions()).sessions).toEqual([]);
  expect(valueOf(await client.listSessions({ query: { trashed: true } })).sessions).toHaveLength(1);
  expect(valueOf(await client.restoreSession({ params })).session.trashedAt).toBeNull();
  expect(await client.restoreSession({ params })).toMatchObject({
    error: { code: "session_not_trashed" },
  });
});

test("the list is paged without gaps, and a made-up cursor is refused", async () => {
  const rig = open();
  const made = await Promise.all(Array.from({ length: 5 }, () => newSession(rig)));
  const seen: string[] = [];
  for (let cursor: string | undefined; ;) {
    const query = { limit: 2, ...(cursor !== undefined && { cursor }) };
    const page = valueOf(await rig.client.listSessions({ query }));
    seen.push(...page.sessions.map(({ id }) => id));
    if (page.nextCursor === null) break;
    cursor = page.nextCursor;
  }
  expect(seen.toSorted()).toEqual(made.toSorted());
  expect(await summarizeReply(await rig.ask("GET", "/api/sessions?cursor=made-up"))).toEqual({
    status: 400,
    code: "invalid_request",
    fields: ["cursor"],
  });
});

test("a message is answered, and reading the session equals following it", async () => {
  const rig = open([says("Good ", "day.")]);
  const id = await newSession(rig);
  const following = untilEnded(rig, id);
  const body = { clientId: "c1", text: "Hello" };
  const accepted = valueOf(await rig.client.sendMessage({ params: { id }, body }));

  const { gaps, readAgain, ...followed } = await following;
  expect({ gaps, readAgain }).toEqual({ gaps: [], readAgain: null });
  expect(followed.run).toMatchObject({ id: accepted.runId, state: "completed" });
  expect(followed.entries.map((entry) => entry.type === "message" && entry.parts)).toEqual([
    [{ type: "text", text: "Hello" }],
    [{ type: "text", text: "Good day." }],
  ]);
  expect(valueOf(await rig.client.readSession({ params: { id } }))).toEqual(followed);
  expect(valueOf(await rig.client.readRun({ params: { id: accepted.runId } })).run).toEqual(
    followed.run,
  );
});

test("a repeated message gets the first answer, and other text under its id is a conflict", async () => {
  const rig = open([says("Yes.")]);
  const id = await newSession(rig);
  const send = (text: string) =>
    rig.client.sendMessage({ params: { id }, body: { clientId: "c1", text } });
  const first = valueOf(await send("Hello"));
  expect(valueOf(await send("Hello"))).toEqual(first);
  expect(await send("Goodbye")).toMatchObject({ error: { code: "idempotency_conflict" } });
  await untilEnded(rig, id);
  expect(valueOf(await send("Hello"))).toEqual(first);
});

test("a queued message can be edited and withdrawn, and one that is not queued is refused", async () => {
  const release = Promise.withResolvers<void>();
  const rig = open([[says("One"), gate(release.promise)], says("Two")]);
  const { client } = rig;
  const id = await newSession(rig);
  const send = async (clientId: string, text: string) =>
    valueOf(await client.sendMessage({ params: { id }, body: { clientId, text } }));
  await send("a", "first");
  for await (const item of client.open(id))
    if (item.kind === "state" && item.state.live?.messages.length === 1) break;
  const second = await send("b", "second");
  const third = await send("c", "third");

  const at = (messageId: typeof second.messageId) => ({ params: { id, messageId } });
  valueOf(await client.changeInput({ ...at(second.messageId), body: { text: "rewritten" } }));
  valueOf(await client.removeInput(at(third.messageId)));
  expect(await client.removeInput(at(third.messageId))).toMatchObject({
    error: { code: "input_claimed" },
  });
  const read = valueOf(await client.readSession({ params: { id } }));
  expect(read.inbox.map(({ text }) => text)).toEqual(["rewritten"]);
  expect(read.live?.messages[0]?.parts[0]?.text).toBe("One");
  expect(await client.removeInput(at(ids.make("message")))).toMatchObject({
    error: { code: "message_not_found" },
  });

  release.resolve();
  await untilEnded(rig, id);
  expect(rig.model.requests[1]?.messages.at(-1)).toMatchObject({ text: "rewritten" });
});

test("cancelling a run once or twice ends it", async () => {
  const rig = open([[says("Half"), gate(new Promise(() => undefined))]]);
  const id = await newSession(rig);
  const body = { clientId: "c", text: "Go" };
  const { runId } = valueOf(await rig.client.sendMessage({ params: { id }, body }));
  const params = { id: runId };
  for (const _ of ["once", "again"]) valueOf(await rig.client.cancelRun({ params }));
  const state = await untilEnded(rig, id);
  expect(state.run).toMatchObject({ state: "cancelled", cancelRequested: true });
  expect(valueOf(await rig.client.cancelRun({ params })).run.state).toBe("cancelled");
});

test("search returns hits and a list of sessions", async () => {
  const rig = open([says("The heron stands in the reeds.")]);
  const id = await newSession(rig);
  const body = { clientId: "c", text: "Tell me about birds" };
  await rig.client.sendMessage({ params: { id }, body });
  await untilEnded(rig, id);
  await rig.store.search.settled();
  const { hits } = valueOf(await rig.client.search({ query: { q: "heron" } }));
  expect(hits).toMatchObject([{ sessionId: id }]);
  const [hit] = hits;
  expect(hit?.marks.map(([from, to]) => hit.snippet.slice(from, to))).toEqual(["heron"]);
  const list = valueOf(await rig.client.listSessions({ query: { q: "heron" } }));
  expect(list.sessions.map((session) => session.id)).toEqual([id]);
  const archived = await rig.client.listSessions({ query: { q: "heron", archived: true } });
  expect(valueOf(archived).sessions).toEqual([]);
});

test("[safety] a foreign session looks like a missing one", async () => {
  const rig = open();
  const { session } = await rig.log.createSession({ owner: ownerId.parse("somebody-else") });
  const missing = ids.make("session");
  for (const id of [session, missing]) {
    const path = `/api/sessions/${id}`;
    const answers = await Promise.all([
      rig.ask("GET", path),
      rig.ask("PATCH", path, { pinned: true }),
      rig.ask("DELETE", path),
      rig.ask("POST", `${path}/restore`),
      rig.ask("POST", `${path}/messages`, { clientId: "c", text: "x" }),
      rig.ask("GET", `${path}/events`),
      rig.ask("GET", `/api/events?watch=${id}:0`),
      rig.ask("DELETE", `${path}/inbox/${ids.make("message")}`),
      rig.ask("POST", "/api/sessions", { previousSessionId: id }),
    ]);
    for (const answer of answers)
      expect(await summarizeReply(answer)).toMatchObject({
        status: 404,
        code: "session_not_found",
      });
  }
  expect(await summarizeReply(await rig.ask("GET", `/api/runs/${ids.make("run")}`))).toMatchObject({
    status: 404,
    code: "run_not_found",
  });
});

test.each([
  ["an unknown field", { surprise: 1 }, {}, 400, "invalid_request"],
  ["a field of the wrong kind", { title: 7 }, {}, 400, "invalid_request"],
  ["broken JSON", "{", {}, 400, "malformed_json"],
  ["another media type", "a=b", { "content-type": "text/plain" }, 415, "unsupported_media_type"],
  ["a bad key", {}, { "idempotency-key": "a b" }, 400, "invalid_request"],
])("%s is refused", async (_, body, headers: Record<string, string>, status, code) => {
  const rig = open();
  expect(await summarizeReply(await rig.ask("POST", "/api/sessions", body, headers))).toMatchObject(
    {
      status,
      code,
    },
  );
  expect(valueOf(await rig.client.listSessions()).sessions).toEqual([]);
});

test("invalid UTF-8 is malformed, and an optional body can be left out", async () => {
  const { app, bearer, ask } = open();
  const headers = { ...bearer, "content-type": "application/json" };
  const body = new Uint8Array([...Buffer.from('{"title": "'), 0xff, ...Buffer.from('"}')]);
  const answer = await app.request("/api/sessions", { method: "POST", headers, body });
  expect(await summarizeReply(answer)).toMatchObject({ code: "malformed_json" });
  expect((await ask("POST", "/api/sessions")).status).toBe(201);
});

test("a bad id, an unknown parameter and a repeated parameter are refused by name", async () => {
  const { ask } = open();
  expect(await summarizeReply(await ask("GET", "/api/sessions/nonsense"))).toMatchObject({
    fields: ["id"],
  });
  expect(await summarizeReply(await ask("GET", "/api/sessions?colour=red"))).toMatchObject({
    status: 400,
  });
  expect(await summarizeReply(await ask("GET", "/api/sessions?limit=1&limit=2"))).toMatchObject({
    fields: ["limit"],
  });
});

test("a stopping host and a closed store refuse requests in the same way", async () => {
  const stopping = open();
  stopping.stopAdmitting();
  const closed = open();
  await closed.store.close();
  for (const rig of [stopping, closed]) {
    const answers = [
      await rig.ask("GET", "/api/sessions"),
      await rig.ask("POST", "/api/sessions", {}),
    ];
    for (const answer of answers)
      expect(await summarizeReply(answer)).toMatchObject({ status: 503, code: "shutting_down" });
  }
});

test("answers match the contract's own schemas", async () => {
  const rig = open();
  const id = await newSession(rig);
  const answer: unknown = await (await rig.ask("GET", `/api/sessions/${id}`)).json();
  expect(routes.readSession.answer.schema.safeParse(answer).success).toBe(true);
  const view: unknown = valueOf(await rig.client.readSession({ params: { id } })).session;
  expect(Object.keys(sessionView.shape)).toEqual(
    expect.arrayContaining(Object.keys(sessionView.parse(view))),
  );
});
