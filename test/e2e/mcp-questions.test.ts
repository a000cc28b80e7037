import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "@holdfast/client";
import type { SessionId } from "@holdfast/protocol";
import { beforeEach, expect, test } from "vitest";
import { requirePage } from "./page/require-page.ts";
import { followUntil, hasEnded, serveWithClient, valueOf, makeFolder } from "./served-host.ts";

beforeEach(requirePage);

const main = join(
  import.meta.dirname,
  "../../node_modules/@modelcontextprotocol/server-everything/dist/index.js",
);

/** Calls the tool of the official example server that asks for a form, up to its question. */
async function askThrough(client: Client, id: SessionId) {
  const params = { id };
  const text = "{tool:everything__trigger-elicitation-request {}}";
  valueOf(await client.sendMessage({ params, body: { clientId: "one", text } }));
  await followUntil(client, id, ({ run }) => run?.state === "waiting");
  const [approval] = valueOf(await client.listApprovals()).approvals;
  const body = { decision: "once" as const };
  valueOf(await client.answerApproval({ params: { id: approval!.approvalId }, body }));
  await followUntil(client, id, ({ live }) => live?.approvals[0]?.inCall === true);
  const [question] = valueOf(await client.listApprovals()).approvals;
  return question!;
}

async function resultsIn(client: Client, id: SessionId) {
  const { entries } = valueOf(await client.readSession({ params: { id } }));
  return entries
    .flatMap((entry) => (entry.type === "message" ? entry.parts : []))
    .filter((part) => part.type === "tool_result");
}

test("[P7] a server's question survives nothing but its call: answered it goes on, killed it is closed", async () => {
  const home = join(makeFolder(), "home");
  mkdirSync(home);
  const everything = { command: process.execPath, args: [main, "stdio"] };
  writeFileSync(join(home, "config.json"), JSON.stringify({ mcp: { everything } }));
  const first = await serveWithClient({ HOLDFAST_HOME: home });
  const stateOf = async (client: Client) =>
    valueOf(await client.listMcpServers()).servers[0]?.state;
  await expect.poll(() => stateOf(first.client)).toBe("ready");
  const { session } = valueOf(await first.client.createSession({ body: {} }));
  const question = await askThrough(first.client, session.id);
  expect(question).toMatchObject({ kind: "question", input: { server: "everything" } });
  const answer = { decision: "once" as const, answer: "String: Ada\nInteger: 7" };
  const params = { id: question.approvalId };
  valueOf(await first.client.answerApproval({ params, body: answer }));
  await followUntil(first.client, session.id, hasEnded);
  const [result] = await resultsIn(first.client, session.id);
  expect(result?.outcome).toBe("ok");
  expect(result?.output).toContain('"integer": 7');

  const { session: other } = valueOf(await first.client.createSession({ body: {} }));
  const lost = await askThrough(first.client, other.id);
  first.host.signal("SIGKILL");
  await first.host.exited;
  const { client } = await serveWithClient({ HOLDFAST_HOME: home });
  await followUntil(client, other.id, hasEnded);
  expect((await resultsIn(client, other.id)).map(({ outcome }) => outcome)).toEqual(["unknown"]);
  expect(valueOf(await client.listApprovals()).approvals).toEqual([]);
  const late = await client.answerApproval({ params: { id: lost.approvalId }, body: answer });
  expect(late).toMatchObject({ ok: false, error: { code: "approval_answered" } });
});
