import { gate, says } from "@holdfast/testing/fakes/scripted-model";
import { createGate, until } from "@holdfast/testing/rigs/run-rig";
import OpenAI from "openai";
import { expect, onTestFinished, test } from "vitest";
import { openCuttingProxy } from "../../../test/support/cutting-proxy.ts";
import { openOpenAi, type OpenAiRig, testToken } from "../../../test/support/openai-rig.ts";

const model = "holdfast";

/** A client whose first requests are answered into the void. */
async function clientBehindProxy(rig: OpenAiRig, cuts: number, afterBytes = 1) {
  const proxy = await openCuttingProxy(Number(new URL(rig.baseURL).port), cuts, afterBytes);
  onTestFinished(() => proxy.close());
  const baseURL = `http://127.0.0.1:${proxy.port}/v1`;
  return { proxy, openai: new OpenAI({ apiKey: testToken, baseURL, maxRetries: 3 }) };
}

async function runsIn(rig: OpenAiRig): Promise<number> {
  const { sessions } = await rig.store.reads.sessions(rig.owner, { limit: 50 });
  return sessions.reduce((sum, { messageCount }) => sum + messageCount, 0) / 2;
}

const messages = (text: string) => [{ role: "user" as const, content: text }];

test("[P11] requests that the client's library sends again run once, whatever they ask for", async () => {
  const rig = await openOpenAi((_, before) => says(`Answer ${before + 1}.`));
  const { proxy, openai } = await clientBehindProxy(rig, 2);
  const chat = await openai.chat.completions.create({ model, messages: messages("Hello") });
  expect(chat.choices[0]?.message.content).toBe("Answer 1.");
  expect(proxy.cuts()).toBe(2);
  expect([await runsIn(rig), rig.model.requests.length]).toEqual([1, 1]);

  const second = await clientBehindProxy(rig, 1);
  const response = await second.openai.responses.create({ model, input: "Hello" });
  expect([response.output_text, second.proxy.cuts()]).toEqual(["Answer 2.", 1]);
  expect(rig.model.requests).toHaveLength(2);

  const third = await clientBehindProxy(rig, 1);
  const stream = await third.openai.chat.completions.create({
    model,
    messages: messages("Stream"),
    stream: true,
  });
  let text = "";
  for await (const { choices } of stream) text += choices[0]?.delta.content ?? "";
  expect([text, rig.model.requests.length]).toEqual(["Answer 3.", 3]);
});

test("a retry of a message in a conversation runs once there, and a new message with the same words again", async () => {
  const rig = await openOpenAi((_, before) => says(`Answer ${before + 1}.`));
  const { openai } = await clientBehindProxy(rig, 1);
  const { id } = await rig.openai.conversations.create();
  const ask = () => openai.responses.create({ model, input: "Go on", conversation: id });
  expect((await ask()).output_text).toBe("Answer 1.");
  expect((await ask()).output_text).toBe("Answer 2.");
  expect(rig.model.requests).toHaveLength(2);
});

test("a retry while the run is still going joins it", async () => {
  const opened = createGate();
  const rig = await openOpenAi([[gate(opened.promise), says("At last.")]]);
  const first = new OpenAI({
    apiKey: testToken,
    baseURL: rig.baseURL,
    timeout: 300,
    maxRetries: 5,
  });
  const asked = first.responses.create({ model, input: "Wait" });
  await until(() => rig.model.requests.length === 1);
  setTimeout(() => opened.open(), 700);
  expect((await asked).output_text).toBe("At last.");
  expect(rig.model.requests).toHaveLength(1);
});

test("an Idempotency-Key names one message for good, and another message under it is refused", async () => {
  const rig = await openOpenAi((_, before) => says(`Answer ${before + 1}.`));
  const headers = { "Idempotency-Key": "order-66" };
  const ask = (content: string) =>
    rig.openai.chat.completions.create({ model, messages: messages(content) }, { headers });
  const both = await Promise.all([ask("Once"), ask("Once")]);
  const texts = [...both, await ask("Once")].map(({ choices }) => choices[0]?.message.content);
  expect(texts).toEqual(["Answer 1.", "Answer 1.", "Answer 1."]);
  expect(rig.model.requests).toHaveLength(1);
  await expect(ask("Twice")).rejects.toMatchObject({ status: 422, code: "idempotency_conflict" });
  expect(rig.model.requests).toHaveLength(1);
});
