import { createTool, okResult } from "@holdfast/testing/rigs/run-rig";
import { calls, says } from "@holdfast/testing/fakes/scripted-model";
import { expect, onTestFinished, test } from "vitest";

import {
  testWebhook,
  webhookTestSecret,
  openWebhookRig,
} from "../../../../test/support/gateway/webhook-rig.ts";
import {
  type ReceiverAnswer,
  isSigned,
  openWebhookReceiver,
} from "@holdfast/testing/host/webhook-receiver";
import { signedHeaders } from "../../../util/webhook-signature.ts";

type Options = Parameters<typeof openWebhookRig>[2];
type Script = Parameters<typeof openWebhookRig>[0];

async function open(script: Script, answers: ReceiverAnswer[] = [], options: Options = {}) {
  const receiver = await openWebhookReceiver(answers);
  const rig = openWebhookRig(script, testWebhook(receiver.url), options);
  onTestFinished(async () => {
    await rig.close();
    await receiver.close();
  });
  const heard = () => receiver.taken.map(({ message }) => message["text"]);
  return { receiver, rig, heard };
}

const codeOf = async (answer: Response) => {
  const { code } = (await answer.json()) as { code?: string };
  return [answer.status, code];
};

const json = async (answer: Response) =>
  (await answer.json()) as { readonly sessionId: string; readonly runId: string | null };

test("what a program says is one turn of its conversation's session, and the answer is posted back, signed", async () => {
  const { receiver, rig } = await open((_, before) => says(`Answer ${before}.`));
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
  // Another conversation, another session.
  const other = await json(await rig.say("msg-2", { text: "Hello" }));
  expect(other.sessionId).not.toBe(sessionId);
});

test("[P11] what comes again, at once or later, is one turn and has one answer; other bytes under its id are a conflict", async () => {
  const { receiver, rig } = await open((_, before) => says(`Answer ${before}.`));
  const said = { text: "Hello" };
  const answers = await Promise.all([1, 2, 3].map(() => rig.say("msg-1", said)));
  await receiver.until(1);
  answers.push(await rig.say("msg-1", said));
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

test("[P11] an answer of which nobody knows whether it arrived is posted again under its id, and nothing is marked", async () => {
  const { receiver, rig, heard } = await open([says("All of it.")], ["cut"]);
  await rig.say("msg-1", { text: "Tell me" });
  await receiver.until(2);
  expect(heard()).toEqual(["All of it.", "All of it."]);
  expect(new Set(receiver.taken.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
  const owed = async () =>
    rig.store.reads.outbox(rig.owner, {
      states: ["pending", "sending", "unknown", "failed"],
      limit: 9,
    });
  await expect.poll(owed).toEqual([]);
});

test("an approval is asked with the answers that it takes, and a message with one of them answers it, once", async () => {
  let paid = 0;
  const pay = createTool("pay", async () => okResult(`paid ${++paid}`), { approval: () => "ask" });
  const script = [calls("pay", { euros: 5 }), says("Paid.")];
  const { receiver, rig, heard } = await open(script, [], { tools: [pay] });
  await rig.say("msg-1", { text: "Pay" });
  await receiver.until(1);
  const { type, answers } = receiver.taken[0]!.message as {
    type: string;
    answers: { label: string; answer: string }[];
  };
  expect([type, answers.map(({ label }) => label)]).toEqual([
    "question",
    ["Allow once", "Allow in this session", "Deny"],
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
  expect([paid, heard()[1]]).toEqual([1, "Paid."]);
});

test("a question is answered in words, and what is attached comes to the model", async () => {
  const given: (string | undefined)[] = [];
  const note = async ({ answer }: { readonly answer?: string | undefined }) => {
    given.push(answer);
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
const fits = bytes('{"text":"Hello"}');

test.each<[string, Uint8Array<ArrayBuffer>, Record<string, string>, [number, string]]>([
  ["nothing signed", fits, {}, [401, "webhook_unsigned"]],
  [
    "a forged signature",
    fits,
    { ...signed("msg-1", fits), "webhook-signature": `v1,${"A".repeat(43)}=` },
    [401, "webhook_unsigned"],
  ],
  ["another's bytes", bytes("{"), signed("msg-1", fits), [401, "webhook_unsigned"]],
  ["a cut body", fits.slice(0, -1), signed("msg-1", fits), [401, "webhook_unsigned"]],
  [
    "what was signed long ago",
    fits,
    signed("msg-1", fits, Date.now() - 400_000),
    [401, "webhook_stale"],
  ],
  ["no JSON", bytes("{"), signed("msg-1", bytes("{")), [400, "malformed_json"]],
  [
    "no UTF-8",
    Uint8Array.of(0x22, 0xff, 0x22),
    signed("msg-1", Uint8Array.of(0x22, 0xff, 0x22)),
    [400, "malformed_json"],
  ],
  ["too much", new Uint8Array(3 << 20), signed("msg-1", fits), [413, "payload_too_large"]],
])("[safety] %s is refused, and nothing is kept of it", async (_, body, headers, expected) => {
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
])("[safety] %j does not fit, and is refused", async (message) => {
  const { rig } = await open([]);
  expect(await codeOf(await rig.say("msg-1", message))).toEqual([400, "invalid_request"]);
});

test("a store that cannot take it says so, and the same again is taken", async () => {
  const { receiver, rig, heard } = await open([says("Hello.")]);
  const { requests } = rig.store;
  const keep = requests.keep.bind(requests);
  let left = 1;
  Object.assign(requests, {
    keep: async (...asked: Parameters<typeof keep>) =>
      left-- > 0
        ? { status: "failed", code: "store_full", message: "The disk is full." }
        : keep(...asked),
  });
  const first = await rig.say("msg-1", { text: "Hello" });
  expect([first.status, first.headers.has("retry-after")]).toEqual([503, true]);
  expect((await rig.say("msg-1", { text: "Hello" })).status).toBe(202);
  await receiver.until(1);
  expect(heard()).toEqual(["Hello."]);
});

test("a program that wants no answers is still heard, and nothing is left owing", async () => {
  const rig = openWebhookRig([says("Nobody hears this.")], testWebhook(null));
  onTestFinished(() => rig.close());
  const { runId } = await json(await rig.say("msg-1", { text: "Do it" }));
  const rows = async () =>
    (
      await rig.store.reads.outbox(rig.owner, {
        states: ["pending", "sending", "dropped"],
        limit: 9,
      })
    ).map(({ state, code, runId: of }) => [state, code, of]);
  await expect.poll(rows).toEqual([["dropped", "no_address", runId]]);
});
