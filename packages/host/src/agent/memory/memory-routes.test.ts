import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@holdfast/client";
import { expect, onTestFinished, test } from "vitest";

import { valueOf } from "../../../test/support/api-helpers.ts";
import { openApi } from "../../../test/support/api-rig.ts";

function open() {
  const home = mkdtempSync(join(tmpdir(), "holdfast-memory-api-"));
  const rig = openApi([], { home });
  onTestFinished(async () => {
    await rig.close();
    rmSync(home, { recursive: true });
    expect(rig.bugs).toEqual([]);
  });
  return rig;
}

test("facts are added, found by their words, changed with their earlier texts kept, and deleted", async () => {
  const { client } = open();
  const added = valueOf(await client.addFact({ body: { text: "  I like\ngreen tea " } })).fact;
  expect(added).toMatchObject({
    text: "I like green tea",
    use: "always",
    state: "kept",
    source: { kind: "person" },
    version: 1,
    versions: [],
  });
  const same = valueOf(await client.addFact({ body: { text: "I like green tea" } })).fact;
  expect(same.id).toBe(added.id);
  await client.addFact({ body: { text: "My boat is red", use: "when_it_fits" } });
  const found = valueOf(await client.listFacts({ query: { q: "TEA green" } }));
  expect([found.total, found.facts[0]?.id]).toEqual([1, added.id]);
  const all = valueOf(await client.listFacts({ query: { limit: 1 } }));
  expect([all.total, all.facts.map(({ text }) => text)]).toEqual([2, ["My boat is red"]]);
  const params = { id: added.id };
  const headers = { "if-match": added.version };
  const body = { text: "I like black tea" };
  const changed = valueOf(await client.changeFact({ params, headers, body })).fact;
  expect(changed).toMatchObject({ text: "I like black tea", version: 2 });
  expect(valueOf(await client.readFact({ params })).fact.versions).toMatchObject([
    { text: "I like green tea" },
  ]);
  expect(await client.removeFact({ params })).toMatchObject({ ok: true });
  expect(await client.readFact({ params })).toMatchObject({ error: { code: "fact_not_found" } });
  expect(valueOf(await client.listFacts({ query: { q: "tea" } })).total).toBe(0);
});

test("a change or deletion made from an old version is refused, and says to read the fact again", async () => {
  const { client } = open();
  const { fact } = valueOf(await client.addFact({ body: { text: "I like tea" } }));
  const params = { id: fact.id };
  const headers = { "if-match": fact.version };
  await client.changeFact({ params, headers, body: { text: "I like coffee" } });
  const second = await client.changeFact({ params, headers, body: { text: "I like cocoa" } });
  expect(second).toMatchObject({ error: { code: "fact_changed", problem: { status: 409 } } });
  expect(await client.removeFact({ params, headers })).toMatchObject({
    error: { code: "fact_changed" },
  });
  expect(valueOf(await client.readFact({ params })).fact.text).toBe("I like coffee");
});

test("a blank fact and a change without a version are refused", async () => {
  const rig = open();
  const empty = await rig.ask("POST", "/api/memory/facts", { text: " \n" });
  expect([empty.status, await empty.json()]).toMatchObject([400, { code: "invalid_request" }]);
  const { fact } = valueOf(await rig.client.addFact({ body: { text: "I like tea" } }));
  const blind = await rig.ask("PATCH", `/api/memory/facts/${fact.id}`, { text: "I like cocoa" });
  expect([blind.status, await blind.json()]).toMatchObject([400, { code: "invalid_request" }]);
});

test("[safety] an API key reaches no facts", async () => {
  const rig = open();
  await rig.client.addFact({ body: { text: "My number is 4711" } });
  const { secret } = valueOf(await rig.client.createKey({ body: { name: "job" } }));
  const program = createClient({
    token: secret,
    fetch: (url, init) => rig.app.request(url, init, {}),
  });
  for (const refused of [
    await program.listFacts(),
    await program.addFact({ body: { text: "I am evil" } }),
  ])
    expect(refused).toMatchObject({ ok: false, error: { code: "forbidden" } });
});
