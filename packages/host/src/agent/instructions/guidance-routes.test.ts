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

test("guidance is read, changed from the version that was seen, and reset to the built-in text", async () => {
  const { client } = open();
  const write = (text: string, version: number) =>
    client.changeGuidance({
      params: { part: "guidance" },
      headers: { "if-match": version },
      body: { text },
    });
  const { guidance: before } = valueOf(await client.listGuidance());
  expect(before.map(({ part, text, builtIn }) => [part, text === builtIn])).toEqual([
    ["guidance", true],
    ["tools", true],
  ]);
  expect(valueOf(await write("- Whisper.", 0)).guidance).toMatchObject({
    text: "- Whisper.",
    builtIn: before[0]?.builtIn,
    version: 1,
  });
  expect(await write("- Shout.", 0)).toMatchObject({
    error: { code: "guidance_changed", problem: { status: 409 } },
  });
  expect(valueOf(await write("", 1)).guidance).toMatchObject({
    text: before[0]?.builtIn,
    versions: [{ text: "- Whisper." }],
  });
  const { guidance: after } = valueOf(await client.listGuidance());
  expect(after[1]).toEqual(before[1]);
});

test("[safety] an API key reaches no guidance", async () => {
  const rig = open();
  const { secret } = valueOf(await rig.client.createKey({ body: { name: "job" } }));
  const program = createClient({
    token: secret,
    fetch: (url, init) => rig.app.request(url, init, {}),
  });
  expect(await program.listGuidance()).toMatchObject({ error: { code: "forbidden" } });
});
