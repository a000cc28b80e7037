import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { type Client } from "@holdfast/client";
import { type RunState, type SessionId } from "@holdfast/protocol";
import { requirePage } from "./page/require-page.ts";
import { serveWithClient, valueOf } from "./served-host.ts";

beforeEach(requirePage);

async function until(client: Client, id: SessionId, state: RunState): Promise<void> {
  for await (const item of client.open(id)) {
    if (item.kind === "ended") throw new Error(JSON.stringify(item.error));
    if (item.kind === "state" && item.state.run?.state === state) return;
  }
}

test("[P7] after a kill while an approval is open, the allowed command runs once and the run completes", async () => {
  const first = await serveWithClient({ HOLDFAST_LEASE_MS: "3000" });
  const command = "echo run >> effects; cat effects";
  const text = `{tool:terminal ${JSON.stringify({ command })}}`;
  const { session } = valueOf(await first.client.createSession({ body: {} }));
  const params = { id: session.id };
  await Promise.all([
    until(first.client, session.id, "waiting"),
    first.client.sendMessage({ params, body: { clientId: "one", text } }),
  ]);
  await first.host.kill();

  const { client, home } = await serveWithClient({
    HOLDFAST_HOME: first.home,
    HOLDFAST_LEASE_MS: "3000",
  });
  const [approval] = valueOf(await client.listApprovals()).approvals;
  expect(approval).toMatchObject({ name: "terminal", input: { command }, state: "open" });
  const answer = { params: { id: approval!.approvalId }, body: { decision: "once" as const } };
  const answers = await Promise.all([client.answerApproval(answer), client.answerApproval(answer)]);
  for (const response of answers) expect(valueOf(response).approval.decision).toBe("once");
  await until(client, session.id, "completed");

  expect(readFileSync(join(home, "workspaces", session.id, "effects"), "utf8")).toBe("run\n");
  const { entries, run } = valueOf(await client.readSession({ params }));
  expect(run).toMatchObject({ state: "completed", attempt: 0 });
  const results = entries.flatMap((entry) => (entry.type === "message" ? entry.parts : []));
  expect(results).toContainEqual(
    expect.objectContaining({ type: "tool_result", outcome: "ok", output: "run\n" }),
  );
  expect(valueOf(await client.listApprovals()).approvals).toEqual([]);
});
