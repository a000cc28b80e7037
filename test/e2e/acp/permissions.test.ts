import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { methods, type RequestPermissionResponse } from "@agentclientprotocol/sdk";
import { expect, test } from "vitest";
import { followUntil, hasEnded, serveWithClient, valueOf } from "../served-host.ts";
import { openEditor } from "./editor.ts";
import { asId, makeProject, serveProject } from "./project.ts";

const choose = (optionId: string): RequestPermissionResponse => ({
  outcome: { outcome: "selected", optionId },
});
const terminal = (command: string[]): string => `{tool:terminal ${JSON.stringify({ command })}}`;
const { session: calls } = methods.agent;

test("[P7] a permission request shows the very command, and a yes in the editor runs it once", async () => {
  const { project, settings } = await serveProject();
  const editor = await openEditor({ settings, onPermission: () => choose("once") });
  const { sessionId } = await editor.newSession(project);
  const command = ["sh", "-c", "echo a 'b' >> effects"];
  expect(await editor.prompt(sessionId, terminal(command))).toEqual({ stopReason: "end_turn" });
  expect(editor.permissions).toHaveLength(1);
  const [request] = editor.permissions;
  expect(request?.toolCall).toMatchObject({
    title: String.raw`terminal: sh -c 'echo a '\''b'\'' >> effects'`,
    kind: "execute",
    rawInput: { command },
  });
  expect(request?.options.map(({ optionId, kind }) => `${optionId} ${kind}`)).toEqual([
    "once allow_once",
    "session allow_always",
    "always allow_always",
    "deny reject_once",
  ]);
  expect(readFileSync(join(project, "effects"), "utf8")).toBe("a b\n");
  // The request belongs to a call that the editor knows.
  const announced = editor.updates.some(
    ({ update }) =>
      update.sessionUpdate === "tool_call" && update.toolCallId === request?.toolCall.toolCallId,
  );
  expect(announced).toBe(true);
});

test("an approval that is answered elsewhere is taken back from the editor", async () => {
  const { project, settings, client } = await serveProject();
  const cancelled = Promise.withResolvers<void>();
  const editor = await openEditor({
    settings,
    onPermission: (_, signal) =>
      new Promise((resolve) => {
        signal.addEventListener("abort", () => {
          cancelled.resolve();
          resolve({ outcome: { outcome: "cancelled" } });
        });
      }),
  });
  const { sessionId } = await editor.newSession(project);
  const prompted = editor.prompt(sessionId, terminal(["touch", "made"]));
  await editor.until(() => editor.permissions[0]);
  const [approval] = valueOf(await client.listApprovals()).approvals;
  const params = { id: approval!.approvalId };
  valueOf(await client.answerApproval({ params, body: { decision: "once" } }));
  await cancelled.promise;
  expect(await prompted).toEqual({ stopReason: "end_turn" });
  expect(existsSync(join(project, "made"))).toBe(true);
});

test("[safety] an outcome that was not offered, a dismissal and a failure approve nothing", async () => {
  const { project, settings, client } = await serveProject();
  const outcomes: (() => RequestPermissionResponse)[] = [
    () => choose("yes-to-all"),
    () => ({ outcome: { outcome: "cancelled" } }),
    () => ({ outcome: { outcome: "approved" } }) as never,
    () => {
      throw new Error("the editor broke");
    },
  ];
  for (const [index, outcome] of outcomes.entries()) {
    const editor = await openEditor({ settings, onPermission: outcome });
    const { sessionId } = await editor.newSession(project);
    const prompted = editor.prompt(sessionId, terminal(["touch", `made-${index}`]));
    await editor.until(() => editor.permissions[0]);
    // Answered here only after the editor's answer has been taken in.
    await editor.agent.request(calls.list, { cwd: project });
    const { approvals } = valueOf(
      await client.listApprovals({ query: { sessionId: asId(sessionId) } }),
    );
    expect(approvals).toMatchObject([{ state: "open" }]);
    const params = { id: approvals[0]!.approvalId };
    valueOf(await client.answerApproval({ params, body: { decision: "deny" } }));
    expect(await prompted).toEqual({ stopReason: "end_turn" });
    expect(existsSync(join(project, `made-${index}`))).toBe(false);
    await editor.kill();
  }
});

test("what a rule allows is not asked for, and a yes for the session covers the next call", async () => {
  const { project, settings } = await serveProject({
    HOLDFAST_TOOL_RULES: "allow terminal: date *",
  });
  const editor = await openEditor({ settings, onPermission: () => choose("session") });
  const { sessionId } = await editor.newSession(project);
  await editor.prompt(sessionId, terminal(["date", "-u"]));
  expect(editor.permissions).toEqual([]);
  await editor.prompt(sessionId, terminal(["uname", "-s"]));
  await editor.prompt(sessionId, terminal(["uname", "-s"]));
  expect(editor.permissions).toHaveLength(1);
});

test("a cancel while an approval is open ends the run, and nothing runs", async () => {
  const { project, settings, client } = await serveProject();
  const editor = await openEditor({
    settings,
    onPermission: (_, signal) =>
      new Promise((resolve) => {
        signal.addEventListener("abort", () => resolve({ outcome: { outcome: "cancelled" } }));
      }),
  });
  const { sessionId } = await editor.newSession(project);
  const prompted = editor.prompt(sessionId, terminal(["touch", "made"]));
  await editor.until(() => editor.permissions[0]);
  await editor.agent.notify(calls.cancel, { sessionId });
  expect(await prompted).toEqual({ stopReason: "cancelled" });
  expect(existsSync(join(project, "made"))).toBe(false);
  expect(valueOf(await client.listApprovals()).approvals).toEqual([]);
});

const ask = (input: object): string => `{tool:ask_user ${JSON.stringify(input)}}`;

test("a question is asked in a form where the editor has them, and by its choices elsewhere", async () => {
  const { project, settings, client } = await serveProject();
  const asked: unknown[] = [];
  const withForms = await openEditor({
    settings,
    capabilities: { elicitation: { form: {} } },
    onQuestion: (request) => {
      asked.push(request);
      return { action: "accept", content: { answer: "In the harbour" } };
    },
  });
  const { sessionId } = await withForms.newSession(project);
  await withForms.prompt(sessionId, ask({ question: "Where is it?" }));
  expect(asked).toMatchObject([{ mode: "form", sessionId, message: "Where is it?" }]);
  expect(withForms.permissions).toEqual([]);
  const read = valueOf(await client.readSession({ params: { id: asId(sessionId) } }));
  expect(JSON.stringify(read.entries)).toContain("In the harbour");

  const without = await openEditor({ settings, onPermission: () => choose("choice-1") });
  const other = await without.newSession(project);
  await without.prompt(other.sessionId, ask({ question: "Which?", choices: ["ebb", "flood"] }));
  expect(without.permissions[0]).toMatchObject({
    toolCall: { title: "Which?" },
    options: [{ name: "ebb" }, { name: "flood" }, { kind: "reject_once" }],
  });
  const second = valueOf(await client.readSession({ params: { id: asId(other.sessionId) } }));
  expect(JSON.stringify(second.entries)).toContain('"output":"flood"');
});

test("with no roots configured, the person is asked once for a folder, and it is remembered", async () => {
  const { settings, client } = await serveProject();
  const project = makeProject();
  let answer = "no";
  const editor = await openEditor({
    settings,
    onPermission: ({ toolCall }) =>
      choose(toolCall.title?.startsWith("Let Holdfast work in") === true ? answer : "once"),
  });
  const { sessionId } = await editor.newSession(project);
  await expect(editor.prompt(sessionId, "Hello {words:2}")).rejects.toMatchObject({
    code: -32_602,
    message: expect.stringContaining("holdfast workspaces allow") as string,
  });
  const before = valueOf(await client.readSession({ params: { id: asId(sessionId) } })).session;
  expect(before).toMatchObject({ workspace: null, messageCount: 0 });
  answer = "allow-folder";
  expect(await editor.prompt(sessionId, terminal(["touch", "made"]))).toEqual({
    stopReason: "end_turn",
  });
  expect(editor.permissions[1]?.toolCall).toMatchObject({
    title: `Let Holdfast work in ${project}`,
    rawInput: { folder: project },
  });
  expect(existsSync(join(project, "made"))).toBe(true);
  const count = editor.permissions.length;
  const again = await editor.newSession(project);
  await editor.prompt(again.sessionId, "Hello {words:2}");
  expect(editor.permissions).toHaveLength(count);
});

test("[safety] no session works in the root, the home folder or Holdfast's home, or beside the operator's roots", async () => {
  const { settings, client, home } = await serveProject();
  const editor = await openEditor({ settings });
  for (const cwd of ["/", homedir(), home, "relative/path"])
    await expect(editor.newSession(cwd)).rejects.toMatchObject({ code: -32_602 });
  expect(valueOf(await client.listSessions()).sessions).toEqual([]);

  const root = makeProject();
  const bound = await serveWithClient({ HOLDFAST_WORKSPACE_ROOTS: root });
  const other = await openEditor({ settings: { HOLDFAST_HOME: bound.home } });
  await expect(other.newSession(makeProject())).rejects.toMatchObject({
    code: -32_602,
    message: expect.stringContaining(root) as string,
  });
  expect(await other.newSession(root)).toMatchObject({ sessionId: expect.any(String) as string });
});

test("[safety] an editor with a limited profile sees its own sessions alone, and is asked for nothing", async () => {
  const { project, settings, client } = await serveProject();
  const free = await openEditor({ settings, name: "Free Editor" });
  const hidden = await free.newSession(project);
  await free.prompt(hidden.sessionId, "The word is periwinkle {words:2}");
  const limits = { sessions: "own", memory: "none", approvals: false } as const;
  const readers = { tools: ["*"], ...limits };
  valueOf(await client.putRightsProfile({ params: { name: "readers" }, body: readers }));
  const subject = "lane:acp:guest" as never;
  valueOf(await client.assignRights({ body: { subject, profile: "readers" } }));

  const guest = await openEditor({ settings, args: ["--editor", "guest"], name: "Free Editor" });
  const own = await guest.newSession(project);
  const listed = await guest.agent.request(calls.list, { cwd: project });
  expect(listed.sessions.map(({ sessionId }) => sessionId)).toEqual([own.sessionId]);
  for (const attempt of [
    () => guest.load(hidden.sessionId, project),
    () => guest.agent.request(calls.resume, { sessionId: hidden.sessionId, cwd: project }),
    () => guest.prompt(hidden.sessionId, "Hello"),
    () =>
      guest.agent.request(calls.setConfigOption, {
        sessionId: hidden.sessionId,
        configId: "model",
        value: "rehearsal",
      }),
  ])
    await expect(attempt()).rejects.toMatchObject({ code: -32_002 });
  await guest.prompt(own.sessionId, "/search periwinkle");
  expect(guest.text()).not.toContain("The word is");
  await free.prompt(hidden.sessionId, "/search periwinkle");
  expect(free.text()).toContain("periwinkle");

  const prompted = guest.prompt(own.sessionId, terminal(["touch", "made"]));
  const id = asId(own.sessionId);
  await followUntil(client, id, ({ live }) => (live?.approvals.length ?? 0) > 0);
  await guest.agent.request(calls.list, {});
  expect(guest.permissions).toEqual([]);
  const [approval] = valueOf(await client.listApprovals({ query: { sessionId: id } })).approvals;
  const params = { id: approval!.approvalId };
  valueOf(await client.answerApproval({ params, body: { decision: "deny" } }));
  await prompted;
  await followUntil(client, id, hasEnded);
});

test("[safety] an editor that answers no approvals widens no mode and allows no folder", async () => {
  const { project, settings, client } = await serveProject();
  const limits = { sessions: "own", memory: "none", approvals: false } as const;
  const body = { tools: ["*"], ...limits };
  valueOf(await client.putRightsProfile({ params: { name: "readers" }, body }));
  valueOf(await client.assignRights({ body: { subject: "editors", profile: "readers" } }));
  const editor = await openEditor({ settings, onPermission: () => choose("allow-folder") });
  const { sessionId } = await editor.newSession(project);
  const params = { id: asId(sessionId) };
  const readMode = async () => valueOf(await client.readSession({ params })).session.mode;
  await editor.agent.request(calls.setMode, { sessionId, modeId: "plan" });
  expect(await readMode()).toBe("plan");
  await expect(
    editor.agent.request(calls.setMode, { sessionId, modeId: "full" }),
  ).rejects.toMatchObject({ message: expect.stringContaining("wider mode") as string });
  const option = { sessionId, configId: "mode", value: "ask" };
  await expect(editor.agent.request(calls.setConfigOption, option)).rejects.toThrow("wider mode");
  await editor.prompt(sessionId, "/mode full");
  expect(await readMode()).toBe("plan");

  const other = makeProject();
  await expect(editor.newSession(other)).rejects.toMatchObject({
    code: -32_602,
    message: expect.stringContaining("holdfast workspaces allow") as string,
  });
  expect(editor.permissions).toEqual([]);
});

test("[safety] a bridge with an API key reaches the sessions of that key alone", async () => {
  const { project, address, client } = await serveProject();
  const { session } = valueOf(await client.createSession({ body: { workspace: project } }));
  const { secret } = valueOf(await client.createKey({ body: { name: "laptop" } }));
  const settings = { HOLDFAST_HOME: makeProject() };
  const editor = await openEditor({ settings, args: ["--url", address, "--key", secret] });
  expect((await editor.agent.request(calls.list, {})).sessions).toEqual([]);
  await expect(editor.load(session.id, project)).rejects.toMatchObject({ code: -32_002 });
  // The owner's yes to a folder is not one for the key: it gets a folder of its own on the host, and is told so.
  const own = await editor.newSession(project);
  await editor.prompt(own.sessionId, "Hello {words:2}");
  expect(editor.text()).toContain(`not in ${project} on your machine`);
  const other = await editor.newSession(project);
  const first = await editor.agent.request(calls.list, { cwd: project });
  const cursor = first.nextCursor ?? "";
  const rest = await editor.agent.request(calls.list, { cwd: project, cursor });
  expect(rest.nextCursor ?? null).toBeNull();
  expect([...first.sessions, ...rest.sessions]).toMatchObject([
    { sessionId: other.sessionId, cwd: project },
    { sessionId: own.sessionId, cwd: project },
  ]);
  expect(
    valueOf(await client.listSessions({ query: { workspace: project } })).sessions,
  ).toHaveLength(1);
});
