import { createClient } from "@holdfast/client";
import { expect, onTestFinished, test } from "vitest";

import { valueOf } from "../../../test/support/api-helpers.ts";
import { openApi } from "../../../test/support/api-rig.ts";

function open() {
  const rig = openApi();
  onTestFinished(async () => {
    await rig.close();
    expect(rig.bugs).toEqual([]);
  });
  return rig;
}

test("instructions are read, changed from the version that was seen, and deleted", async () => {
  const { client } = open();
  const write = (text: string, version: number) =>
    client.changeInstructions({ headers: { "if-match": version }, body: { text } });
  expect(valueOf(await client.readInstructions()).instructions).toMatchObject({
    text: "",
    changedAt: null,
    version: 0,
  });
  valueOf(await write("Be brief.", 0));
  expect(await write("Be thorough.", 0)).toMatchObject({
    error: { code: "custom_instructions_changed", problem: { status: 409 } },
  });
  const { instructions } = valueOf(await write("Be thorough.", 1));
  expect(instructions).toMatchObject({ text: "Be thorough.", versions: [{ text: "Be brief." }] });
  expect(valueOf(await write("", 2)).instructions).toMatchObject({ text: "", versions: [] });
});

test("a text that is too long and a change without a version are refused", async () => {
  const rig = open();
  const long = { text: "x".repeat(4_001) };
  const answers = [
    await rig.ask("PUT", "/api/instructions", long, { "if-match": "0" }),
    await rig.ask("PUT", "/api/instructions", { text: "Be brief." }),
  ];
  for (const answer of answers)
    expect([answer.status, await answer.json()]).toMatchObject([400, { code: "invalid_request" }]);
});

test("[safety] an API key reaches no instructions", async () => {
  const rig = open();
  const { secret } = valueOf(await rig.client.createKey({ body: { name: "job" } }));
  const program = createClient({
    token: secret,
    fetch: (url, init) => rig.app.request(url, init, {}),
  });
  expect(await program.readInstructions()).toMatchObject({ error: { code: "forbidden" } });
});
