import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { requirePage } from "./page/require-page.ts";
import { followUntil, hasEnded, serveWithClient, valueOf, makeFolder } from "./served-host.ts";

beforeEach(requirePage);

const main = join(
  import.meta.dirname,
  "../../node_modules/@modelcontextprotocol/server-everything/dist/index.js",
);

/** The host's view: inside its sandbox a server has another pid. */
function processesWith(marker: string): readonly string[] {
  const all = execFileSync("ps", ["-eo", "pid=,args="], { encoding: "utf8" }).split("\n");
  return all.filter((line) => line.includes(marker));
}

test("a tool of an MCP server in config.json asks for approval, runs, and its server ends with the host", async () => {
  const home = join(makeFolder(), "home");
  mkdirSync(home);
  const marker = randomUUID();
  const program = `import(${JSON.stringify(main)})`;
  // A confined server sees the packages of a program that its arguments name.
  const everything = { command: process.execPath, args: ["-e", program, main, "stdio", marker] };
  writeFileSync(join(home, "config.json"), JSON.stringify({ mcp: { everything } }));
  const { client, host } = await serveWithClient({ HOLDFAST_HOME: home });
  // A session only waits a few seconds for a server, and then goes on without its tools.
  const stateOf = async () => valueOf(await client.listMcpServers()).servers[0]?.state;
  await expect.poll(stateOf).toBe("ready");
  const { session } = valueOf(await client.createSession({ body: {} }));
  const params = { id: session.id };
  const text = '{tool:everything__echo {"message":"Ahoy"}}';
  valueOf(await client.sendMessage({ params, body: { clientId: "one", text } }));
  await followUntil(client, session.id, ({ run }) => run?.state === "waiting");

  const [approval] = valueOf(await client.listApprovals()).approvals;
  expect(approval).toMatchObject({ name: "everything__echo", input: { message: "Ahoy" } });
  const answer = { params: { id: approval!.approvalId }, body: { decision: "once" as const } };
  valueOf(await client.answerApproval(answer));
  await followUntil(client, session.id, hasEnded);
  const { entries } = valueOf(await client.readSession({ params }));
  const parts = entries.flatMap((entry) => (entry.type === "message" ? entry.parts : []));
  expect(parts).toContainEqual(
    expect.objectContaining({ type: "tool_result", outcome: "ok", output: "Echo: Ahoy" }),
  );

  const { servers } = valueOf(await client.listMcpServers());
  expect(servers).toMatchObject([{ name: "everything", kind: "program", state: "ready" }]);
  expect(servers[0]?.tools).toContainEqual({ name: "everything__echo", remote: "echo" });
  const unknown = await client.restartMcpServer({ params: { name: "nobody" } });
  expect(unknown).toMatchObject({ ok: false, error: { code: "mcp_server_not_found" } });
  expect(processesWith(marker)).not.toEqual([]);
  host.signal("SIGTERM");
  expect(await host.exited).toMatchObject({ code: 0 });
  expect(processesWith(marker)).toEqual([]);
});
