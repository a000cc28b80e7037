import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ownerId } from "@holdfast/protocol";
import { databases } from "@holdfast/testing/databases/databases";
import { openMcpHttpServer } from "@holdfast/testing/host/mcp-http-server";
import { describe, expect, onTestFinished, test } from "vitest";
import { unconfined } from "../../../test/support/open-confinement.ts";
import { keySettings } from "../../../test/support/providers/models.ts";
import { openSecrets } from "../../ops/secrets/secrets.ts";
import type { McpServers } from "../../ops/config/mcp-servers.ts";
import { openAddedServers } from "./added-servers.ts";
import { openMcp } from "./mcp.ts";

describe.each(databases)("added MCP servers on $name", (factory) => {
  async function openStore() {
    const database = await factory.create();
    onTestFinished(() => database.drop());
    const home = mkdtempSync(join(tmpdir(), "holdfast-added-"));
    onTestFinished(() => rmSync(home, { recursive: true }));
    /** One host of the store, with its own view of it. */
    return async function openHost(servers: McpServers = {}) {
      const store = await database.open();
      const { rows } = await openSecrets(keySettings(home), store, (error) => {
        throw error;
      });
      const added = openAddedServers(rows);
      const mcp = openMcp({
        servers,
        added,
        confinement: unconfined,
        environment: {},
        store,
        log: () => undefined,
        times: { backoffMs: 5, maxBackoffMs: 20 },
      });
      mcp.start();
      let stopped: Promise<void> | undefined;
      const stop = () => (stopped ??= mcp.stop().then(() => store.close()));
      onTestFinished(stop);
      /** The names of the tools, once another host's changes are seen. */
      async function tools(): Promise<readonly string[]> {
        await added.refresh();
        return [...(await mcp.tools()).tools.keys()];
      }
      return { store, added, mcp, stop, tools };
    };
  }

  async function openWeb() {
    const server = await openMcpHttpServer();
    onTestFinished(() => server.close());
    return server;
  }

  test("[P9] a server added on one host offers its tools on all, also after a restart, until it is switched off or removed", async () => {
    const [openHost, wiki] = [await openStore(), await openWeb()];
    const [here, there] = [await openHost(), await openHost()];
    const withoutServers = (await there.mcp.tools()).hash;
    const server = { url: wiki.url, headers: { Authorization: "Bearer the-hidden-value" } };
    expect(await here.added.put("wiki", server)).toBe("kept");
    await expect.poll(() => here.tools()).toContain("wiki__answer");
    await expect.poll(() => there.tools()).toContain("wiki__answer");
    const withTools = (await there.mcp.tools()).hash;
    expect([withoutServers, withTools === ""]).toEqual(["", false]);
    expect(new Set(wiki.heard.map(({ authorization }) => authorization))).toEqual(
      new Set(["Bearer the-hidden-value"]),
    );
    await here.stop();
    const restarted = await openHost();
    await expect.poll(() => restarted.tools()).toContain("wiki__answer");
    expect((await restarted.mcp.tools()).hash).toBe(withTools);

    expect(await restarted.added.turn("wiki", "off")).toBe(true);
    await expect.poll(() => there.tools()).toEqual([]);
    expect((await there.mcp.tools()).hash).toBe("");
    expect(there.mcp.state("wiki")).toMatchObject({ state: "stopped", switch: "off" });
    expect(await there.added.turn("wiki", "on")).toBe(true);
    await expect.poll(() => restarted.tools()).toContain("wiki__answer");
    expect(await restarted.added.remove("wiki")).toBe(true);
    expect(await restarted.added.remove("wiki")).toBe(false);
    await expect.poll(() => there.tools()).toEqual([]);
    expect(there.mcp.states()).toEqual([]);
    expect(await there.added.turn("wiki", "on")).toBe(false);
  });

  test("[safety] addresses, values and arguments of an added server are stored encrypted and are redacted", async () => {
    const [openHost, wiki] = [await openStore(), await openWeb()];
    const { store, added, mcp } = await openHost();
    await added.put("wiki", { url: wiki.url, headers: { "X-Key": "value-of-a-header" } });
    await added.put("local", {
      command: "no-such-program",
      env: { API_KEY: "value-of-a-variable" },
    });
    const rows = await store.register.list(ownerId.parse("owner"), "", 100);
    const text = JSON.stringify(rows);
    for (const hidden of [wiki.url, "value-of-a", "no-such-program"])
      expect(text).not.toContain(hidden);
    expect(mcp.secrets()).toEqual(["value-of-a-header", "value-of-a-variable"]);
    expect(JSON.stringify(mcp.states())).not.toContain("value-of-a");
  });

  test("a configured server wins over an added one of the same name, which is back when it goes", async () => {
    const [openHost, configured, addedWeb] = [await openStore(), await openWeb(), await openWeb()];
    const operators = await openHost({ wiki: { url: configured.url } });
    await operators.added.put("wiki", { url: addedWeb.url });
    await expect.poll(() => operators.tools()).toContain("wiki__answer");
    expect(operators.mcp.states()).toMatchObject([
      { connectedBy: "configuration", hidesAdded: true, target: configured.url },
    ]);
    expect(addedWeb.heard).toEqual([]);
    await operators.stop();
    const plain = await openHost();
    await expect.poll(() => plain.tools()).toContain("wiki__answer");
    expect(plain.mcp.states()).toMatchObject([
      { connectedBy: "page", hidesAdded: false, target: addedWeb.url },
    ]);
  });

  test("a changed server is connected anew, and no more than the limit are kept", async () => {
    const [openHost, old, next] = [await openStore(), await openWeb(), await openWeb()];
    const { added, mcp, tools } = await openHost();
    await added.put("wiki", { url: old.url });
    await expect.poll(() => tools()).toContain("wiki__answer");
    await added.put("wiki", { url: next.url });
    await expect.poll(() => mcp.state("wiki")?.state).toBe("ready");
    expect(next.heard).not.toEqual([]);
    for (let n = 1; n < 32; n += 1)
      expect(await added.put(`server-${n}`, { url: next.url })).toBe("kept");
    expect(await added.put("one-more", { url: next.url })).toBe("too many");
    expect(await added.put("wiki", { url: old.url })).toBe("kept");
    const long = { url: old.url, headers: { "X-Long": "x".repeat(11_000) } };
    expect(await added.put("wiki", long)).toBe("too large");
  });
});
