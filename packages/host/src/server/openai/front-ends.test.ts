import { says } from "@holdfast/testing/fakes/scripted-model";
import { expect, test } from "vitest";
import { shownTexts } from "../../../test/support/api-helpers.ts";
import { openOpenAi, type OpenAiRig } from "../../../test/support/openai-rig.ts";

interface Sent {
  readonly session: string | null;
  readonly text: string;
}

/** Sends a body as a front end does, and reads its stream or its answer. */
async function send(
  rig: OpenAiRig,
  body: { readonly stream?: boolean; readonly messages: readonly object[] },
  headers: Record<string, string> = {},
): Promise<Sent> {
  const answer = await fetch(`${rig.baseURL}/chat/completions`, {
    method: "POST",
    headers: { ...rig.bearer, "content-type": "application/json", ...headers },
    body: JSON.stringify({ model: "holdfast", ...body }),
  });
  expect(answer.status).toBe(200);
  const raw = await answer.text();
  const session = answer.headers.get("x-holdfast-session-id");
  if (body.stream !== true) {
    const whole = JSON.parse(raw) as { choices: { message: { content: string } }[] };
    return { session, text: whole.choices[0]?.message.content ?? "" };
  }
  const chunks = [...raw.matchAll(/^data: (\{.*)$/gm)].map(
    ([, json = ""]) => JSON.parse(json) as { choices: { delta: { content?: string } }[] },
  );
  return { session, text: chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("") };
}

const numbered = () => openOpenAi((_, before) => says(`Answer ${before + 1}.`));
const user = (content: string) => ({ role: "user", content });
const assistant = (content: string) => ({ role: "assistant", content });

test("Open WebUI: the whole history each time, with its user's headers, is one session; its tasks are none", async () => {
  const rig = await numbered();
  const headers = {
    "X-OpenWebUI-User-Name": "Ada",
    "X-OpenWebUI-User-Id": "u1",
    "X-OpenWebUI-Chat-Id": "c0ffee",
  };
  const options = { stream: true, stream_options: { include_usage: true } };
  const one = await send(rig, { ...options, messages: [user("One")] }, headers);
  const told = [user("One"), assistant(one.text)];
  for (const task of [
    "Generate a concise, 3-5 word title",
    "Generate 1-3 broad tags",
    "Suggest 3-5 relevant follow-up questions",
  ]) {
    const prompt = `### Task:\n${task}\n### Chat History:\n<chat_history>\nUSER: {rate:2000} {words:3}\n</chat_history>`;
    const { session } = await send(
      rig,
      { model: "rehearsal", stream: false, messages: [user(prompt)] } as never,
      headers,
    );
    expect(session).toBeNull();
  }
  const two = await send(rig, { ...options, messages: [...told, user("Two")] }, headers);
  expect(two.session).toBe(one.session);
  expect(await shownTexts(rig, one.session as never)).toEqual([
    "One",
    "Answer 1.",
    "Two",
    "Answer 2.",
  ]);
});

test("LibreChat: a system text, parts as content and a title request", async () => {
  const rig = await numbered();
  const system = { role: "system", content: "You are in LibreChat." };
  const parts = (text: string) => ({ role: "user", content: [{ type: "text", text }] });
  const one = await send(rig, { stream: true, messages: [system, parts("One")] });
  const titled = await send(rig, {
    model: "rehearsal",
    messages: [
      user(
        "Provide a concise, 5-word-or-less title for the conversation, using title case conventions. {rate:2000} {words:3}",
      ),
    ],
  } as never);
  expect(titled.session).toBeNull();
  const two = await send(rig, {
    stream: true,
    messages: [system, parts("One"), assistant(one.text), parts("Two")],
  });
  expect(two.session).toBe(one.session);
});

test("Continue: a long system text and sampling options, the history without its oldest turns", async () => {
  const rig = await numbered();
  const options = { stream: true, max_tokens: 4096, temperature: 0.1, stop: ["```"] };
  const system = {
    role: "system",
    content: "<important_rules>\nYou are in chat mode.\n</important_rules>",
  };
  const one = await send(rig, { ...options, messages: [system, user("One")] });
  const two = await send(rig, {
    ...options,
    messages: [system, user("One"), assistant(one.text), user("Two")],
  });
  const three = await send(rig, {
    ...options,
    messages: [system, user("Two"), assistant(two.text), user("Three")],
  });
  expect([two.session, three.session]).toEqual([one.session, one.session]);
});

test("aider: material between the history and the question continues the session, and is material", async () => {
  const rig = await numbered();
  const system = { role: "system", content: "Act as an expert software developer." };
  const map = (files: string) => [
    user(`Here are summaries of some files present in my git repo.\n${files}`),
    assistant("Ok, I won't try and edit those files without asking first."),
  ];
  const one = await send(rig, { stream: true, messages: [system, ...map("a.py"), user("One")] });
  const told = [user("One"), assistant(one.text)];
  const two = await send(rig, {
    stream: true,
    messages: [system, ...told, ...map("a.py b.py"), user("Two")],
  });
  expect(two.session).toBe(one.session);
  expect(await shownTexts(rig, one.session as never)).toEqual([
    "One",
    "Answer 1.",
    "Two",
    "Answer 2.",
  ]);
  expect(JSON.stringify(rig.model.requests[1]?.messages.at(-1))).toContain("a.py b.py");
});

test("the cases of the Open Responses compliance suite that need no tools of the client", async () => {
  const rig = await numbered();
  const { openai } = rig;
  const model = "holdfast";
  const image = `data:image/png;base64,${Buffer.from("a picture").toString("base64")}`;
  const inputs = [
    "Say hello in exactly 3 words.",
    [
      { type: "message", role: "system", content: "You are a pirate." },
      { type: "message", role: "user", content: "Say hello." },
    ],
    [
      {
        type: "message",
        role: "user",
        content: [
          { type: "input_text", text: "What is in this image?" },
          { type: "input_image", image_url: image, detail: "auto" },
        ],
      },
    ],
    [
      { type: "message", role: "user", content: "My name is Alice." },
      { type: "message", role: "assistant", content: "Hello Alice!" },
      { type: "message", role: "user", content: "What is my name?" },
    ],
  ] as const;
  for (const input of inputs) {
    const response = await openai.responses.create({ model, input: input as never });
    expect(response).toMatchObject({ object: "response", status: "completed", error: null });
    expect(response.output.some(({ type }) => type === "message")).toBe(true);
  }
  const stream = await openai.responses.create({
    model,
    input: "Count from 1 to 5.",
    stream: true,
  });
  const types: string[] = [];
  for await (const { type } of stream) types.push(type);
  expect([types[0], types.at(-1)]).toEqual(["response.created", "response.completed"]);
});
