import { calls, gate, says, uses } from "@holdfast/testing/fakes/scripted-model";
import { createGate, createTool, okResult, until } from "@holdfast/testing/rigs/run-rig";
import type OpenAI from "openai";
import { BadRequestError, NotFoundError } from "openai";
import { expect, test } from "vitest";
import { shownTexts } from "../../../test/support/api-helpers.ts";
import { openOpenAi, type OpenAiRig } from "../../../test/support/openai-rig.ts";

type Event = OpenAI.Responses.ResponseStreamEvent;

const model = "holdfast";

async function eventsOf(stream: AsyncIterable<Event>): Promise<Event[]> {
  const events: Event[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

const deltasIn = (events: readonly Event[]): string =>
  events.map((event) => (event.type === "response.output_text.delta" ? event.delta : "")).join("");

const sessionOf = ({ conversation }: OpenAI.Responses.Response) =>
  `ses_${conversation?.id.slice("conv_".length)}` as never;

test("a response comes whole, with its text, usage and conversation, and can be retrieved", async () => {
  const rig = await openOpenAi([[says("A ", "heron."), uses({ input: 5, output: 2 })]]);
  const response = await rig.openai.responses.create({
    model,
    input: "What is there?",
    instructions: "Be short.",
    metadata: { from: "a test" },
  });
  expect(response).toMatchObject({
    object: "response",
    status: "completed",
    output_text: "A heron.",
    instructions: "Be short.",
    metadata: { from: "a test" },
    output: [{ type: "message", role: "assistant", status: "completed" }],
    usage: { input_tokens: 5, output_tokens: 2, total_tokens: 7 },
    error: null,
  });
  const retrieved = await rig.openai.responses.retrieve(response.id);
  const { created_at, id, output, usage, status, instructions, metadata, conversation } = response;
  expect(retrieved).toMatchObject({
    id,
    output,
    usage,
    status,
    instructions,
    metadata,
    conversation,
  });
  expect(Math.abs(retrieved.created_at - created_at)).toBeLessThanOrEqual(1);
  const { data } = await rig.openai.responses.inputItems.list(response.id);
  expect(data).toMatchObject([
    { type: "message", role: "user", content: [{ type: "input_text", text: "What is there?" }] },
  ]);
  expect(await shownTexts(rig, sessionOf(response))).toEqual(["What is there?", "A heron."]);
});

test("a response in the background is answered at once, read while it runs, and cancelled", async () => {
  const rig = await openOpenAi([[says("One"), gate(new Promise(() => {})), says(" two")]]);
  const begun = await rig.openai.responses.create({ model, input: "Count", background: true });
  expect(["queued", "in_progress"]).toContain(begun.status);
  expect(begun.background).toBe(true);
  for await (const event of await rig.openai.responses.retrieve(begun.id, { stream: true }))
    if (event.type === "response.output_text.delta") break;
  expect(await rig.openai.responses.retrieve(begun.id)).toMatchObject({
    status: "in_progress",
    output_text: "One",
  });
  expect(await rig.openai.responses.cancel(begun.id)).toMatchObject({
    status: "cancelled",
    output: [{ status: "incomplete" }],
  });
  expect((await rig.openai.responses.cancel(begun.id)).status).toBe("cancelled");
});

test("[P8] previous_response_id continues the conversation, and branches from an earlier response", async () => {
  const rig = await openOpenAi((_, before) => says(`Answer ${before + 1}.`));
  const say = (input: string, previous?: string) =>
    rig.openai.responses.create({
      model,
      input,
      ...(previous !== undefined && { previous_response_id: previous }),
    });
  const first = await say("One");
  const second = await say("Two", first.id);
  expect(second.conversation).toEqual(first.conversation);
  expect(second.previous_response_id).toBe(first.id);
  const other = await say("Otherwise", first.id);
  expect(other.conversation).not.toEqual(first.conversation);
  expect(await shownTexts(rig, sessionOf(other))).toEqual([
    "One",
    "Answer 1.",
    "Otherwise",
    "Answer 3.",
  ]);
  expect(await shownTexts(rig, sessionOf(first))).toHaveLength(4);
});

test("a whole history as input continues the same conversation", async () => {
  const rig = await openOpenAi((_, before) => says(`Answer ${before + 1}.`));
  const first = await rig.openai.responses.create({
    model,
    input: [
      { role: "system", content: "Be short." },
      { role: "user", content: "One" },
    ],
  });
  const second = await rig.openai.responses.create({
    model,
    input: [
      { role: "system", content: "Be short." },
      { role: "user", content: [{ type: "input_text", text: "One" }] },
      ...(first.output as OpenAI.Responses.ResponseInputItem[]),
      { role: "user", content: "Two" },
    ],
  });
  expect(second.conversation).toEqual(first.conversation);
});

test("conversations are sessions: made, described, continued, listed and put into the trash", async () => {
  const rig = await openOpenAi((_, before) => says(`Answer ${before + 1}.`));
  const { conversations, responses } = rig.openai;
  const made = await conversations.create({
    metadata: { topic: "herons" },
    items: [{ type: "message", role: "user", content: "I like birds." }],
  });
  expect(made).toMatchObject({ object: "conversation", metadata: { topic: "herons" } });
  await conversations.update(made.id, { metadata: { topic: "gulls" } });
  expect((await conversations.retrieve(made.id)).metadata).toEqual({ topic: "gulls" });
  const [given] = (await conversations.items.list(made.id)).data;
  const { data: added } = await conversations.items.create(made.id, {
    items: [{ type: "message", role: "user", content: "Forget this." }],
  });
  await conversations.items.delete(added[0]?.id ?? "", { conversation_id: made.id });
  const response = await responses.create({ model, input: "Which?", conversation: made.id });
  expect(response.conversation?.id).toBe(made.id);
  const asked = JSON.stringify(rig.model.requests[0]?.messages);
  expect([asked.includes("I like birds."), asked.includes("Forget this.")]).toEqual([true, false]);
  const items: unknown[] = [];
  for await (const item of conversations.items.list(made.id, { order: "asc", limit: 1 }))
    items.push(item);
  expect(items).toMatchObject([
    { role: "user", content: [{ text: "I like birds." }] },
    { role: "user", content: [{ text: "Which?" }] },
    { role: "assistant", content: [{ text: "Answer 1." }] },
  ]);
  expect(items[0]).toEqual(given);
  const [said] = items as { id: string }[];
  expect(await conversations.items.retrieve(said?.id ?? "", { conversation_id: made.id })).toEqual(
    said,
  );
  await expect(
    conversations.items.delete(said?.id ?? "", { conversation_id: made.id }),
  ).rejects.toThrow(BadRequestError);
  expect(await conversations.delete(made.id)).toMatchObject({ deleted: true });
  await expect(conversations.retrieve(made.id)).rejects.toThrow(NotFoundError);
  expect((await rig.store.reads.session(rig.owner, sessionOf(response)))?.trashedAt).not.toBeNull();
});

test("items that are added at once, or while a response is asked for, are all kept", async () => {
  const rig = await openOpenAi((_, before) => says(`Answer ${before + 1}.`));
  const { conversations, responses } = rig.openai;
  const { id } = await conversations.create({});
  const add = (content: string) =>
    conversations.items.create(id, { items: [{ type: "message", role: "user", content }] });
  const words = ["ebb", "flood", "neap", "spring"];
  await Promise.all(words.map(add));
  const listed = JSON.stringify((await conversations.items.list(id)).data);
  expect(words.filter((word) => listed.includes(word))).toEqual(words);
  await Promise.all([responses.create({ model, input: "Which?", conversation: id }), add("slack")]);
  await responses.create({ model, input: "And now?", conversation: id });
  const asked = JSON.stringify(rig.model.requests.map(({ messages }) => messages));
  expect([...words, "slack"].filter((word) => !asked.includes(word))).toEqual([]);
});

test("items that come between a response and the retry of its request are told with the next one", async () => {
  const rig = await openOpenAi((_, before) => says(`Answer ${before + 1}.`));
  const { conversations, responses } = rig.openai;
  const { id } = await conversations.create({});
  const ask = (input: string, retry: number) =>
    responses.create(
      { model, input, conversation: id },
      { headers: { "x-stainless-retry-count": String(retry) } },
    );
  const first = await ask("Which?", 0);
  const item = { type: "message", role: "user", content: "slack water" } as const;
  await conversations.items.create(id, { items: [item] });
  expect((await ask("Which?", 1)).id).toBe(first.id);
  await ask("And now?", 0);
  expect(JSON.stringify(rig.model.requests.at(-1)?.messages)).toContain("slack water");
});

test("an approval is an item of the response that stays in progress until somebody answers", async () => {
  const danger = createTool("danger", async () => okResult("done"), { approval: () => "ask" });
  const rig = await openOpenAi([[calls("danger")], [says("It is done.")]], { tools: [danger] });
  const { id } = await rig.openai.responses.create({ model, input: "Do it", background: true });
  const asked = await untilItem(rig, id, "holdfast:approval");
  expect(asked).toMatchObject({ status: "in_progress", name: "danger", decision: null });
  const params = { id: asked["id"] as never };
  await rig.client.answerApproval({ params, body: { decision: "once" } });
  const events = await eventsOf(await rig.openai.responses.retrieve(id, { stream: true }));
  expect(deltasIn(events)).toBe("It is done.");
  const { output } = await rig.openai.responses.retrieve(id);
  expect(output).toMatchObject([
    { type: "holdfast:tool_call", status: "completed", outcome: "ok", output: "done" },
    { type: "holdfast:approval", status: "completed", decision: "once" },
    { type: "message" },
  ]);
});

async function untilItem(rig: OpenAiRig, id: string, type: string) {
  let found: Record<string, unknown> | undefined;
  await until(async () => {
    const { output } = await rig.openai.responses.retrieve(id);
    found = (output as unknown as Record<string, unknown>[]).find((item) => item["type"] === type);
    return found !== undefined;
  });
  return found ?? {};
}

test("two responses asked at once in one conversation are answered one after the other", async () => {
  const opened = createGate();
  const rig = await openOpenAi((_, before) =>
    before === 0 ? [gate(opened.promise), says("First.")] : says("Second."),
  );
  const { id } = await rig.openai.conversations.create();
  const first = rig.openai.responses.create({ model, input: "One", conversation: id });
  await until(() => rig.model.requests.length === 1);
  const second = rig.openai.responses.create({ model, input: "Two", conversation: id });
  await until(async () => {
    const session = `ses_${id.slice("conv_".length)}` as never;
    return (await rig.store.reads.snapshot(rig.owner, session, { limit: 1 }))?.inbox.length === 1;
  });
  opened.open();
  expect([(await first).output_text, (await second).output_text]).toEqual(["First.", "Second."]);
});
