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
const ls = (...args: string[]) => calls("terminal", { command: ["ls", ...args] });
const echo = (...args: string[]) => calls("terminal", { command: ["echo", ...args] });

test("[safety] an always-allow answer becomes a rule that every session follows, that is audited and can be removed", async () => {
  const { rig, client, ran, say, asked } = open([
    ls("a"),
    says("One."),
    ls("b"),
    says("Two."),
    ls("c"),
    says("Three."),
  ]);
  const [first, second] = [await newSession(rig), await newSession(rig)];
  await say(first, "Look");
  const approval = await asked(first);
  expect(approval).toMatchObject({
    rules: ["terminal: ls a", "terminal: ls *"],
    shown: expect.stringContaining('"ls"') as unknown,
  });
  const params = { id: approval.approvalId };
  const word = (rule: string) => ({ params, body: { decision: "always", rule } as const });
  for (const rule of [
    "terminal: ls b",
    "terminal: id *",
    "made up",
    "write_file in **",
    "terminal",
  ])
    expect(await client.answerApproval(word(rule))).toMatchObject({
      error: { code: "invalid_request" },
    });
  const answered = valueOf(await client.answerApproval(word("terminal: ls *")));
  expect(answered.approval).toMatchObject({ rule: "terminal: ls *", by: "owner (token)" });
  const { rules } = valueOf(await client.listRules());
  expect(rules).toMatchObject([{ id: approval.approvalId, rule: "terminal: ls *" }]);
  await untilEnded(rig, first);

  await say(second, "Look again");
  await untilEnded(rig, second);
  expect(ran).toEqual([{ command: ["ls", "a"] }, { command: ["ls", "b"] }]);
  const { entries } = valueOf(await client.listAudit());
  expect(entries).toMatchObject([
    {
      what: "always",
      rule: "terminal: ls *",
      by: "owner (token)",
      rights: "owner",
      sessionId: first,
    },
  ]);
  const there = valueOf(await client.listAudit({ query: { sessionId: second } }));
  expect(there.entries).toMatchObject([
    { what: "ran", rule: "terminal: ls *", tool: "terminal", rights: "owner" },
  ]);

  const remove = { params: { id: approval.approvalId } };
  valueOf(await client.removeRule(remove));
  expect(await client.removeRule(remove)).toMatchObject({ error: { code: "rule_not_found" } });
  expect(valueOf(await client.listRules()).rules).toEqual([]);
  // It is asked for again everywhere, also where it was allowed.
  await say(first, "And again");
  expect((await asked(first)).input).toEqual({ command: ["ls", "c"] });
  expect(ran).toHaveLength(2);
});

test("[safety] an operator's ask is asked each time: no earlier answer covers it, and only once or deny is accepted", async () => {
  const { rig, client, ran, say, asked } = open(
    [echo("hello"), echo("danger", "zone"), says("Done.")],
    {
      toolRules: ["ask terminal: echo danger *"],
    },
  );
  const session = await newSession(rig);
  await say(session, "Go");
  const first = await asked(session);
  const always = { decision: "always", rule: "terminal: echo *" } as const;
  valueOf(await client.answerApproval({ params: { id: first.approvalId }, body: always }));
  await expect.poll(async () => (await asked(session)).approvalId).not.toBe(first.approvalId);
  const second = await asked(session);
  expect(second).toMatchObject({ onceOnly: true, input: { command: ["echo", "danger", "zone"] } });
  expect(second.rules).toBeUndefined();
  const params = { id: second.approvalId };
  for (const decision of ["session", "always"] as const)
    expect(await client.answerApproval({ params, body: { decision } })).toMatchObject({
      error: { code: "invalid_request" },
    });
  expect(ran).toHaveLength(1);
  valueOf(await client.answerApproval({ params, body: { decision: "once" } }));
  await untilEnded(rig, session);
  expect(ran).toHaveLength(2);
});

test("[safety] what was allowed for a session is listed, and once it is revoked, the person is asked again", async () => {
  const { rig, client, ran, say, asked } = open([
    ls("a"),
    says("One."),
    ls("a"),
    says("Two."),
    ls("a"),
  ]);
  const session = await newSession(rig);
  await say(session, "Look");
  const { approvalId: id } = await asked(session);
  const body = { decision: "session", lastsSeconds: 3_600 } as const;
  valueOf(await client.answerApproval({ params: { id }, body }));
  await untilEnded(rig, session);
  await say(session, "Look again");
  await untilEnded(rig, session);
  expect(ran).toHaveLength(2);
  const { grants, nextCursor } = valueOf(
    await client.listGrants({ query: { sessionId: session } }),
  );
  expect([grants, nextCursor]).toMatchObject([
    [{ id, sessionId: session, tool: "terminal", rule: "terminal: ls a", by: "owner (token)" }],
    null,
  ]);
  expect(grants.map(({ madeAt, until = 0 }) => until - madeAt)).toEqual([3_600_000]);
  valueOf(await client.revokeGrant({ params: { id } }));
  expect(valueOf(await client.listGrants()).grants).toEqual([]);
  expect(await client.revokeGrant({ params: { id: ids.make("approval") } })).toMatchObject({
    error: { code: "grant_not_found" },
  });
  await say(session, "And again");
  expect((await asked(session)).input).toEqual({ command: ["ls", "a"] });
  expect(ran).toHaveLength(2);
});

test("[safety] a yes with a time limit covers nothing and is listed no more once its time is over", async () => {
  let now = Date.now();
  const { rig, client, ran, say, asked } = open(
    [ls("a"), says("One."), ls("a"), says("Two."), ls("a")],
    { storeClock: () => now },
  );
  const session = await newSession(rig);
  await say(session, "Look");
  const { approvalId: id } = await asked(session);
  const body = { decision: "session", lastsSeconds: 3_600 } as const;
  valueOf(await client.answerApproval({ params: { id }, body }));
  await untilEnded(rig, session);
  now += 3_599_999;
  await say(session, "Look again");
  await untilEnded(rig, session);
  expect(ran).toHaveLength(2);
  expect(valueOf(await client.listGrants()).grants).toMatchObject([{ id }]);
  now += 1;
  expect(valueOf(await client.listGrants()).grants).toEqual([]);
  await say(session, "And again");
  await asked(session);
  expect(ran).toHaveLength(2);
});

test("[safety] a call that is too long to show in full can only be denied", async () => {
  const { rig, client, say, asked } = open([
    calls("terminal", { command: `echo ${"ab\u200B".repeat(20_000)}` }),
    says("Well."),
  ]);
  const session = await newSession(rig);
  await say(session, "Go");
  const { approvalId: id, hidden } = await asked(session);
  expect(hidden).toBeGreaterThan(0);
  for (const decision of ["once", "session", "always"] as const)
    expect(await client.answerApproval({ params: { id }, body: { decision } })).toMatchObject({
      error: { code: "invalid_request" },
    });
  valueOf(await client.answerApproval({ params: { id }, body: { decision: "deny" } }));
  await untilEnded(rig, session);
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
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-workspaces-")));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [home, root] = [join(folder, "home"), join(folder, "root")];
  mkdirSync(home);
  mkdirSync(join(root, "project"), { recursive: true });
  const { client } = open([], { home, workspaceRoots: [root] });
  const create = (workspace: string) => client.createSession({ body: { workspace } });
  const refused = { error: { code: "invalid_request" } };
  for (const workspace of [
    "/etc",
    "/",
    `${root}/..`,
    `${root}/nowhere`,
    "../x",
    "a/b",
    `${root}\0`,
  ])
    expect(await create(workspace)).toMatchObject(refused);
  const { session } = valueOf(await create(join(root, "project")));
  expect(session.workspace).toBe(join(root, "project"));
  expect(valueOf(await create("my project")).session.workspace).toBe("my project");
  const params = { id: session.id };
  expect(await client.changeSession({ params, body: { workspace: "/etc" } })).toMatchObject(
    refused,
  );
  expect(
    valueOf(await client.changeSession({ params, body: { workspace: null } })).session.workspace,
  ).toBeNull();
});
