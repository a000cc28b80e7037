import {
  calls,
  fails,
  gate,
  says,
  type Script,
  uses,
} from "@holdfast/testing/fakes/scripted-model";
import { createTool, okResult } from "@holdfast/testing/rigs/run-rig";
import type OpenAI from "openai";
import { expect, test } from "vitest";
import { valueOf } from "../../../test/support/api-helpers.ts";
import { connectOpenAi } from "../../../test/support/openai-client.ts";
import { openOpenAi, type OpenAiRig } from "../../../test/support/openai-rig.ts";

const model = "holdfast";
const messages: OpenAI.Chat.ChatCompletionMessageParam[] = [{ role: "user", content: "Chat" }];

async function lastEvent(openai: OpenAI): Promise<OpenAI.Responses.ResponseStreamEvent> {
  const events: OpenAI.Responses.ResponseStreamEvent[] = [];
  const stream = await openai.responses.create({ model, input: "Again", stream: true });
  for await (const event of stream) events.push(event);
  return events.at(-1)!;
}

async function streamedFinish(openai: OpenAI): Promise<string | null | undefined> {
  let finish: string | null | undefined;
  for await (const { choices } of await openai.chat.completions.create({
    model,
    messages,
    stream: true,
  }))
    finish = choices[0]?.finish_reason ?? finish;
  return finish;
}

test("a run that fails is a failed response with a code of the protocol and our own, and is not sent again", async () => {
  const rig = await openOpenAi(() => fails("fatal", { code: "no_luck", message: "No luck." }));
  const response = await rig.openai.responses.create({ model, input: "Try" });
  expect(response).toMatchObject({
    status: "failed",
    error: { code: "server_error", type: "no_luck" },
    incomplete_details: null,
  });
  expect(response.error?.message).toContain("No luck.");
  expect((await lastEvent(rig.openai)).type).toBe("response.failed");
  const chat = rig.openai.chat.completions.create({ model, messages });
  await expect(chat).rejects.toMatchObject({ status: 500, code: "no_luck" });
  expect(rig.model.requests).toHaveLength(3);
});

test.each([
  { code: "model_output_limit", reason: "max_output_tokens", finish: "length" },
  { code: "model_refused", reason: "content_filter", finish: "content_filter" },
] as const)(
  "an answer that ends with $code is incomplete for the protocol's reason, and keeps its text",
  async ({ code, reason, finish }) => {
    const script: Script = () => [says("As far as"), fails("fatal", { code, message: "Cut." })];
    const rig = await openOpenAi(script);
    const response = await rig.openai.responses.create({ model, input: "Tell" });
    expect(response).toMatchObject({
      status: "incomplete",
      incomplete_details: { reason },
      error: null,
      output: [
        { type: "message", status: "incomplete", content: [{ text: "As far as" }] },
        { type: "holdfast:notice", kind: code, text: "Cut." },
      ],
    });
    expect((await lastEvent(rig.openai)).type).toBe("response.incomplete");
    const chat = await rig.openai.chat.completions.create({ model, messages });
    expect(chat.choices[0]).toMatchObject({
      finish_reason: finish,
      message: { content: "As far as" },
    });
    expect(await streamedFinish(rig.openai)).toBe(finish);
  },
);

test("a run that took its last step is a failed response that says so; a chat completion ends by length", async () => {
  const look = createTool("look", async () => okResult("a heron"));
  const rig = await openOpenAi(() => [says("Again."), calls("look")], { tools: [look] });
  const response = await rig.openai.responses.create({ model, input: "Look" });
  expect(response).toMatchObject({
    status: "failed",
    error: { code: "server_error", type: "steps" },
    incomplete_details: null,
  });
  expect(response.error?.message).toMatch(/limit of steps.*send another message/);
  const chat = await rig.openai.chat.completions.create({ model, messages });
  expect(chat.choices[0]?.finish_reason).toBe("length");
});

async function connectSpent(rig: OpenAiRig): Promise<OpenAI> {
  const rights = { tools: ["*"], sessions: "own", memory: "none", approvals: false };
  const profile = { ...rights, spendMicrosPerDay: 1 };
  expect((await rig.ask("PUT", "/api/rights/profiles/poor", profile)).status).toBe(200);
  const { secret } = valueOf(
    await rig.client.createKey({ body: { name: "one", profile: "poor" } }),
  );
  const openai = connectOpenAi(rig.baseURL, secret);
  await openai.responses.create({ model, input: "Spend" });
  return openai;
}

test("a run for which no money is left is a failed response with the quota's code, and a chat completion is 429", async () => {
  const rig = await openOpenAi(() => [says("Yes."), uses({ costMicros: 5 })]);
  const openai = await connectSpent(rig);
  const response = await openai.responses.create({ model, input: "More" });
  expect(response).toMatchObject({
    status: "failed",
    error: { code: "rate_limit_exceeded", type: "spend_profile" },
  });
  expect(response.error?.message).toContain("Raise the limit");
  const chat = openai.chat.completions.create({ model, messages });
  await expect(chat).rejects.toMatchObject({ status: 429, code: "spend_profile" });
  expect(rig.model.requests).toHaveLength(1);
});

test("a run that was stopped is a cancelled response without an error", async () => {
  const rig = await openOpenAi([[says("One"), gate(new Promise(() => {}))]]);
  const { id } = await rig.openai.responses.create({ model, input: "Count", background: true });
  expect(await rig.openai.responses.cancel(id)).toMatchObject({
    status: "cancelled",
    error: null,
    incomplete_details: null,
  });
  let last = "";
  for await (const event of await rig.openai.responses.retrieve(id, { stream: true }))
    last = event.type;
  expect(last).toBe("response.incomplete");
});
