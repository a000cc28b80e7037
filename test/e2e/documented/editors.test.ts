import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { client, methods, ndJsonStream } from "@agentclientprotocol/sdk";
import { expect, onTestFinished, test } from "vitest";
import { blockWith, type DocumentedHost, runLines, serveAsDocumented } from "./documentation.ts";

const editors = "docs/editors.md";

interface AgentServer {
  readonly command: string;
  readonly args: readonly string[];
}

/** Starts what an editor is told to start, and asks it something in a project, as the editor would. */
async function askThrough(
  host: DocumentedHost,
  { command, args }: AgentServer,
  project: string,
): Promise<string> {
  const env = { ...process.env, ...host.env };
  const agent = spawn(command, args, { env, cwd: project, stdio: ["pipe", "pipe", "inherit"] });
  const exited = once(agent, "exit");
  onTestFinished(async () => {
    agent.kill("SIGKILL");
    await exited;
  });
  let text = "";
  const { agent: asked } = client({ name: "editor" })
    .onNotification(methods.client.session.update, ({ params: { update } }) => {
      if (update.sessionUpdate === "agent_message_chunk" && update.content.type === "text")
        text += update.content.text;
    })
    .connect(
      ndJsonStream(
        Writable.toWeb(agent.stdin) as WritableStream<Uint8Array>,
        Readable.toWeb(agent.stdout) as unknown as ReadableStream<Uint8Array>,
      ),
    );
  await asked.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
  const { sessionId } = await asked.request(methods.agent.session.new, {
    cwd: project,
    mcpServers: [],
  });
  const { stopReason } = await asked.request(methods.agent.session.prompt, {
    sessionId,
    prompt: [{ type: "text", text: "Hello {words:5}" }],
  });
  expect(stopReason).toBe("end_turn");
  return text;
}

/** A project's folder, allowed with the README's line. */
async function allowProject(host: DocumentedHost): Promise<string> {
  const project = join(realpathSync(host.folder), "tides");
  mkdirSync(project);
  const line = blockWith("README.md", "workspaces allow").split("\n").at(1) ?? "false";
  // `npx` finds the command of the clone, from which the reader is in another folder.
  await runLines(host, line.replace("npx holdfast", "holdfast"), project);
  return project;
}

/** The servers that a document or the command has for JSON settings. */
function serversIn(text: string): readonly AgentServer[] {
  const { agent_servers: servers, "acp.agents": agents } = JSON.parse(text) as Record<
    string,
    { Holdfast: AgentServer } | undefined
  >;
  return [servers, agents].flatMap((each) => each?.Holdfast ?? []);
}

/** The list that a Lua table has as `commands.default`. */
function serverInLua(text: string): AgentServer {
  const [, list = ""] = /default = \{ (.*?) \}/.exec(text) ?? [];
  const [command = "", ...args] = [...list.matchAll(/["'](.*?)["']/g)].map(([, word = ""]) => word);
  return { command, args };
}

test("the settings in the documentation start an agent that answers", async () => {
  const host = await serveAsDocumented();
  const project = await allowProject(host);
  const servers = [
    ...serversIn(blockWith(editors, "agent_servers")),
    ...serversIn(blockWith(editors, "acp.agents")),
    serverInLua(blockWith(editors, "codecompanion")),
  ];
  expect(servers).toHaveLength(3);
  for (const server of servers) expect(await askThrough(host, server, project)).not.toBe("");
});

test("the settings that holdfast acp --setup prints start an agent that answers, from any folder and PATH", async () => {
  const host = await serveAsDocumented();
  const project = await allowProject(host);
  const [line = "false"] = blockWith("README.md", "acp --setup").split("\n");
  const printed = await runLines(host, line);
  const blocks = printed.split(/^[A-Z].*\(.*\):\n/m).slice(1);
  expect(blocks).toHaveLength(4);
  const servers = blocks.flatMap((block) =>
    block.startsWith("{") ? serversIn(block) : [serverInLua(block)],
  );
  expect(servers).toHaveLength(4);
  const elsewhere = { ...host, env: { ...host.env, PATH: "/usr/bin:/bin" } };
  for (const server of servers) expect(await askThrough(elsewhere, server, project)).not.toBe("");
});

test("the lines for a host on another machine add a key and start an agent with it", async () => {
  const host = await serveAsDocumented();
  const project = await allowProject(host);
  const [add = "false", connect = "false"] = blockWith(editors, "keys add laptop").split("\n");
  const key = /hfk_\S+/.exec(await runLines(host, add))?.[0] ?? "";
  const line = connect
    .replace(/ +#.*/, "")
    .replace("https://holdfast.example.org", host.address)
    .replace("hfk_…", key);
  const [command = "", ...args] = line.split(" ");
  expect(await askThrough(host, { command, args }, project)).not.toBe("");
});

test("the lines that limit editors make a profile and give it", async () => {
  const host = await serveAsDocumented();
  await runLines(host, `set -e\n${blockWith(editors, "rights give editors")}`);
  const printed = await runLines(host, "holdfast rights");
  expect(printed).toMatch(/lane:acp:zed.*readers/);
  expect(printed).toMatch(/editors.*readers/);
});
