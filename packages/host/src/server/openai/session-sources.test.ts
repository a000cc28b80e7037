import { says } from "@holdfast/testing/fakes/scripted-model";
import type OpenAI from "openai";
import { expect, test } from "vitest";
import { shownTexts } from "../../../test/support/api-helpers.ts";
import { openOpenAi, type OpenAiRig } from "../../../test/support/openai-rig.ts";

const model = "holdfast";

const openCounting = () => openOpenAi((_, before) => says(`Answer ${before + 1}.`));

const sessionOf = ({ conversation }: OpenAI.Responses.Response) =>
  `ses_${conversation?.id.slice("conv_".length)}`;

type Body = Partial<OpenAI.Responses.ResponseCreateParamsNonStreaming>;

function ask(rig: OpenAiRig, input: string, headers: Record<string, string>, body: Body = {}) {
  return rig.openai.responses.create({ model, input, ...body }, { headers });
}

const holdfast = (value: string) => ({ "x-holdfast-session-id": value });

test("of several sources the first in the documented order names the session", async () => {
  const rig = await openCounting();
  const one = await ask(rig, "One", {});
  const two = await ask(rig, "Two", {});
  const both = { ...holdfast(sessionOf(one)), "x-hermes-session-id": sessionOf(two) };
  expect(sessionOf(await ask(rig, "A", both))).toBe(sessionOf(one));
  const chat = { "x-openwebui-chat-id": "chat-1" };
  const inChat = await ask(rig, "Hello", chat);
  const hermes = { ...chat, "x-hermes-session-id": sessionOf(two) };
  expect(sessionOf(await ask(rig, "B", hermes))).toBe(sessionOf(two));
  const conversation = one.conversation?.id ?? "";
  expect(sessionOf(await ask(rig, "C", chat, { conversation }))).toBe(sessionOf(one));
  const previous_response_id = inChat.id;
  expect(sessionOf(await ask(rig, "D", {}, { previous_response_id }))).toBe(sessionOf(inChat));
});

test("a header with a conversation, or a previous response, of the same session continues it", async () => {
  const rig = await openCounting();
  const first = await ask(rig, "One", {});
  const session = sessionOf(first);
  const conversation = first.conversation?.id ?? "";
  const second = await ask(rig, "Two", holdfast(session), { conversation });
  const previous = { previous_response_id: second.id };
  const third = await ask(rig, "Three", holdfast(session), previous);
  expect([sessionOf(second), sessionOf(third)]).toEqual([session, session]);
  const texts = (await shownTexts(rig, session as never)).filter((text) => !/Answer/.test(text));
  expect(texts).toEqual(["One", "Two", "Three"]);
});

test("a header that is sent with every request agrees with responses on branches of its session", async () => {
  const rig = await openCounting();
  const first = await ask(rig, "One", {});
  const session = sessionOf(first);
  await ask(rig, "Two", holdfast(session), { previous_response_id: first.id });
  const branch = await ask(rig, "Instead", holdfast(session), { previous_response_id: first.id });
  expect(sessionOf(branch)).not.toBe(session);
  const previous = { previous_response_id: branch.id };
  expect(sessionOf(await ask(rig, "On", holdfast(session), previous))).toBe(sessionOf(branch));
  // The branch shows the first response too.
  const back = { previous_response_id: first.id };
  const other = await ask(rig, "Back", holdfast(sessionOf(branch)), back);
  const texts = await shownTexts(rig, sessionOf(other) as never);
  expect(texts).toEqual(["One", "Answer 1.", "Back", "Answer 5."]);
});

test("a name in the header is remembered for the conversation of the body, and then agrees with it alone", async () => {
  const rig = await openCounting();
  const first = await ask(rig, "One", {});
  const conversation = first.conversation?.id ?? "";
  const named = await ask(rig, "Two", holdfast("my-chat"), { conversation });
  const byName = await ask(rig, "Three", holdfast("my-chat"));
  const again = await ask(rig, "Four", holdfast("my-chat"), { conversation });
  expect([named, byName, again].map(sessionOf)).toEqual(Array(3).fill(sessionOf(first)));
});

test("sources that name different sessions are refused, and nothing is admitted", async () => {
  const rig = await openCounting();
  const [one, two] = [await ask(rig, "One", {}), await ask(rig, "Two", {})];
  await ask(rig, "Named", holdfast("my-chat"));
  const conversation = two.conversation?.id ?? "";
  const conflict = { status: 400, code: "session_conflict", param: "conversation" };
  for (const header of [sessionOf(one), "my-chat", `ses_${"0".repeat(26)}`]) {
    const asked = ask(rig, "Where?", holdfast(header), { conversation });
    await expect(asked).rejects.toMatchObject(conflict);
    const after = ask(rig, "Where?", holdfast(header), { previous_response_id: two.id });
    await expect(after).rejects.toMatchObject(conflict);
  }
  expect(rig.model.requests).toHaveLength(3);
});
