import { gate, says, type Script } from "@holdfast/testing/fakes/scripted-model";
import { expect, onTestFinished, test } from "vitest";

import { type ApiRig, openApi } from "../../../test/support/api-rig.ts";
import {
  sendAndWait,
  newSession,
  shownTexts,
  untilEnded,
  valueOf,
} from "../../../test/support/api-helpers.ts";
import { answer, problem } from "./endpoint.ts";
import { createIdempotency } from "./idempotency.ts";

function open(script: Script = (_request, before) => says(`Answer ${before + 1}`)): ApiRig {
  const rig = openApi(script);
  onTestFinished(async () => {
    await rig.close();
    expect(rig.bugs).toEqual([]);
  });
  return rig;
}

const under = (key: string) => ({ "idempotency-key": key });

test("one key creates one session, and a different request under it is a conflict", async () => {
  const { client } = open();
  const headers = under("begin");
  const first = valueOf(await client.createSession({ headers, body: { title: "One" } }));
  const again = valueOf(await client.createSession({ headers, body: { title: "One" } }));
  expect(again).toEqual(first);
  expect(await client.createSession({ headers, body: { title: "Two" } })).toMatchObject({
    error: { code: "idempotency_conflict" },
  });
  expect(valueOf(await client.listSessions()).sessions).toHaveLength(1);
});

test("a request that arrives while the first is in progress gets the first answer", async () => {
  const { client } = open();
  const call = () => client.createSession({ headers: under("both"), body: {} });
  const [one, two] = await Promise.all([call(), call()]);
  expect(valueOf(one)).toEqual(valueOf(two));
  expect(valueOf(await client.listSessions()).sessions).toHaveLength(1);
});

test("a refused request may be repeated under its key, and then succeeds", async () => {
  const rig = open();
  const id = await newSession(rig);
  const undo = () => rig.client.undo({ params: { id }, headers: under("back"), body: {} });
  expect(await undo()).toMatchObject({ error: { code: "nothing_to_undo" } });
  await sendAndWait(rig, id, "one");
  valueOf(await undo());
  expect(await shownTexts(rig, id)).toEqual([]);
});

test("a request that broke while it was handled may be repeated under its key", async () => {
  const { store, owner } = open();
  const runIdempotent = createIdempotency(store);
  const request = { owner, key: "broken", requestText: "POST /broken" };
  let calls = 0;
  const call = () =>
    runIdempotent({
      request,
      decode: () => undefined,
      async act() {
        calls += 1;
        if (calls === 1) throw new Error("The store went away.");
        return answer(calls);
      },
    });
  await expect(call()).rejects.toThrow("went away");
  expect(await call()).toEqual(answer(2));
});

test("a refused command without an answer of its own is not taken for done when it is repeated", async () => {
  const { store, owner } = open();
  const runIdempotent = createIdempotency(store);
  const replies = [problem("nothing_to_undo"), answer(undefined)];
  const call = () =>
    runIdempotent({
      request: { owner, key: "once", requestText: "the same" },
      decode: () => answer(undefined),
      act: async () => replies.shift() ?? problem("internal"),
    });
  expect(await call()).toMatchObject({ kind: "problem", code: "nothing_to_undo" });
  expect(await call()).toEqual(answer(undefined));
  expect([await call(), replies]).toEqual([answer(undefined), []]);
});

test("a command is not repeated when the host died before it stored the answer", async () => {
  const rig = open();
  const id = await newSession(rig);
  await sendAndWait(rig, id, "one", "two");
  const { seq } = valueOf(await rig.client.readSession({ params: { id } }));
  const { entries } = valueOf(await rig.client.readSession({ params: { id } }));
  // Forgetting the answers simulates a host that dies before it stores them.
  rig.forgetAnswers();
  const params = { id };
  const twice = async <T>(
    call: () => Promise<{ ok: true; value: T } | { ok: false; error: unknown }>,
  ) => {
    const [first, again] = [valueOf(await call()), valueOf(await call())];
    return [first, again] as const;
  };
  const undone = await twice(() =>
    rig.client.undo({ params, headers: under("u"), body: { expectedHead: seq } }),
  );
  expect(undone[1].seq).toBe(undone[0].seq);
  expect(await shownTexts(rig, id)).toEqual(["one", "Answer 1"]);
  const [, again] = await twice(() => rig.client.redo({ params, headers: under("r"), body: {} }));
  expect(again.seq).toBe(undone[0].seq + 1);
  expect(await shownTexts(rig, id)).toHaveLength(4);

  const at = entries[1]!.seq;
  const branches = await twice(() =>
    rig.client.branch({ params, headers: under("b"), body: { at } }),
  );
  expect(branches[1].session.id).toBe(branches[0].session.id);
  const copies = await twice(() => rig.client.duplicate({ params, headers: under("d"), body: {} }));
  expect(copies[1].session.id).toBe(copies[0].session.id);
  expect(valueOf(await rig.client.listSessions()).sessions).toHaveLength(3);

  const head = valueOf(await rig.client.readSession({ params })).seq;
  const body = { expectedHead: head };
  const [asked, repeated] = await twice(() =>
    rig.client.retry({ params, headers: under("t"), body }),
  );
  expect(repeated).toEqual(asked);
  await untilEnded(rig, id);
  expect(valueOf(await rig.client.retry({ params, headers: under("t"), body }))).toEqual(asked);
  expect(await shownTexts(rig, id)).toEqual(["one", "Answer 1", "two", "Answer 3"]);
});

test("an undo being replayed cannot be redone under the same key unless it was undone again", async () => {
  const go = Promise.withResolvers<void>();
  const script: Script = (_request, before) =>
    before === 1 ? [says("Half"), gate(go.promise)] : says(`Answer ${before + 1}`);
  const rig = open(script);
  const id = await newSession(rig);
  const params = { id };
  await sendAndWait(rig, id, "one");
  rig.pauseRunner();
  const { messageId } = valueOf(await rig.client.retry({ params, body: {} }));
  expect(await rig.client.redo({ params, body: {} })).toMatchObject({
    error: { code: "nothing_to_redo" },
  });
  valueOf(await rig.client.removeInput({ params: { id, messageId } }));
  valueOf(await rig.client.redo({ params, body: {} }));
  expect(await shownTexts(rig, id)).toEqual(["one", "Answer 1"]);
  go.resolve();
});

test("a different request under a key whose first request is in progress is a conflict", async () => {
  const { client } = open();
  const call = (title: string) => client.createSession({ headers: under("both"), body: { title } });
  const [one, two] = await Promise.all([call("One"), call("Two")]);
  expect(valueOf(one).session.title).toBe("One");
  expect(two).toMatchObject({ error: { code: "idempotency_conflict" } });
  expect(valueOf(await client.listSessions()).sessions).toHaveLength(1);
});

test("a request whose key another host has used for a different request is a conflict", async () => {
  const { store, owner } = open();
  const [here, there] = [createIdempotency(store), createIdempotency(store)];
  const begun = Promise.withResolvers<void>();
  const mayEnd = Promise.withResolvers<void>();
  const request = (requestText: string) => ({ owner, key: "shared", requestText });
  const decode = () => undefined;
  const first = here({
    request: request("one"),
    decode,
    async act() {
      begun.resolve();
      await mayEnd.promise;
      return answer("one");
    },
  });
  await begun.promise;
  const second = there({ request: request("two"), decode, act: async () => answer("two") });
  expect(await second).toEqual(answer("two"));
  mayEnd.resolve();
  expect(await first).toMatchObject({ kind: "problem", code: "idempotency_conflict" });
});
