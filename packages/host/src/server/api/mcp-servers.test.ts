import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { openMcpHttpServer } from "@holdfast/testing/host/mcp-http-server";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

import { openApi } from "../../../test/support/api-rig.ts";
import { unconfined } from "../../../test/support/open-confinement.ts";
import { keySettings } from "../../../test/support/providers/models.ts";
import { openAddedServers } from "../../agent/mcp/added-servers.ts";
import { openMcp } from "../../agent/mcp/mcp.ts";
import { openSecrets } from "../../ops/secrets/secrets.ts";

const header = "Bearer a-value-that-nobody-sees";

async function openBed() {
  const web = await openMcpHttpServer();
  const home = mkdtempSync(join(tmpdir(), "holdfast-mcp-servers-"));
  const store = createReferenceStore();
  const { rows } = await openSecrets(keySettings(home), store, (error) => {
    throw error;
  });
  const added = openAddedServers(rows);
  const mcp = openMcp({
    confinement: unconfined,
    servers: { fixed: { url: web.url } },
    added,
    environment: {},
    store,
    log: () => undefined,
    times: { backoffMs: 5, maxBackoffMs: 20 },
  });
  mcp.start();
  const rig = openApi([], { mcp, addedServers: added });
  onTestFinished(async () => {
    await mcp.stop();
    await rig.close();
    await store.close();
    await web.close();
    rmSync(home, { recursive: true });
  });
  const ask = async (method: string, name: string, body?: unknown) => {
    const response = await rig.ask(method, `/api/mcp/${name}`, body);
    const text = await response.text();
    const json: unknown = text === "" ? null : JSON.parse(text);
    return { status: response.status, text, json };
  };
  return { rig, mcp, web, ask };
}

test("a server is added with a header that is never shown, switched off and on, and removed", async () => {
  const { rig, mcp, web, ask } = await openBed();
  const added = await ask("PUT", "wiki", {
    url: `${web.url}?key=in-the-query`,
    headers: { "X-Key": header },
  });
  expect(added.json).toMatchObject({
    server: { name: "wiki", connectedBy: "page", switch: "on", target: web.url },
  });
  await expect.poll(() => mcp.state("wiki")?.state).toBe("ready");
  const listed = await (await rig.ask("GET", "/api/mcp")).text();
  for (const hidden of [header, "in-the-query"])
    expect([listed, added.text].join(" ")).not.toContain(hidden);
  expect((await ask("PATCH", "wiki", { switch: "off" })).json).toMatchObject({
    server: { switch: "off", state: "stopped", tools: [] },
  });
  expect((await ask("PATCH", "wiki", { switch: "on" })).status).toBe(200);
  await expect.poll(() => mcp.state("wiki")?.state).toBe("ready");
  expect((await ask("DELETE", "wiki")).status).toBe(204);
  expect((await ask("DELETE", "wiki")).json).toMatchObject({ code: "mcp_server_not_found" });
  expect((await ask("PATCH", "wiki", { switch: "on" })).status).toBe(404);
  expect(mcp.states().map(({ name }) => name)).toEqual(["fixed"]);
});

test("[safety] a program is added only by repeating exactly what it runs", async () => {
  const { mcp, ask } = await openBed();
  const program = {
    command: "files",
    args: ["/srv/my papers", "--all"],
    env: { FILES_KEY: "hidden" },
    sandbox: { network: "none" },
  };
  const text = 'files "/srv/my papers" --all; with the variables FILES_KEY; has no network';
  const refused = await ask("PUT", "files", program);
  expect(refused).toMatchObject({
    status: 409,
    json: { code: "mcp_confirmation_needed", detail: text },
  });
  const other = { ...program, args: ["/"], confirm: text };
  expect((await ask("PUT", "files", other)).status).toBe(409);
  expect(mcp.state("files")).toBeNull();
  expect((await ask("PUT", "files", { ...program, confirm: text })).status).toBe(200);
  expect(mcp.state("files")).toMatchObject({
    kind: "program",
    target: 'files "/srv/my papers" --all',
  });
});

test("[safety] what config.json has cannot be changed, and what it would refuse cannot be added", async () => {
  const { mcp, web, ask } = await openBed();
  for (const [method, body] of [
    ["PUT", { url: web.url }],
    ["PATCH", { switch: "off" }],
    ["DELETE", undefined],
  ] as const)
    expect((await ask(method, "fixed", body)).json).toMatchObject({
      code: "mcp_server_configured",
    });
  const long = { "X-Long": "x".repeat(8_000), "X-More": "x".repeat(8_000) };
  for (const [name, body] of [
    ["under__score", { url: web.url }],
    ["wiki", { url: "ftp://wiki.example" }],
    ["wiki", { url: "https://user:pass@wiki.example" }],
    ["wiki", { url: web.url, headers: { Cookie: "a=b" } }],
    ["wiki", { url: web.url, headers: { Authorization: { env: "HOME" } } }],
    ["wiki", { url: web.url, headers: long }],
    ["wiki", { url: web.url, command: "files" }],
    ["wiki", { command: "files", sandbox: "off", confirm: "files; has the host's network" }],
    ["wiki", { command: "files", env: { "A B": "c" } }],
    ["wiki", {}],
  ] as const)
    expect([Object.keys(body), (await ask("PUT", name, body)).status]).toEqual([
      Object.keys(body),
      400,
    ]);
  expect(mcp.states().map(({ name }) => name)).toEqual(["fixed"]);
});

test("[safety] an API key can neither add, change nor remove a server", async () => {
  const { rig, web } = await openBed();
  const made = await rig.client.createKey({ body: { name: "program", profile: "owner" } });
  if (!made.ok) throw new Error(made.error.kind);
  const headers = { authorization: `Bearer ${made.value.secret}` };
  for (const [method, body] of [
    ["PUT", { url: web.url }],
    ["PATCH", { switch: "off" }],
    ["DELETE", undefined],
  ] as const)
    expect((await rig.ask(method, "/api/mcp/wiki", body, headers)).status).toBe(403);
});
