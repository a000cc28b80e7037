import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

import { unpackChromium } from "@holdfast/testing/browser/packed-chromium";
import { anthropicFrames, type Said } from "@holdfast/testing/host/providers/provider-frames";
import { openProviderServer } from "@holdfast/testing/host/providers/provider-server";
import { beforeEach, expect, onTestFinished, test } from "vitest";

import { requirePage } from "./page/require-page.ts";
import { followUntil, hasEnded, makeFolder, serveWithClient, valueOf } from "./served-host.ts";

beforeEach(requirePage);

const playwright = join(import.meta.dirname, "../../node_modules/playwright-core/cli.js");

/** A page with a link to another one. */
async function servePages(): Promise<string> {
  const server = createServer(({ url }, response) => {
    response.setHeader("content-type", "text/html");
    response.end(
      url === "/herons"
        ? "<title>Herons</title><p>Two herons at the weir.</p>"
        : "<title>Tides</title><h1>Tide table</h1><a href='/herons'>Count herons</a>",
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

/** Opens the page, reads it, follows the link, reads again, and says what it saw. */
function nextCall(address: string, asked: string): readonly Said[] {
  const call = (tool: string, input: object) => [
    {
      call: `browser__browser_${tool}`,
      id: `call_${tool}_${asked.length}`,
      input: JSON.stringify(input),
    },
  ];
  if (asked.includes("Two herons at the weir.")) return [{ text: "I saw two herons." }];
  if (asked.includes("Page Title: Herons")) return call("snapshot", {});
  const target = /Count herons.{0,10}\[ref=(?<ref>e\d+)\]/u.exec(asked)?.groups?.["ref"];
  if (target !== undefined) return call("click", { element: "Count herons", target });
  if (asked.includes("Page Title: Tides")) return call("snapshot", {});
  return call("navigate", { url: address });
}

test("an agent opens a page in Playwright's browser, reads it and clicks, and its text is a stranger's", async () => {
  const address = await servePages();
  const provider = await openProviderServer(({ body }) => ({
    frames: anthropicFrames(nextCall(address, JSON.stringify(body))),
  }));
  onTestFinished(() => provider[Symbol.asyncDispose]());
  const home = join(makeFolder(), "home");
  mkdirSync(home);
  const browser = {
    command: process.execPath,
    args: [
      playwright,
      "mcp",
      "--isolated",
      "--headless",
      // A browser that root starts has no sandbox of its own.
      "--no-sandbox",
      "--executable-path",
      process.env["HOLDFAST_TEST_CHROMIUM"] ?? unpackChromium(),
      "--output-dir",
      join(home, "browser"),
    ],
    // A confined one reaches no address on this machine, and the page is there.
    sandbox: "off",
  };
  const toolRules = [
    "allow browser__browser_navigate",
    "allow browser__browser_snapshot when tainted",
  ];
  writeFileSync(join(home, "config.json"), JSON.stringify({ mcp: { browser }, toolRules }));
  const { client } = await serveWithClient({
    HOLDFAST_HOME: home,
    HOLDFAST_ANTHROPIC_BASE_URL: `${provider.url}/v1`,
    ANTHROPIC_API_KEY: "key",
  });
  await expect
    .poll(async () => valueOf(await client.listMcpServers()).servers[0]?.state, { timeout: 20_000 })
    .toBe("ready");
  const { session } = valueOf(await client.createSession({ body: {} }));
  const params = { id: session.id };
  valueOf(
    await client.sendMessage({ params, body: { clientId: "one", text: "Count the herons" } }),
  );

  // What is read asks nobody; what acts on a page does.
  await followUntil(
    client,
    session.id,
    ({ run }) => run?.state === "waiting" || hasEndedState(run),
  );
  const [approval] = valueOf(await client.listApprovals()).approvals;
  expect(approval).toMatchObject({ name: "browser__browser_click" });
  const answer = { params: { id: approval!.approvalId }, body: { decision: "once" as const } };
  valueOf(await client.answerApproval(answer));
  const { entries } = await followUntil(client, session.id, hasEnded);
  const parts = entries.flatMap((entry) => (entry.type === "message" ? entry.parts : []));
  const results = parts.filter((part) => part.type === "tool_result");
  expect(
    results.map(({ name, outcome }) => [name.replace("browser__browser_", ""), outcome]),
  ).toEqual([
    ["navigate", "ok"],
    ["snapshot", "ok"],
    ["click", "ok"],
    ["snapshot", "ok"],
  ]);
  expect(results.at(-1)?.output).toContain("Two herons at the weir.");
  for (const { taint } of results) expect(taint).toEqual([{ kind: "mcp", name: "browser" }]);
  expect(parts.at(-1)).toMatchObject({ type: "text", text: "I saw two herons." });
});

function hasEndedState(run: { readonly state: string } | null): boolean {
  return run !== null && ["completed", "failed", "limit"].includes(run.state);
}
