import { calls, gate, says, thinks, uses } from "@holdfast/testing/fakes/scripted-model";
import { createGate, createTool, okResult, until } from "@holdfast/testing/rigs/run-rig";
import type OpenAI from "openai";
import { NotFoundError } from "openai";
import { expect, test } from "vitest";
import { shownTexts, untilEnded } from "../../../test/support/api-helpers.ts";
import { openOpenAi, type OpenAiRig } from "../../../test/support/openai-rig.ts";

type Chunk = OpenAI.ChatCompletionChunk & { readonly holdfast?: Record<string, unknown> };
type Message = OpenAI.ChatCompletionMessageParam;

const user = (content: string): Message => ({ role: "user", content });
const assistant = (content: string): Message => ({ role: "assistant", content });

async function chunksOf(
  rig: OpenAiRig,
  body: Partial<OpenAI.ChatCompletionCreateParamsStreaming> & { messages: Message[] },
  headers: Record<string, string> = {},
): Promise<Chunk[]> {
  const stream = await rig.openai.chat.completions.create(
    { model: "holdfast", ...body, stream: true },
    { headers },
  );
  const chunks: Chunk[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

const textOf = (chunks: readonly Chunk[]): string =>
  chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("");

async function ask(rig: OpenAiRig, messages: Message[], headers: Record<string, string> = {}) {
  const { data, response } = await rig.openai.chat.completions
    .create({ model: "holdfast", messages }, { headers })
    .withResponse();
  const session = response.headers.get("x-holdfast-session-id") ?? "";
  return { text: data.choices[0]?.message.content ?? "", data, session, headers: response.headers };
}

const sessionCount = async (rig: OpenAiRig): Promise<number> =>
  (await rig.store.reads.sessions(rig.owner, { limit: 50 })).sessions.length;

test("the real client gets an answer whole and as a stream, with usage only where it asks for it", async () => {
  const script = [says("One ", "heron."), uses({ input: 7, output: 3 })];
  const rig = await openOpenAi(() => script);
  const { data, headers } = await ask(rig, [user("What is there?")]);
  expect(data).toMatchObject({
    object: "chat.completion",
    model: "holdfast",
    choices: [{ message: { role: "assistant", content: "One heron." }, finish_reason: "stop" }],
    usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
  });
  expect(headers.get("x-should-retry")).toBe("false");

  const plain = await chunksOf(rig, { messages: [user("Again")] });
  expect(textOf(plain)).toBe("One heron.");
  expect(plain[0]?.choices[0]?.delta.role).toBe("assistant");
  expect(plain.at(-1)?.choices[0]?.finish_reason).toBe("stop");
  expect(plain.every((chunk) => chunk.usage === undefined)).toBe(true);

  const counted = await chunksOf(rig, {
    messages: [user("Count")],
    stream_options: { include_usage: true },
  });
  expect(counted.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: 10 } });
});

test("thoughts come as reasoning_content and tools as chunks without choices, never as content", async () => {
  const look = createTool("look", async () => okResult("a heron"));
  const script = [[thinks("Hm."), says("I look."), calls("look", { at: 1 })], [says("A heron.")]];
  const rig = await openOpenAi((_, before) => script[before % 2] ?? [], { tools: [look] });
  const chunks = await chunksOf(rig, { messages: [user("Look")] });
  expect(textOf(chunks)).toBe("I look.\n\nA heron.");
  const thoughts = chunks.map(
    ({ choices }) => (choices[0]?.delta as { reasoning_content?: string })?.reasoning_content ?? "",
  );
  expect(thoughts.join("")).toBe("Hm.");
  const progress = chunks.filter(({ choices }) => choices.length === 0);
  expect(progress.map(({ holdfast }) => holdfast)).toMatchObject([
    { type: "tool.started", name: "look", input: { at: 1 } },
    { type: "tool.ended", name: "look", outcome: "ok" },
  ]);
  const whole = await ask(rig, [user("Look again")]);
  expect(whole.data.choices[0]?.message).toMatchObject({
    content: "I look.\n\nA heron.",
    reasoning_content: "Hm.",
  });
});

test("[P8] a history that continues ours is appended, also one that lost its beginning", async () => {
  const rig = await openOpenAi((_, before) => says(`Answer ${before + 1}.`));
  const first = await ask(rig, [user("One")]);
  const second = await ask(rig, [user("One"), assistant(first.text), user("Two")]);
  const third = await ask(rig, [user("Two"), assistant(second.text), user("Three")]);
  expect(new Set([first.session, second.session, third.session]).size).toBe(1);
  expect(await shownTexts(rig, first.session as never)).toEqual([
    "One",
    "Answer 1.",
    "Two",
    "Answer 2.",
    "Three",
    "Answer 3.",
  ]);
  // Each request has the whole conversation before it, whatever its body told.
  expect(rig.model.requests.at(-1)?.messages.filter(({ role }) => role === "user")).toHaveLength(3);
});

test("equal openings are conversations of their own, and each is found again by its history", async () => {
  const rig = await openOpenAi((_, before) => says(before === 2 ? "Else." : "Hello."));
  const [a, b, c] = [
    await ask(rig, [user("Hi")]),
    await ask(rig, [user("Hi")]),
    await ask(rig, [user("Hi")]),
  ];
  expect(new Set([a.session, b.session, c.session]).size).toBe(3);
  const inC = await ask(rig, [user("Hi"), assistant("Else."), user("More")]);
  expect(inC.session).toBe(c.session);
  // The first two are the same so far: each of the two clients gets one of them for itself.
  const one = await ask(rig, [user("Hi"), assistant("Hello."), user("I am the first")]);
  const two = await ask(rig, [user("Hi"), assistant("Hello."), user("I am the second")]);
  expect(new Set([one.session, two.session])).toEqual(new Set([a.session, b.session]));
});

test("[P8] an edited message and a regenerated answer go to branches, and the origin stays as it is", async () => {
  const rig = await openOpenAi((_, before) => says(`Answer ${before + 1}.`));
  const first = await ask(rig, [user("One")]);
  const history = [user("One"), assistant(first.text)];
  const second = await ask(rig, [...history, user("Two")]);
  const edited = await ask(rig, [...history, user("Two, edited")]);
  expect(edited.session).not.toBe(first.session);
  expect(await shownTexts(rig, edited.session as never)).toEqual([
    "One",
    "Answer 1.",
    "Two, edited",
    "Answer 3.",
  ]);
  expect(await shownTexts(rig, first.session as never)).toHaveLength(4);
  const changed = [
    user("One"),
    assistant("I never said that."),
    user("Two"),
    assistant(second.text),
  ];
  const lied = await ask(rig, [...changed, user("Three")]);
  expect(lied.session).not.toBe(first.session);
  expect(await shownTexts(rig, first.session as never)).toHaveLength(4);
  const sent = JSON.stringify(rig.model.requests.at(-1)?.messages);
  expect(sent).toContain("> assistant: I never said that.");
  expect(rig.model.requests.at(-1)?.messages.some(isAnswer("I never said that."))).toBe(false);
});

const isAnswer =
  (text: string) =>
  (message: object): boolean =>
    "role" in message && message.role === "assistant" && JSON.stringify(message).includes(text);

test("headers name the session: ours by its id, another by the client's own name, Open WebUI's by its chat", async () => {
  const rig = await openOpenAi((_, before) => says(`Answer ${before + 1}.`));
  const ours = await ask(rig, [user("One")]);
  const byId = await ask(rig, [user("Two")], { "X-Holdfast-Session-Id": ours.session });
  expect(byId.session).toBe(ours.session);
  const named = await ask(rig, [user("One")], { "X-Hermes-Session-Id": "api-0123" });
  const again = await ask(rig, [user("Two")], { "X-Hermes-Session-Id": "api-0123" });
  expect([named.session === ours.session, again.session]).toEqual([false, named.session]);
  const chat = { "X-OpenWebUI-Chat-Id": "6f1c-22" };
  const begun = await ask(rig, [user("One")], chat);
  const more = await ask(rig, [user("One"), assistant(begun.text), user("Two")], chat);
  expect(more.session).toBe(begun.session);
  const regenerated = await ask(rig, [user("One")], chat);
  expect(regenerated.session).not.toBe(begun.session);
  // The person goes back to the first answer in their front end.
  const back = await ask(
    rig,
    [user("One"), assistant(begun.text), user("Two"), assistant(more.text), user("Three")],
    chat,
  );
  expect(back.session).toBe(begun.session);
  const unknown = { "X-Holdfast-Session-Id": `ses_${"0".repeat(26)}` };
  await expect(ask(rig, [user("One")], unknown)).rejects.toThrow(NotFoundError);
});

test("[P9] the client's system text goes with the turn and leaves the frame as it is", async () => {
  const rig = await openOpenAi((_, before) => says(`Answer ${before + 1}.`));
  const system: Message = { role: "system", content: "Speak like a pirate." };
  const first = await ask(rig, [system, user("One")]);
  await ask(rig, [system, user("One"), assistant(first.text), user("Two")]);
  const other: Message = { role: "system", content: "Speak like a judge." };
  await ask(rig, [other, user("Two"), assistant("Answer 2."), user("Three")]);
  const requests = rig.model.requests.map(({ messages }) => messages);
  expect(new Set(requests.map(([frame]) => JSON.stringify(frame))).size).toBe(1);
  for (const [index, request] of requests.slice(0, -1).entries())
    expect(requests[index + 1]?.slice(0, request.length)).toEqual(request);
  const texts = (requests.at(-1) ?? []).flatMap((message) =>
    message.role === "user" ? [message.text] : [],
  );
  expect(texts.map((text) => /Speak like a \w+/.exec(text)?.[0])).toEqual([
    "Speak like a pirate",
    undefined,
    "Speak like a judge",
  ]);
});

test("[P6] a client that leaves stops nothing, and a busy session queues what comes next", async () => {
  const opened = createGate();
  const rig = await openOpenAi((_, before) =>
    before === 0 ? [says("One"), gate(opened.promise), says(" and more.")] : says("Second."),
  );
  const first = await rig.openai.chat.completions
    .create({ model: "holdfast", messages: [user("Begin")], stream: true })
    .withResponse();
  const session = first.response.headers.get("x-holdfast-session-id") ?? "";
  for await (const chunk of first.data) if (chunk.choices[0]?.delta.content === "One") break;
  const second = ask(rig, [user("Next")], { "X-Holdfast-Session-Id": session });
  await until(async () => {
    const snapshot = await rig.store.reads.snapshot(rig.owner, session as never, { limit: 1 });
    return snapshot?.inbox.length === 1;
  });
  opened.open();
  expect((await second).text).toBe("Second.");
  await untilEnded(rig, session as never);
  expect(await shownTexts(rig, session as never)).toEqual([
    "Begin",
    "One and more.",
    "Next",
    "Second.",
  ]);
});

test("an approval keeps the stream open and can be answered elsewhere", async () => {
  const danger = createTool("danger", async () => okResult("done"), { approval: () => "ask" });
  const script = [[calls("danger", { what: 1 })], [says("It is done.")]];
  const rig = await openOpenAi(script, { tools: [danger] });
  const stream = await rig.openai.chat.completions.create({
    model: "holdfast",
    messages: [user("Do it")],
    stream: true,
  });
  const chunks: Chunk[] = [];
  for await (const chunk of stream as AsyncIterable<Chunk>) {
    chunks.push(chunk);
    if (chunk.holdfast?.["type"] !== "approval.asked") continue;
    const id = chunk.holdfast["approval_id"] as never;
    const answered = await rig.client.answerApproval({
      params: { id },
      body: { decision: "once" },
    });
    expect(answered.ok).toBe(true);
  }
  expect(textOf(chunks)).toBe("It is done.");
  const types = chunks.flatMap(({ holdfast }) => (holdfast ? [holdfast["type"]] : []));
  expect(types).toEqual(["approval.asked", "approval.answered", "tool.started", "tool.ended"]);
});

test("an image in a message reaches the model as an image", async () => {
  const rig = await openOpenAi([says("A dot.")]);
  const url = `data:image/png;base64,${Buffer.from("not really a picture").toString("base64")}`;
  await ask(rig, [
    {
      role: "user",
      content: [
        { type: "text", text: "What is it?" },
        { type: "image_url", image_url: { url } },
      ],
    },
  ]);
  expect(rig.model.requests[0]?.messages.at(-1)).toMatchObject({
    role: "user",
    images: [{ mediaType: "image/png" }],
  });
});

test("requests of chat front ends for titles and tags are answered without a turn", async () => {
  const rig = await openOpenAi([]);
  const task = `### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing the chat history.\n### Guidelines:\n- …\n### Chat History:\n<chat_history>\nUSER: {rate:2000} {words:5}\n</chat_history>`;
  const title = await rig.openai.chat.completions.create({
    model: "rehearsal",
    messages: [user(task)],
  });
  expect(title.choices[0]?.message.content).not.toBe("");
  const streamed = await chunksOf(rig, { model: "rehearsal", messages: [user(task)] });
  expect(textOf(streamed)).not.toBe("");
  expect(await sessionCount(rig)).toBe(0);
  expect(rig.model.requests).toHaveLength(0);
});
