import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Tool } from "@holdfast/engine";
import { createTool, okResult } from "@holdfast/testing/rigs/run-rig";
import { calls, says } from "@holdfast/testing/fakes/scripted-model";
import { ids, type Json, type SessionId } from "@holdfast/protocol";
import { expect, onTestFinished, test } from "vitest";

import { newSession, untilEnded, valueOf } from "../../../test/support/api-helpers.ts";
import { openApi } from "../../../test/support/api-rig.ts";

/** Tools with names that rules know, which record their calls. */
function recordingTools(ran: Json[]): readonly Tool[] {
  const terminal = createTool("terminal", async ({ input }) => okResult(`ran ${ran.push(input)}`), {
    approval: () => "ask",
  });
  const question = createTool(
    "ask_user",
    async ({ answer = "nothing" }) => okResult(`They said ${answer}`),
    {
      approval: () => "question",
    },
  );
  return [terminal, question];
}

function open(script: Parameters<typeof openApi>[0], options: Parameters<typeof openApi>[1] = {}) {
  const ran: Json[] = [];
  const rig = openApi(script, { tools: recordingTools(ran), ...options });
  onTestFinished(async () => {
    await rig.close();
    expect(rig.bugs).toEqual([]);
  });
  const { client } = rig;
  async function say(session: SessionId, text: string): Promise<void> {
    const params = { id: session };
    valueOf(
      await client.sendMessage({ params, body: { clientId: text.replaceAll(" ", "-"), text } }),
    );
  }
  async function asked(session: SessionId) {
    const read = async () =>
      valueOf(await client.listApprovals({ query: { sessionId: session } })).approvals[0];
    await expect.poll(read).toBeDefined();
    const approval = await read();
    if (approval === undefined) throw new Error("Nothing was asked.");
    return approval;
  }
  return { rig, client, ran, say, asked };
}

const git = (...args: string[]) => calls("terminal", { command: ["git", ...args] });

test("an always-allow answer becomes a rule that every session follows, that is audited and can be removed", async () => {
  const { rig, client, ran, say, asked } = open([
    git("status"),
    says("One."),
    git("log"),
    says("Two."),
    git("diff"),
    says("Three."),
  ]);
  const [first, second] = [await newSession(rig), await newSession(rig)];
  await say(first, "Look");
  const approval = await asked(first);
  expect(approval).toMatchObject({
    rules: ["terminal: git status", "terminal: git *"],
    shown: expect.stringContaining('"git"') as unknown,
  });
  const params = { id: approval.approvalId };
  const word = (rule: string) => ({ params, body: { decision: "always", rule } as const });
  for (const rule of ["terminal: git log", "terminal: ls *", "made up", "write_file in **"])
    expect(await client.answerApproval(word(rule))).toMatchObject({
      error: { code: "invalid_request" },
    });
  const answered = valueOf(await client.answerApproval(word("terminal: git *")));
  expect(answered.approval).toMatchObject({ rule: "terminal: git *", by: "owner (token)" });
  const { rules } = valueOf(await client.listRules());
  expect(rules).toMatchObject([{ id: approval.approvalId, rule: "terminal: git *" }]);
  await untilEnded(rig, first);

  await say(second, "Look again");
  await untilEnded(rig, second);
  expect(ran).toEqual([{ command: ["git", "status"] }, { command: ["git", "log"] }]);
  const { entries } = valueOf(await client.listAudit());
  expect(entries).toMatchObject([
    { what: "always", rule: "terminal: git *", by: "owner (token)", sessionId: first },
  ]);
  const there = valueOf(await client.listAudit({ query: { sessionId: second } }));
  expect(there.entries).toMatchObject([{ what: "ran", rule: "terminal: git *", tool: "terminal" }]);

  const remove = { params: { id: approval.approvalId } };
  valueOf(await client.removeRule(remove));
  expect(await client.removeRule(remove)).toMatchObject({ error: { code: "rule_not_found" } });
  expect(valueOf(await client.listRules()).rules).toEqual([]);
  await say(second, "And again");
  expect((await asked(second)).input).toEqual({ command: ["git", "diff"] });
  expect(ran).toHaveLength(2);
});

test("an allow-for-session answer covers what its rule says in that session, and nothing else", async () => {
  const { rig, client, ran, say, asked } = open([
    git("status"),
    git("status"),
    git("push"),
    says("Done."),
  ]);
  const session = await newSession(rig);
  await say(session, "Go");
  const { approvalId } = await asked(session);
  const body = { decision: "session" } as const;
  const answered = valueOf(await client.answerApproval({ params: { id: approvalId }, body }));
  expect(answered.approval.rule).toBe("terminal: git status");
  await expect.poll(async () => (await asked(session)).input).toEqual({ command: ["git", "push"] });
  expect(ran).toHaveLength(2);
  expect(valueOf(await client.listRules()).rules).toEqual([]);
  const later = await asked(session);
  await client.answerApproval({ params: { id: later.approvalId }, body: { decision: "deny" } });
  await untilEnded(rig, session);
  const audit = async (query: { limit?: number; cursor?: string } = {}) =>
    valueOf(await client.listAudit({ query: { sessionId: session, ...query } }));
  expect((await audit()).entries.map(({ what }) => what)).toEqual(["session", "ran", "deny"]);
  const page = await audit({ limit: 2 });
  const rest = await audit({ limit: 2, cursor: page.nextCursor ?? "" });
  expect([...page.entries, ...rest.entries].map(({ what }) => what)).toEqual([
    "session",
    "ran",
    "deny",
  ]);
  expect((await rig.ask("GET", "/api/audit?cursor=x")).status).toBe(400);
  const nobodys = { query: { sessionId: ids.make("session") } };
  expect(await client.listAudit(nobodys)).toMatchObject({ error: { code: "session_not_found" } });
});

test("an allow-for-session answer to a call that no rule can express covers that call alone", async () => {
  const long = calls("terminal", { command: `echo ${"a".repeat(3_000)}` });
  const { rig, client, ran, say, asked } = open([long, long, git("push"), says("Done.")]);
  const session = await newSession(rig);
  await say(session, "Go");
  const first = await asked(session);
  expect(first.rules).toBeUndefined();
  const answer = (id: typeof first.approvalId, decision: "session" | "deny") =>
    client.answerApproval({ params: { id }, body: { decision } });
  valueOf(await answer(first.approvalId, "session"));
  await expect.poll(async () => (await asked(session)).input).toEqual({ command: ["git", "push"] });
  expect(ran).toHaveLength(2);
  valueOf(await answer((await asked(session)).approvalId, "deny"));
  await untilEnded(rig, session);
  expect(ran).toHaveLength(2);
});

test("a question waits, accepts only a text answer, and the run continues with it", async () => {
  const question = calls("ask_user", { question: "Which colour?", choices: ["red", "blue"] });
  const { rig, client, say, asked } = open([question, says("Thank you.")]);
  const session = await newSession(rig);
  await say(session, "Paint it");
  const approval = await asked(session);
  expect(approval).toMatchObject({ kind: "question", name: "ask_user" });
  const read = valueOf(await client.readSession({ params: { id: session } }));
  expect(read.live?.approvals).toMatchObject([{ kind: "question" }]);
  const params = { id: approval.approvalId };
  for (const body of [
    { decision: "once" },
    { decision: "always", answer: "blue" },
    { decision: "deny", answer: "blue" },
    { decision: "once", answer: "blue", rule: "ask_user" },
  ] as const)
    expect(await client.answerApproval({ params, body })).toMatchObject({
      error: { code: "invalid_request" },
    });
  const body = { decision: "once", answer: "blue" } as const;
  expect(valueOf(await client.answerApproval({ params, body })).approval.answer).toBe("blue");
  expect(valueOf(await client.answerApproval({ params, body })).approval.answer).toBe("blue");
  const other = { decision: "once", answer: "red" } as const;
  expect(await client.answerApproval({ params, body: other })).toMatchObject({
    error: { code: "approval_answered" },
  });
  await untilEnded(rig, session);
  const { entries } = valueOf(await client.readSession({ params: { id: session } }));
  expect(JSON.stringify(entries)).toContain("They said blue");
});

test("a text answer to an approval that is no question is refused", async () => {
  const { client, rig, say, asked } = open([git("status"), says("Done.")]);
  const session = await newSession(rig);
  await say(session, "Go");
  const { approvalId } = await asked(session);
  const body = { decision: "once", answer: "yes" } as const;
  expect(await client.answerApproval({ params: { id: approvalId }, body })).toMatchObject({
    error: { code: "invalid_request" },
  });
});

test("[CVE-2026-22677] a session accepts an allowed workspace and refuses others at once", async () => {
  const home = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-workspaces-")));
  onTestFinished(() => rmSync(home, { recursive: true }));
  mkdirSync(join(home, "project"));
  const { client } = open([], { home });
  const create = (workspace: string) => client.createSession({ body: { workspace } });
  const refused = { error: { code: "invalid_request" } };
  for (const workspace of [
    "/etc",
    "/",
    `${home}/..`,
    `${home}/nowhere`,
    "../x",
    "a/b",
    `${home}\0`,
  ])
    expect(await create(workspace)).toMatchObject(refused);
  const { session } = valueOf(await create(join(home, "project")));
  expect(session.workspace).toBe(join(home, "project"));
  expect(valueOf(await create("my project")).session.workspace).toBe("my project");
  const params = { id: session.id };
  expect(await client.changeSession({ params, body: { workspace: "/etc" } })).toMatchObject(
    refused,
  );
  expect(
    valueOf(await client.changeSession({ params, body: { workspace: null } })).session.workspace,
  ).toBeNull();
});
