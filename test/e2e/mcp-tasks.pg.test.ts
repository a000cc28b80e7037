import { expect, describe, test } from "vitest";
import { type ApplicationElicitResult } from "@modelcontextprotocol/ext-tasks/client";
import { type JsonValue } from "@modelcontextprotocol/ext-tasks/core";
import { type SessionId } from "@holdfast/protocol";
import { connectTasks, type McpTasks, overHttp, overStdio, type RunAnswer } from "./mcp-client.ts";
import { followUntil, makeFolder, serveWithClient, settledText, valueOf } from "./served-host.ts";
import { shareStore, storeKinds } from "./shared-store.ts";

interface Task {
  readonly taskId: string;
  readonly status: string;
  readonly result?: { readonly structuredContent: RunAnswer };
}

async function asked({ ask }: McpTasks, method: string, params: Record<string, JsonValue>) {
  const answer = await ask(method, params);
  if (answer.kind === "error") throw new Error(JSON.stringify(answer.error));
  return answer.result as unknown as Task;
}

async function begin(tasks: McpTasks, text: string): Promise<string> {
  const call = { name: "session_send", arguments: { text, message_id: "the-one" } };
  const created = await asked(tasks, "tools/call", call);
  expect(created).toMatchObject({ resultType: "task", status: "working", ttlMs: null });
  return created.taskId;
}

const terminal = `{tool:terminal ${JSON.stringify({ command: "echo run >> effects; cat effects" })}}`;

describe.each(storeKinds)("on %s", (kind) => {
  async function hostSettings(more: Record<string, string> = {}) {
    const home = makeFolder();
    return { HOLDFAST_HOME: home, HOLDFAST_LEASE_MS: "3000", ...(await shareStore(kind)), ...more };
  }

  test("[P6] a task is polled to its end through two kill -9 of the host, and sending it again begins no other", async () => {
    const settings = await hostSettings();
    let taskId = "";
    for (const words of [5, 20]) {
      const { host, address, token, client } = await serveWithClient(settings);
      const tasks = await connectTasks(overHttp(address, token));
      const again = await begin(tasks, "{rate:10} {words:60}");
      taskId ||= again;
      expect(again).toBe(taskId);
      const { sessions } = valueOf(await client.listSessions());
      expect(sessions).toHaveLength(1);
      await followUntil(client, sessions[0]!.id, ({ live }) => {
        const text = live?.messages.flatMap(({ parts }) => parts.map((part) => part.text)).join("");
        return (text ?? "").split(" ").length > words;
      });
      expect(await asked(tasks, "tasks/get", { taskId })).toMatchObject({ status: "working" });
      await host.kill();
    }

    const { address, token, client } = await serveWithClient(settings);
    const tasks = await connectTasks(overHttp(address, token));
    await expect
      .poll(async () => (await asked(tasks, "tasks/get", { taskId })).status)
      .toBe("completed");
    const { result } = await asked(tasks, "tasks/get", { taskId });
    const session = result!.structuredContent.session_id as SessionId;
    expect(result!.structuredContent.text).toBe(await settledText(client, session));
    expect(valueOf(await client.listSessions()).sessions).toHaveLength(1);
  });

  test("an approval is a form if the operator lets MCP clients answer: the client's yes runs the command once", async () => {
    const settings = await hostSettings({ HOLDFAST_MCP_APPROVALS: "on" });
    const { home } = await serveWithClient(settings);
    const seen: string[] = [];
    const { session } = await connectTasks(overStdio(home), {
      elicit({ mode, message }): ApplicationElicitResult {
        seen.push(JSON.stringify([mode, message]));
        return { action: "accept", content: { decision: "once" } };
      },
    });
    const execution = await session.callTool("session_send", { text: terminal, message_id: "1" });
    const { outcome } = await execution.settle();
    expect(outcome).toMatchObject({ status: "completed" });
    expect(seen).toHaveLength(1);
    expect(seen[0]).toMatch(/^\["form",.*echo run >> effects/);
  });

  test("[safety] an approval is a link to the page otherwise: only the answer given there lets the command run", async () => {
    const { address, token, client } = await serveWithClient(await hostSettings());
    const tasks = await connectTasks(overHttp(address, token), {
      elicit: (): ApplicationElicitResult => ({ action: "accept" }),
    });
    const taskId = await begin(tasks, terminal);
    await expect
      .poll(async () => (await asked(tasks, "tasks/get", { taskId })).status)
      .toBe("input_required");
    const [approval] = valueOf(await client.listApprovals()).approvals;
    const { approvalId: id, sessionId } = approval!;
    expect(await asked(tasks, "tasks/get", { taskId })).toMatchObject({
      inputRequests: {
        [id]: { params: { mode: "url", url: `${address}?session=${sessionId}` } },
      },
    });
    const inputResponses = { [id]: { action: "accept", content: { decision: "once" } } };
    expect(await tasks.ask("tasks/update", { taskId, inputResponses })).toMatchObject({
      kind: "error",
      error: { code: -32602, data: { code: "mcp_approvals_off" } },
    });
    const answer = { approval_id: id, decision: "once" };
    const refused = await tasks.ask("tools/call", { name: "approvals_answer", arguments: answer });
    expect(refused).toMatchObject({
      result: { isError: true, structuredContent: { error: { code: "mcp_approvals_off" } } },
    });
    expect(valueOf(await client.listApprovals()).approvals).toHaveLength(1);

    valueOf(await client.answerApproval({ params: { id }, body: { decision: "once" } }));
    await expect
      .poll(async () => (await asked(tasks, "tasks/get", { taskId })).status)
      .toBe("completed");
  });
});
