import { calls, says } from "@holdfast/testing/fakes/scripted-model";
import { manualClock } from "@holdfast/testing/fakes/manual-clock";
import { createTool, okResult, until } from "@holdfast/testing/rigs/run-rig";
import { expect, test } from "vitest";
import { shownTexts, valueOf } from "../../../test/support/api-helpers.ts";
import { openOpenAi, type OpenAiRig } from "../../../test/support/openai-rig.ts";

const model = "holdfast";
const nineMinutes = 9 * 60_000;

async function openWaiting() {
  const clock = manualClock();
  const danger = createTool("danger", async () => okResult("done"), { approval: () => "ask" });
  const script = [[says("I ask."), calls("danger")], [says("It is done.")], [says("Yes.")]];
  return { clock, rig: await openOpenAi(script, { tools: [danger], clock }) };
}

async function untilAsked(rig: OpenAiRig) {
  const open = async () => valueOf(await rig.client.listApprovals()).approvals;
  await until(async () => (await open()).length === 1);
  return (await open())[0]?.approvalId ?? "";
}

test("a chat completion whose run waits too long ends with a line that names the approval, and its chat goes on", async () => {
  const { clock, rig } = await openWaiting();
  const asked = rig.openai.chat.completions
    .create({ model, messages: [{ role: "user", content: "Do it" }] })
    .withResponse();
  const id = await untilAsked(rig);
  await until(() => clock.sleepers > 0);
  await clock.advance(nineMinutes);
  const { data, response } = await asked;
  const text = data.choices[0]?.message.content ?? "";
  expect(text).toMatch(/^I ask\.\n\n⏸ Waiting for approval of danger: /);
  expect(text).toContain(id);
  const session = response.headers.get("x-holdfast-session-id");
  const params = { id: id as never };
  valueOf(await rig.client.answerApproval({ params, body: { decision: "once" } }));
  await until(async () => (await shownTexts(rig, session as never)).includes("It is done."));
  // The front end tells the line back as what the assistant said.
  const more = await rig.openai.chat.completions
    .create({
      model,
      messages: [
        { role: "user", content: "Do it" },
        { role: "assistant", content: text },
        { role: "user", content: "Is it done?" },
      ],
    })
    .withResponse();
  expect(more.response.headers.get("x-holdfast-session-id")).toBe(session);
});

test("a response whose run waits too long is answered as in progress, and can be read to its end", async () => {
  const { clock, rig } = await openWaiting();
  const asked = rig.openai.responses.create({ model, input: "Do it" });
  const id = await untilAsked(rig);
  await until(() => clock.sleepers > 0);
  await clock.advance(nineMinutes);
  const response = await asked;
  expect(response.status).toBe("in_progress");
  const params = { id: id as never };
  valueOf(await rig.client.answerApproval({ params, body: { decision: "once" } }));
  await until(
    async () => (await rig.openai.responses.retrieve(response.id)).status === "completed",
  );
});
