import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { requirePage } from "./page/require-page.ts";
import { followUntil, hasEnded, serveWithClient, valueOf, makeFolder } from "./served-host.ts";

beforeEach(requirePage);

const main = join(
  import.meta.dirname,
  "../../node_modules/@modelcontextprotocol/server-everything/dist/index.js",
);

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test("a tool of an MCP server in config.json asks for approval, runs, and its server ends with the host", async () => {
  const home = join(makeFolder(), "home");
  mkdirSync(home);
  const program = `const fs = require("node:fs"); fs.writeFileSync(${JSON.stringify(join(home, "pid"))}, String(process.pid)); import(${JSON.stringify(main)})`;
  const everything = { command: process.execPath, args: ["-e", program] };
  writeFileSync(join(home, "config.json"), JSON.stringify({ mcp: { everything } }));
  const { client, host } = await serveWithClient({ HOLDFAST_HOME: home });
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
  const pid = Number(readFileSync(join(home, "pid"), "utf8"));
  expect(isThere(pid)).toBe(true);
  host.signal("SIGTERM");
  expect(await host.exited).toMatchObject({ code: 0 });
  expect(isThere(pid)).toBe(false);
});
