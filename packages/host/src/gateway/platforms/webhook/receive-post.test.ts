import { createTool, okResult } from "@holdfast/testing/rigs/run-rig";
import { calls, says } from "@holdfast/testing/fakes/scripted-model";
import { rightsSubject } from "@holdfast/protocol";
import { expect, onTestFinished, test } from "vitest";

import {
  testWebhook,
  webhookTestSecret,
  openWebhookRig,
  type WebhookRig,
} from "../../../../test/support/gateway/webhook-rig.ts";
import {
  type ReceiverAnswer,
  isSigned,
  openWebhookReceiver,
} from "@holdfast/testing/host/webhook-receiver";
import { signedHeaders } from "../../../util/webhook-signature.ts";
import type { UpdateHandler } from "../../inbound/handle-update.ts";
import { openRightsStore } from "../../../rights/rights-store.ts";
import { receivePost } from "./receive-post.ts";

type Options = Parameters<typeof openWebhookRig>[2];
type Script = Parameters<typeof openWebhookRig>[0];

async function open(script: Script, answers: ReceiverAnswer[] = [], options: Options = {}) {
  const receiver = await openWebhookReceiver(answers);
  const rig = openWebhookRig(script, testWebhook(receiver.url), options);
  onTestFinished(async () => {
    await rig.close();
    await receiver.close();
  });
  const postedTexts = () => receiver.taken.map(({ message }) => message["text"]);
  return { receiver, rig, postedTexts };
}

const codeOf = async (response: Response) => {
  const { code } = (await response.json()) as { code?: string };
  return [response.status, code];
};

const json = async (response: Response) =>
  (await response.json()) as { readonly sessionId: string; readonly runId: string | null };

test("a post becomes one turn in its conversation's session, and the answer is posted back signed", async () => {
  const { receiver, rig } = await open((_, count) => says(`Answer ${count}.`));
  const first = await rig.say("msg-1", { conversation: "deploys", sender: "Ada", text: "Hello" });
  expect(first.status).toBe(202);
  const { sessionId, runId } = await json(first);
  await receiver.until(1);
  expect(isSigned(receiver.taken[0]!, webhookTestSecret)).toBe(true);
  expect(receiver.taken[0]?.message).toMatchObject({
    conversation: "deploys",
    type: "message",
    text: "Answer 0.",
    replyTo: "msg-1",
  });
  expect(JSON.stringify(rig.model.requests[0])).toContain("Ada: Hello");
  expect((await rig.store.reads.run(rig.owner, runId as never))?.session).toBe(sessionId);
  expect(await rig.store.reads.lane(rig.owner, "webhook:ci:deploys" as never)).toBe(sessionId);
  // Another conversation has another session.
  const other = await json(await rig.say("msg-2", { text: "Hello" }));
  expect(other.sessionId).not.toBe(sessionId);
});

test("[P11] a repeated post is one turn with one answer, and other bytes under its id conflict", async () => {
  const { receiver, rig } = await open((_, count) => says(`Answer ${count}.`));
  const message = { text: "Hello" };
  const answers = await Promise.all([1, 2, 3].map(() => rig.say("msg-1", message)));
  await receiver.until(1);
  answers.push(await rig.say("msg-1", message));
  const bodies = await Promise.all(answers.map(json));
  expect(answers.map(({ status }) => status)).toEqual([202, 202, 202, 202]);
  expect(new Set(bodies.map(({ runId }) => runId)).size).toBe(1);
  const other = await rig.say("msg-1", { text: "Hello!" });
  expect(await codeOf(other)).toEqual([409, "webhook_conflict"]);
  const elsewhere = await rig.say("msg-1", { text: "Hello", conversation: "elsewhere" });
  expect(await codeOf(elsewhere)).toEqual([409, "webhook_conflict"]);
  expect(rig.model.requests).toHaveLength(1);
  expect(receiver.taken).toHaveLength(1);
});

test("[P11] an answer whose arrival is unknown is posted again under its id, and not marked", async () => {
  const { receiver, rig, postedTexts } = await open([says("All of it.")], ["cut"]);
  await rig.say("msg-1", { text: "Tell me" });
  await receiver.until(2);
  expect(postedTexts()).toEqual(["All of it.", "All of it."]);
  expect(new Set(receiver.taken.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
  const outboxRows = async () =>
    rig.store.reads.outbox(rig.owner, {
      states: ["pending", "sending", "unknown", "failed"],
      limit: 9,
    });
  await expect.poll(outboxRows).toEqual([]);
});

/** The program is trusted to answer what its own messages ask for. */
async function allowApprovals({ store, owner }: WebhookRig): Promise<void> {
  const rights = openRightsStore(store.register);
  const own = { tools: ["*"], sessions: "own", memory: "none", approvals: true } as const;
  await rights.put(owner, { name: "answering", ...own, tools: [...own.tools] });
  expect(await rights.assign(owner, rightsSubject.parse("webhook:ci"), "answering")).toBe("kept");
}

test("an approval lists its answers where a profile allows that, and posting one of them answers it once", async () => {
  let payments = 0;
  const pay = createTool("pay", async () => okResult(`paid ${++payments}`), {
    approval: () => "ask",
  });
  const script = [calls("pay", { euros: 5 }), says("Paid.")];
  const { receiver, rig, postedTexts } = await open(script, [], { tools: [pay] });
  await allowApprovals(rig);
  await rig.say("msg-1", { text: "Pay" });
  await receiver.until(1);
  const { type, answers } = receiver.taken[0]!.message as {
    type: string;
    answers: { label: string; answer: string }[];
  };
  expect([type, answers.map(({ label }) => label)]).toEqual([
    "question",
    ["Allow once", "Allow for this session", "Deny"],
  ]);
  const wrong = { conversation: "elsewhere", answer: answers[0]?.answer };
  expect(await codeOf(await rig.say("msg-2", wrong))).toEqual([409, "answer_refused"]);
  expect(await codeOf(await rig.say("msg-3", { answer: "a:o:nonsense" }))).toEqual([
    409,
    "answer_refused",
  ]);
  const yes = { answer: answers[0]?.answer };
  expect((await rig.say("msg-4", yes)).status).toBe(202);
  expect((await rig.say("msg-4", yes)).status).toBe(202);
  const no = { answer: answers[2]?.answer };
  expect(await codeOf(await rig.say("msg-5", no))).toEqual([409, "answer_refused"]);
  await receiver.until(2);
  expect([payments, postedTexts()[1]]).toEqual([1, "Paid."]);
});

test("a question can be answered with text, and attachments reach the model", async () => {
  const given: (string | undefined)[] = [];
  const note = async ({ answer: response }: { readonly answer?: string | undefined }) => {
    given.push(response);
    return okResult("Noted.");
  };
  const ask = createTool("ask_user", note, { approval: () => "question" });
  const script = [calls("ask_user", { question: "Which colour?" }), says("Thank you.")];
  const { receiver, rig } = await open(script, [], { tools: [ask] });
  const base64 = Buffer.from("a plan").toString("base64");
  const attachments = [{ name: "plan.txt", mediaType: "text/plain", base64 }];
  await rig.say("msg-1", { text: "Paint it", attachments });
  await receiver.until(1);
  expect(JSON.stringify(rig.model.requests[0])).toContain("plan.txt");
  const { runId } = await json(await rig.say("msg-2", { text: "Green" }));
  await receiver.until(2);
  expect([given, runId]).toEqual([["Green"], null]);
});

const bytes = (text: string) => new TextEncoder().encode(text);
const signed = (id: string, body: Uint8Array, at = Date.now()) =>
  signedHeaders([webhookTestSecret], id, Math.floor(at / 1_000), body);
const validBody = bytes('{"text":"Hello"}');

test.each<[string, Uint8Array<ArrayBuffer>, Record<string, string>, [number, string]]>([
  ["nothing signed", validBody, {}, [401, "webhook_unsigned"]],
  [
    "a forged signature",
    validBody,
    { ...signed("msg-1", validBody), "webhook-signature": `v1,${"A".repeat(43)}=` },
    [401, "webhook_unsigned"],
  ],
  ["another's bytes", bytes("{"), signed("msg-1", validBody), [401, "webhook_unsigned"]],
  ["a cut body", validBody.slice(0, -1), signed("msg-1", validBody), [401, "webhook_unsigned"]],
  [
    "what was signed long ago",
    validBody,
    signed("msg-1", validBody, Date.now() - 400_000),
    [401, "webhook_stale"],
  ],
  ["no JSON", bytes("{"), signed("msg-1", bytes("{")), [400, "malformed_json"]],
  [
    "no UTF-8",
    Uint8Array.of(0x22, 0xff, 0x22),
    signed("msg-1", Uint8Array.of(0x22, 0xff, 0x22)),
    [400, "malformed_json"],
  ],
  ["too much", new Uint8Array(3 << 20), signed("msg-1", validBody), [413, "payload_too_large"]],
])("[safety] %s is refused and leaves no trace", async (_, body, headers, expected) => {
  const { rig } = await open([]);
  expect(await codeOf(await rig.post(body, headers))).toEqual(expected);
  expect(await rig.store.requests.find(rig.owner, "posted webhook:ci:msg-1")).toBeNull();
  expect((await rig.store.reads.sessions(rig.owner, { limit: 1 })).sessions).toEqual([]);
});

test.each([
  [{}],
  [{ text: " " }],
  [{ text: "Hello", answer: "a:o:apr_1" }],
  [{ text: "Hello", more: 1 }],
  [{ text: "Hello", conversation: "a:b" }],
  [{ text: "Hello", sender: "Ada\u202e" }],
  [{ text: "Hello", attachments: [{ name: "a", mediaType: "text/plain", base64: "%%%" }] }],
])("[safety] %j is refused as invalid", async (message) => {
  const { rig } = await open([]);
  expect(await codeOf(await rig.say("msg-1", message))).toEqual([400, "invalid_request"]);
});

test("a post that the store could not save is refused with 503, and accepted when repeated", async () => {
  const { receiver, rig, postedTexts } = await open([says("Hello.")]);
  const { requests } = rig.store;
  const originalKeep = requests.keep.bind(requests);
  let failuresLeft = 1;
  Object.assign(requests, {
    keep: async (...request: Parameters<typeof originalKeep>) =>
      failuresLeft-- > 0
        ? { status: "failed", code: "store_full", message: "The disk is full." }
        : originalKeep(...request),
  });
  const first = await rig.say("msg-1", { text: "Hello" });
  expect([first.status, first.headers.has("retry-after")]).toEqual([503, true]);
  expect((await rig.say("msg-1", { text: "Hello" })).status).toBe(202);
  await receiver.until(1);
  expect(postedTexts()).toEqual(["Hello."]);
});

test("a webhook without an address is accepted, and its answers are dropped", async () => {
  const rig = openWebhookRig([says("Nobody hears this.")], testWebhook(null));
  onTestFinished(() => rig.close());
  const { runId } = await json(await rig.say("msg-1", { text: "Do it" }));
  const rows = async () =>
    (
      await rig.store.reads.outbox(rig.owner, {
        states: ["pending", "sending", "dropped"],
        limit: 9,
      })
    ).map(({ state, code, runId: rowRunId }) => [state, code, rowRunId]);
  await expect.poll(rows).toEqual([["dropped", "no_address", runId]]);
});

test("[P11] a different body under the same id conflicts while the first post is still being handled", async () => {
  const { rig } = await open([]);
  const begun = Promise.withResolvers<void>();
  const mayGoOn = Promise.withResolvers<void>();
  let handledCount = 0;
  const handle: UpdateHandler["handle"] = async () => {
    handledCount += 1;
    begun.resolve();
    if (handledCount === 1) await mayGoOn.promise;
    return null;
  };
  const { store, owner } = rig;
  const hooks = { list: () => [], find: () => testWebhook(null) };
  const deps = { hooks, store, owner, now: Date.now, updateHandler: async () => ({ handle }) };
  const post = (text: string) => {
    const body = new TextEncoder().encode(JSON.stringify({ text }));
    const seconds = Math.floor(Date.now() / 1_000);
    const headers = signedHeaders([webhookTestSecret], "msg-1", seconds, body);
    const { "webhook-timestamp": timestamp, "webhook-signature": signature } = headers;
    return receivePost(deps, "ci", { id: "msg-1", timestamp, signature, body });
  };
  const first = post("Hello");
  await begun.promise;
  expect(await post("Hello!")).toMatchObject({ status: "refused", code: "webhook_conflict" });
  mayGoOn.resolve();
  await first;
  expect(handledCount).toBe(1);
});
