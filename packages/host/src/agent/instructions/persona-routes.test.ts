import { createClient, executeCommand } from "@holdfast/client";
import type { SessionId } from "@holdfast/protocol";
import { expect, onTestFinished, test } from "vitest";

import { newSession, valueOf } from "../../../test/support/api-helpers.ts";
import { openApi } from "../../../test/support/api-rig.ts";

function open() {
  // Only models that can be reached are accepted.
  const rig = openApi([], { environment: {} });
  onTestFinished(async () => {
    await rig.close();
    expect(rig.bugs).toEqual([]);
  });
  return rig;
}

const editor = { name: "Editor", text: "You are an editor." };

test("personas are added, changed, made the default and deleted", async () => {
  const { client } = open();
  const { persona } = valueOf(await client.addPersona({ body: editor }));
  expect(persona).toMatchObject({ ...editor, model: null, isDefault: false, version: 1 });
  expect(await client.addPersona({ body: { ...editor, name: " editor " } })).toMatchObject({
    error: { code: "persona_name_taken" },
  });
  const params = { id: persona.id };
  const headers = { "if-match": 1 };
  const body = { text: "You are a kind editor." };
  expect(valueOf(await client.changePersona({ params, headers, body })).persona).toMatchObject({
    ...body,
    versions: [{ text: editor.text }],
  });
  expect(
    await client.changePersona({ params, headers, body: { text: "You are harsh." } }),
  ).toMatchObject({ error: { code: "persona_changed" } });
  const { personas } = valueOf(await client.setDefaultPersona({ body: params }));
  expect(personas.map(({ isDefault }) => isDefault)).toEqual([false, true]);
  expect(await client.removePersona({ params: { id: "default" } })).toMatchObject({
    error: { code: "persona_built_in" },
  });
  expect(await client.removePersona({ params })).toMatchObject({ ok: true });
  expect(await client.setDefaultPersona({ body: params })).toMatchObject({
    error: { code: "persona_not_found" },
  });
});

test("a blank text and an unknown model are refused", async () => {
  const { client } = open();
  expect(await client.addPersona({ body: { name: "Mist", text: " \n" } })).toMatchObject({
    error: { code: "invalid_request" },
  });
  const body = { ...editor, model: "nobody/nothing" };
  expect(await client.addPersona({ body })).toMatchObject({ error: { code: "model_unknown" } });
  expect(valueOf(await client.listPersonas()).personas).toHaveLength(1);
});

test("a session begins with the persona and the model that it names, or else with the default's", async () => {
  const { client } = open();
  const body = { ...editor, model: "rehearsal" };
  const { persona } = valueOf(await client.addPersona({ body }));
  const create = async (settings: object) =>
    valueOf(await client.createSession({ body: settings })).session;
  expect(await create({})).toMatchObject({ persona: null, model: null });
  expect(await create({ persona: persona.id })).toMatchObject({
    persona: persona.id,
    model: "rehearsal",
  });
  await client.setDefaultPersona({ body: { id: persona.id } });
  expect(await create({})).toMatchObject({ persona: null, model: "rehearsal" });
  for (const call of [
    client.createSession({ body: { persona: "nobody" } }),
    client.changeSession({ params: { id: (await create({})).id }, body: { persona: "nobody" } }),
  ])
    expect(await call).toMatchObject({ error: { code: "persona_not_found" } });
});

test("/persona lists the personas and switches the session's", async () => {
  const rig = open();
  const { client } = rig;
  const { persona } = valueOf(await client.addPersona({ body: editor }));
  const sessionId: SessionId = await newSession(rig);
  const run = (argument: string) =>
    executeCommand({ client, sessionId, key: "k", now: Date.now }, { name: "persona", argument });
  expect(await run("")).toMatchObject({ kind: "persona", current: "default" });
  expect(await run("edi")).toMatchObject({
    what: "persona_chosen",
    session: { persona: persona.id },
  });
  expect(await run("")).toMatchObject({ current: persona.id });
  expect(await run("Pirate")).toMatchObject({ kind: "refused", code: "persona_not_found" });
});

test("[safety] an API key reads no personas", async () => {
  const rig = open();
  const { secret } = valueOf(await rig.client.createKey({ body: { name: "job" } }));
  const program = createClient({
    token: secret,
    fetch: (url, init) => rig.app.request(url, init, {}),
  });
  expect(await program.listPersonas()).toMatchObject({ error: { code: "forbidden" } });
});
