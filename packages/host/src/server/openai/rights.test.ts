import { calls, says } from "@holdfast/testing/fakes/scripted-model";
import { createTool, okResult, until } from "@holdfast/testing/rigs/run-rig";
import { NotFoundError } from "openai";
import { expect, test } from "vitest";
import { valueOf } from "../../../test/support/api-helpers.ts";
import { connectOpenAi } from "../../../test/support/openai-client.ts";
import { openOpenAi, type OpenAiRig } from "../../../test/support/openai-rig.ts";

const model = "holdfast";

async function withKey(rig: OpenAiRig, name: string) {
  const { key, secret } = valueOf(await rig.client.createKey({ body: { name } }));
  return { key, secret, openai: connectOpenAi(rig.baseURL, secret) };
}

test("[safety] a key neither reads nor continues what was not made with it, by whichever name", async () => {
  const rig = await openOpenAi((_, before) => says(`Answer ${before + 1}.`));
  const owners = await rig.openai.responses.create({ model, input: "A secret" });
  const [one, two] = [await withKey(rig, "one"), await withKey(rig, "two")];
  const ones = await one.openai.responses.create({ model, input: "A secret" });
  expect(ones.conversation).not.toEqual(owners.conversation);
  for (const { openai } of [one, two]) {
    const { id, conversation } = owners;
    await expect(openai.responses.retrieve(id)).rejects.toThrow(NotFoundError);
    await expect(openai.responses.cancel(id)).rejects.toThrow(NotFoundError);
    await expect(openai.responses.inputItems.list(id)).rejects.toThrow(NotFoundError);
    await expect(openai.conversations.retrieve(conversation?.id ?? "")).rejects.toThrow(
      NotFoundError,
    );
    const more = { model, input: "More" };
    await expect(openai.responses.create({ ...more, previous_response_id: id })).rejects.toThrow(
      NotFoundError,
    );
    await expect(
      openai.responses.create({ ...more, conversation: conversation?.id ?? "" }),
    ).rejects.toThrow(NotFoundError);
  }
  // The same history as another owner's is a conversation of one's own.
  const history = [
    { role: "user" as const, content: "A secret" },
    { role: "assistant" as const, content: "Answer 1." },
    { role: "user" as const, content: "Go on" },
  ];
  const told = await two.openai.responses.create({ model, input: history });
  expect(told.conversation).not.toEqual(owners.conversation);
  expect((await rig.store.reads.sessions(rig.owner, { limit: 9 })).sessions).toHaveLength(1);
  valueOf(await rig.client.revokeKey({ params: { id: one.key.id } }));
  await expect(one.openai.responses.retrieve(ones.id)).rejects.toMatchObject({ status: 401 });
});

test("[safety] a key answers no approvals of its own runs; whoever runs the host does, and its stream goes on", async () => {
  const danger = createTool("danger", async () => okResult("done"), { approval: () => "ask" });
  const rig = await openOpenAi([[calls("danger")], [says("It is done.")]], { tools: [danger] });
  const { openai, secret } = await withKey(rig, "one");
  const asked = openai.responses.create({ model, input: "Do it" });
  await until(async () => valueOf(await rig.client.listApprovals()).approvals.length === 1);
  const [approval] = valueOf(await rig.client.listApprovals()).approvals;
  const path = `/api/approvals/${approval?.approvalId}`;
  const own = await rig.ask(
    "POST",
    path,
    { decision: "once" },
    { authorization: `Bearer ${secret}` },
  );
  expect(own.status).toBe(403);
  const other = await withKey(rig, "two");
  const seen = await rig.ask("GET", "/api/approvals", undefined, {
    authorization: `Bearer ${other.secret}`,
  });
  expect(await seen.json()).toMatchObject({ approvals: [] });
  expect((await rig.ask("POST", path, { decision: "once" })).status).toBe(200);
  expect((await asked).output_text).toBe("It is done.");
});
