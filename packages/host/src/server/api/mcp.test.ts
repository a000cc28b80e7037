import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { expect, onTestFinished, test } from "vitest";

import { openMcp } from "../../agent/mcp/mcp.ts";
import { memorySecrets } from "../../../test/support/providers/models.ts";
import { openApi } from "../../../test/support/api-rig.ts";
import { openMcpHttpServer } from "@holdfast/testing/host/mcp-http-server";
import { unconfined } from "../../../test/support/open-confinement.ts";

const key = "a-key-that-nobody-sees";

async function openBed() {
  const wiki = await openMcpHttpServer();
  const elsewhere = await openMcpHttpServer();
  const secrets = memorySecrets();
  const authorization = (secret: string) => ({ Authorization: { secret, prefix: "Bearer " } });
  const store = createReferenceStore();
  const mcp = openMcp({
    confinement: unconfined,
    servers: {
      wiki: { url: wiki.url, headers: authorization("wiki") },
      twin: { url: elsewhere.url, headers: authorization("wiki") },
      sly: { url: elsewhere.url, headers: authorization("anthropic") },
      open: { url: elsewhere.url },
      local: { command: "never-started" },
    },
    environment: {},
    secrets,
    store,
    log: () => undefined,
    times: { backoffMs: 5, maxBackoffMs: 20 },
  });
  const rig = openApi([], { environment: {}, mcp, secrets });
  onTestFinished(async () => {
    await mcp.stop();
    await rig.close();
    await store.close();
    await wiki.close();
    await elsewhere.close();
  });
  const put = (server: string, body: object) => rig.ask("PUT", `/api/secrets/mcp/${server}`, body);
  return { rig, mcp, secrets, wiki, elsewhere, put };
}

test("a key stored for a server reaches that server's address only, and is never read back", async () => {
  const { rig, mcp, wiki, elsewhere, put } = await openBed();
  const stateOf = (name: string) => mcp.states().find((state) => state.name === name);
  mcp.start();
  await expect.poll(() => stateOf("wiki")?.lastError).toContain("no stored key");
  expect((await put("wiki", { key })).status).toBe(204);
  await expect.poll(() => stateOf("wiki")?.state).toBe("ready");
  expect(wiki.heard.every(({ authorization }) => authorization === `Bearer ${key}`)).toBe(true);
  // Its settings name the same key, which was stored for another address.
  await expect.poll(() => stateOf("twin")?.lastError).toContain("for another address");
  expect(elsewhere.heard.some(({ authorization }) => authorization !== undefined)).toBe(false);
  expect(await (await rig.ask("GET", "/api/mcp")).text()).not.toContain(key);

  expect((await rig.ask("DELETE", "/api/secrets/mcp/wiki")).status).toBe(204);
  await expect.poll(() => stateOf("wiki")?.lastError).toContain("no stored key");
});

test("a key is refused if its name belongs to another address or the settings do not name it", async () => {
  const { rig, secrets, put } = await openBed();
  const kept = { key: "the-provider's", baseUrl: "https://api.anthropic.com/v1" };
  await secrets.put("anthropic", kept);
  expect((await put("wiki", { key })).status).toBe(204);
  for (const [server, body, status] of [
    ["twin", { key }, 400],
    ["sly", { key }, 400],
    ["open", { key }, 400],
    ["local", { key }, 400],
    ["wiki", { key, secret: "anthropic" }, 400],
    ["wiki", { key: "two words" }, 400],
    ["wiki", { key, baseUrl: "https://thief.example" }, 400],
    ["nobody", { key }, 404],
  ] as const) {
    const response = await put(server, body);
    expect([server, response.status]).toEqual([server, status]);
    expect(await response.text()).not.toContain(key);
  }
  for (const server of ["sly", "twin"])
    expect((await rig.ask("DELETE", `/api/secrets/mcp/${server}`)).status).toBe(204);
  expect(secrets.read("wiki")?.key).toBe(key);
  expect((await rig.ask("DELETE", "/api/secrets/mcp/nobody")).status).toBe(404);
  expect(secrets.read("anthropic")).toEqual(kept);
});
