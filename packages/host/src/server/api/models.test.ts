import { gunzipSync } from "node:zlib";
import { ids } from "@holdfast/protocol";
import { expect, test } from "vitest";

import { valueOf } from "../../../test/support/api-helpers.ts";
import { openApi } from "../../../test/support/api-rig.ts";

const key = "a-key-that-nobody-sees";

test("storing a key makes its provider's models usable, and the key is never read back", async () => {
  const rig = openApi([], { environment: {} });
  const before = await rig.client.listModels();
  expect(before).toMatchObject({ ok: true, value: { usual: "rehearsal" } });
  expect((await rig.ask("PUT", "/api/secrets/anthropic", { key })).status).toBe(204);
  const after = await rig.ask("GET", "/api/models");
  const text = await after.text();
  expect(text).not.toContain(key);
  expect(JSON.parse(text)).toMatchObject({
    usual: "anthropic/claude-sonnet-5-5",
    providers: [{ provider: "anthropic", usable: true, key: { from: "stored" } }, {}, {}, {}, {}],
  });
  expect((await rig.ask("GET", "/api/secrets/anthropic")).status).toBe(404);
  expect((await rig.ask("DELETE", "/api/secrets/anthropic")).status).toBe(204);
  expect(await rig.client.listModels()).toMatchObject({ value: { usual: "rehearsal" } });
  await rig.close();
});

test("a long answer is compressed for those who accept that, and a short one is sent as it is", async () => {
  const rig = openApi([], { environment: {} });
  const read = async (path: string, accepted: string) => {
    const response = await rig.ask("GET", path, undefined, { "accept-encoding": accepted });
    const bytes = new Uint8Array(await response.arrayBuffer());
    const encoding = response.headers.get("content-encoding");
    const text = new TextDecoder().decode(encoding === "gzip" ? gunzipSync(bytes) : bytes);
    return { length: bytes.length, encoding, text, vary: response.headers.get("vary") };
  };
  const plain = await read("/api/models", "br, gzip;q=0");
  expect(plain).toMatchObject({ encoding: null, vary: "accept-encoding" });
  const packed = await read("/api/models", "gzip, deflate");
  expect(packed).toMatchObject({ encoding: "gzip", vary: "accept-encoding", text: plain.text });
  expect(packed.length * 3).toBeLessThan(plain.length);
  expect(await read("/api/sessions", "gzip")).toMatchObject({ encoding: null, vary: null });
  await rig.close();
});

test.each([
  ["/api/secrets/nobody", { key }],
  ["/api/secrets/openai", {}],
  ["/api/secrets/openai", { key: "two words" }],
  ["/api/secrets/openai", { key, more: 1 }],
  ["/api/secrets/openai", { key, baseUrl: "ftp://models.example" }],
  ["/api/secrets/openai", { key, baseUrl: "https://user:pass@models.example" }],
  ["/api/secrets/openai-compatible", { key }],
])("PUT %s %j is refused, and nothing is stored", async (path, body) => {
  const rig = openApi([], { environment: {} });
  const response = await rig.ask("PUT", path, body);
  expect(response.status).toBe(400);
  expect(await response.text()).not.toContain(key);
  const { providers } = (await (await rig.ask("GET", "/api/models")).json()) as {
    providers: { key: { from: string } }[];
  };
  expect(providers.every(({ key: { from } }) => from === "none")).toBe(true);
  await rig.close();
});

test.each(["model", "smallModel"] as const)(
  "the setting %s takes usable models only",
  async (name) => {
    const rig = openApi([], { environment: { ANTHROPIC_API_KEY: key } });
    const put = (value: string) => rig.client.putSetting({ params: { name }, body: { value } });
    expect(await put("anthropic/claude-opus-5-5")).toMatchObject({ ok: true });
    expect(await put("openai/gpt-6-sol")).toMatchObject({ ok: false });
    const { settings } = valueOf(await rig.client.listSettings());
    expect(settings.find((setting) => setting.name === name)).toMatchObject({
      value: "anthropic/claude-opus-5-5",
    });
    await rig.close();
  },
);

test("a session accepts a usable model, and names at once what another one lacks", async () => {
  const rig = openApi([], { environment: { ANTHROPIC_API_KEY: key } });
  const made = await rig.ask("POST", "/api/sessions", { model: "anthropic/claude-opus-5-5" });
  expect(made.status).toBe(201);
  const { session } = (await made.json()) as { session: { id: string } };
  const path = `/api/sessions/${session.id}`;
  for (const [model, status, code, message] of [
    ["openai/gpt-6-sol", 409, "model_unusable", "OPENAI_API_KEY"],
    ["gpt-6-sol", 400, "model_unknown", "openai/…"],
  ] as const) {
    for (const refused of [
      await rig.ask("PATCH", path, { model }),
      await rig.ask("POST", "/api/sessions", { model }),
    ]) {
      expect(refused.status).toBe(status);
      const text = await refused.text();
      expect(JSON.parse(text)).toMatchObject({ code });
      expect(text).toContain(message);
    }
  }
  const changed = await rig.ask("PATCH", path, { model: "rehearsal" });
  expect(await changed.json()).toMatchObject({ session: { model: "rehearsal" } });
  expect((await rig.ask("PATCH", path, { model: null })).status).toBe(200);
  const gone = await rig.ask("PATCH", `/api/sessions/${ids.make("session")}`, { title: "x" });
  expect(gone.status).toBe(404);
  await rig.close();
});
