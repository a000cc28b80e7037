import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { connectMcp } from "../mcp-client.ts";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { blockWith, openShell, repository, runLines, serveAsDocumented } from "./documentation.ts";

const clients = "docs/clients.md";

test("the README's lines for OpenAI's clients get an answer", async () => {
  const host = await serveAsDocumented();
  const answer = JSON.parse(
    await runLines(host, blockWith("README.md", "export OPENAI_BASE_URL")),
  ) as Record<string, unknown>;
  expect(answer).toMatchObject({ object: "response", status: "completed" });
});

test("the lines for a chat completion stream an answer", async () => {
  const host = await serveAsDocumented();
  const printed = await runLines(host, blockWith(clients, "OPENAI_BASE_URL"));
  expect(printed).toMatch(/"content":"[^"]+"/);
  expect(printed.trimEnd()).toMatch(/data: \[DONE\]$/);
});

test("the lines for OpenAI's JavaScript library print an answer", async () => {
  const host = await serveAsDocumented();
  const [exported = ""] = blockWith(clients, "OPENAI_BASE_URL").split("\n");
  const program = blockWith(clients, 'import OpenAI from "openai"');
  const printed = await runLines(
    host,
    `${exported}\nnode --input-type=module - <<'EOF'\n${program}EOF`,
  );
  expect(printed.trim().split(/\s+/).length).toBeGreaterThan(20);
});

test("the lines for plain HTTP send a message, follow it until Ctrl-C, and answer its approval", async () => {
  const host = await serveAsDocumented();
  const shell = openShell(host);
  shell.paste(blockWith(clients, "post sessions '{}'"));
  await shell.until(/approval\.asked/);
  shell.interrupt();
  shell.paste(blockWith(clients, '"decision":"once"'));
  shell.paste(`curl -sN -H "Authorization: Bearer $T" "$B/sessions/$S/events?after=0"`);
  await shell.until(/"state":"completed"/);
  expect((await shell.until(/"decision":"(\w+)"/))[1]).toBe("once");
});

test("the line that adds a key shows one that reaches what it makes", async () => {
  const host = await serveAsDocumented();
  const printed = await runLines(host, blockWith(clients, "keys add my-program"));
  const key = /hfk_\S+/.exec(printed)?.[0] ?? "";
  const headers = { authorization: `Bearer ${key}` };
  expect((await fetch(new URL("v1/models", host.address), { headers })).status).toBe(200);
  expect((await fetch(new URL("api/keys", host.address), { headers })).status).toBe(403);
});

test("the settings for an MCP client start a server with all of its tools", async () => {
  const host = await serveAsDocumented();
  const block = blockWith(clients, "mcpServers").replaceAll("/CLONE/", repository);
  const { mcpServers } = JSON.parse(block) as {
    mcpServers: { holdfast: { command: string; args: string[] } };
  };
  const { PATH } = host.env;
  const transport = new StdioClientTransport({
    ...mcpServers.holdfast,
    env: { HOME: host.folder, PATH },
  });
  const client = await connectMcp(transport);
  const { tools } = await client.listTools();
  const documented = readFileSync(join(repository, clients), "utf8");
  const names = tools.map(({ name }) => name);
  expect(names).toContain("session_send");
  expect(names.filter((name) => !documented.includes(`\`${name}\``))).toEqual([]);
});

test("the README's lines for the terminal answer, check and explain", async () => {
  const host = await serveAsDocumented();
  const lines = blockWith("README.md", "npx holdfast run").split("\n");
  const line = (words: string): string => lines.find((each) => each.includes(words)) ?? "false";
  const answer = await runLines(host, line("holdfast run"));
  expect(answer.trim().split(/\s+/).length).toBeGreaterThan(50);
  expect(await runLines(host, line("holdfast doctor"))).toMatch(/host/i);
  expect(await runLines(host, line("--help"))).toMatch(/^ +acp +connect an editor/m);
});
