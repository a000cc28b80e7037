import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { methods } from "@agentclientprotocol/sdk";
import { expect, test } from "vitest";
import { countWords, followUntil, valueOf } from "../served-host.ts";
import { openEditor, textOf, type Update } from "./editor.ts";
import { asId, serveProject } from "./project.ts";

const { session: calls } = methods.agent;
const messageIdsIn = (updates: readonly { update: Update }[], kind: Update["sessionUpdate"]) => [
  ...new Set(
    updates.flatMap(({ update }) =>
      update.sessionUpdate === kind && "messageId" in update ? [update.messageId] : [],
    ),
  ),
];

test("an editor begins a session in its folder, and its prompt is answered when the run has ended", async () => {
  const { project, settings, client } = await serveProject();
  const editor = await openEditor({ settings });
  expect(editor.initialized).toMatchObject({
    protocolVersion: 1,
    agentInfo: { name: "holdfast" },
    agentCapabilities: {
      loadSession: true,
      promptCapabilities: { image: true, embeddedContext: true, audio: false },
      sessionCapabilities: { list: {}, resume: {}, close: {}, delete: {} },
    },
    authMethods: [],
  });
  const { sessionId, configOptions } = await editor.newSession(project);
  expect(configOptions).toMatchObject([
    { id: "mode", category: "mode", currentValue: "ask" },
    { id: "model", category: "model", currentValue: "rehearsal" },
  ]);
  const commands = await editor.untilUpdate(
    ({ sessionUpdate }) => sessionUpdate === "available_commands_update",
  );
  const offered = "availableCommands" in commands ? commands.availableCommands : [];
  expect(offered.map(({ name }) => name)).toEqual(expect.arrayContaining(["compact", "usage"]));
  expect(await editor.prompt(sessionId, "Hello {think:5} {words:20}")).toEqual({
    stopReason: "end_turn",
  });
  const { entries, session } = valueOf(
    await client.readSession({ params: { id: asId(sessionId) } }),
  );
  expect(session).toMatchObject({ workspace: project, tags: ["acp:test-editor"] });
  const answer = entries.find((entry) => entry.type === "message" && entry.role === "assistant");
  const parts = answer?.type === "message" ? answer.parts : [];
  const [text] = parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
  const [thought] = parts.flatMap((part) => (part.type === "reasoning" ? [part.text] : []));
  expect(countWords(text ?? "")).toBe(20);
  expect(editor.text()).toBe(text);
  expect(editor.text("agent_thought_chunk")).toBe(thought);
  const chunk = await editor.untilUpdate(
    ({ sessionUpdate }) => sessionUpdate === "agent_message_chunk",
  );
  expect(chunk["_meta"]?.holdfast).toEqual({ seq: expect.any(Number) as number, epoch: 0 });
  // The editor shows its own prompts itself.
  expect(editor.text("user_message_chunk")).toBe("");
  const usage = await editor.untilUpdate(({ sessionUpdate }) => sessionUpdate === "usage_update");
  expect(usage).toMatchObject({
    used: expect.any(Number) as number,
    size: expect.any(Number) as number,
  });
  for (const line of editor.stdout().trim().split("\n"))
    expect(JSON.parse(line)).toMatchObject({ jsonrpc: "2.0" });
});

test("[P5] load replays the whole conversation with message ids and then answers, and resume replays nothing", async () => {
  const { project, settings, client } = await serveProject();
  const first = await openEditor({ settings });
  const { sessionId } = await first.newSession(project);
  const id = asId(sessionId);
  for (const word of ["one", "two", "three"]) await first.prompt(sessionId, `${word} {words:5}`);
  await first.kill();

  const second = await openEditor({ settings });
  const loaded = await second.load(sessionId, project);
  expect(loaded).toMatchObject({ configOptions: [{ id: "mode" }, { id: "model" }] });
  const replayed = [...second.updates];
  expect(textOf(replayed, "user_message_chunk")).toBe("one {words:5}two {words:5}three {words:5}");
  const { entries } = valueOf(await client.readSession({ params: { id } }));
  const idsOf = (role: string) =>
    entries.flatMap((entry) =>
      entry.type === "message" && entry.role === role ? [entry.messageId] : [],
    );
  expect(messageIdsIn(replayed, "user_message_chunk")).toEqual(idsOf("user"));
  expect(messageIdsIn(replayed, "agent_message_chunk")).toEqual(idsOf("assistant"));

  const third = await openEditor({ settings });
  const resumed = await third.agent.request(calls.resume, { sessionId, cwd: project });
  expect(resumed).toMatchObject({ configOptions: [{ id: "mode" }, { id: "model" }] });
  const kinds = third.updates.map(({ update }) => update.sessionUpdate);
  expect(kinds.filter((kind) => /message|thought|tool/.test(kind))).toEqual([]);

  // All that follow see what one of them says, each once.
  await third.prompt(sessionId, "four {words:5}");
  await second.untilUpdate(
    (update) =>
      update.sessionUpdate === "user_message_chunk" &&
      textOf([{ update }], "user_message_chunk") === "four {words:5}",
  );
  await second.until(() =>
    messageIdsIn(second.updates, "agent_message_chunk").length === 4 ? true : undefined,
  );
  expect(third.text("user_message_chunk")).toBe("");
  expect(countWords(third.text())).toBe(5);
});

test("sessions are listed by folder, page by page, and a deleted one is in the trash", async () => {
  const { project, settings, client } = await serveProject();
  const editor = await openEditor({ settings });
  valueOf(await client.createSession({ body: { title: "elsewhere" } }));
  const made: string[] = [];
  for (let count = 0; count < 103; count += 1) {
    const { session } = valueOf(await client.createSession({ body: { workspace: project } }));
    made.push(session.id);
  }
  const firstPage = await editor.agent.request(calls.list, { cwd: `${project}/` });
  expect(firstPage.sessions).toHaveLength(100);
  expect(firstPage.sessions[0]).toMatchObject({ sessionId: made.at(-1), cwd: project });
  const cursor = firstPage.nextCursor ?? "";
  const rest = await editor.agent.request(calls.list, { cwd: project, cursor });
  expect(rest.nextCursor ?? null).toBeNull();
  const listed = [...firstPage.sessions, ...rest.sessions].map(({ sessionId }) => sessionId);
  expect(listed).toEqual(made.toReversed());
  const everything = await editor.agent.request(calls.list, {});
  for (const { cwd } of everything.sessions) expect(cwd).toMatch(/^\//);

  await editor.agent.request(calls.delete, { sessionId: made[0]! });
  const after = await editor.agent.request(calls.list, { cwd: project, cursor });
  expect(after.sessions.map(({ sessionId }) => sessionId)).not.toContain(made[0]);
  const trash = valueOf(await client.listSessions({ query: { trashed: true } }));
  expect(trash.sessions.map(({ id }) => id)).toEqual([made[0]]);
  await expect(editor.load(made[0]!, project)).rejects.toMatchObject({ code: -32_002 });
});

test("a second prompt waits its turn, and each request is answered when its own run ends", async () => {
  const { project, settings } = await serveProject();
  const editor = await openEditor({ settings });
  const { sessionId } = await editor.newSession(project);
  const order: string[] = [];
  const slow = editor
    .prompt(sessionId, "first {rate:20} {words:15}")
    .then(({ stopReason }) => order.push(`first ${stopReason} ${countWords(editor.text())}`));
  await editor.untilUpdate(({ sessionUpdate }) => sessionUpdate === "agent_message_chunk");
  const queued = editor
    .prompt(sessionId, "second {words:4}")
    .then(({ stopReason }) => order.push(`second ${stopReason} ${countWords(editor.text())}`));
  await Promise.all([slow, queued]);
  expect(order[0]).toBe("first end_turn 15");
  expect(order[1]).toContain("second end_turn");
  expect(messageIdsIn(editor.updates, "agent_message_chunk")).toHaveLength(2);
});

test("[P6] a cancel answers every open prompt with cancelled, after the updates, and the run has ended", async () => {
  const { project, settings, client } = await serveProject();
  const editor = await openEditor({ settings });
  const { sessionId } = await editor.newSession(project);
  const running = editor.prompt(sessionId, "first {rate:20} {words:400}");
  await editor.untilUpdate(({ sessionUpdate }) => sessionUpdate === "agent_message_chunk");
  const queued = editor.prompt(sessionId, "second {words:4}");
  await followUntil(client, asId(sessionId), ({ inbox }) => inbox.length === 1);
  await editor.agent.notify(calls.cancel, { sessionId });
  expect(await Promise.all([running, queued])).toEqual([
    { stopReason: "cancelled" },
    { stopReason: "cancelled" },
  ]);
  const sent = editor.text();
  const { entries, run } = valueOf(await client.readSession({ params: { id: asId(sessionId) } }));
  expect(run?.state).toBe("cancelled");
  const partial = entries.findLast(
    (entry) => entry.type === "message" && entry.role === "assistant",
  );
  const stored = partial?.type === "message" ? partial.parts : [];
  expect(stored).toMatchObject([{ type: "text", text: sent }]);
  expect(await editor.prompt(sessionId, "third {words:2}")).toEqual({ stopReason: "end_turn" });
});

test("closing a session cancels what this editor has begun, and nothing else", async () => {
  const { project, settings, client } = await serveProject();
  const editor = await openEditor({ settings });
  const { sessionId } = await editor.newSession(project);
  const id = asId(sessionId);
  const body = { clientId: "page", text: "{rate:20} {words:30}" };
  valueOf(await client.sendMessage({ params: { id }, body }));
  await editor.untilUpdate(({ sessionUpdate }) => sessionUpdate === "agent_message_chunk");
  expect(await editor.agent.request(calls.close, { sessionId })).toEqual({});
  const state = await followUntil(client, id, ({ run }) => run?.endedAt != null);
  expect(state.run?.state).toBe("completed");
});

test("a prompt that is open is answered after the session is loaded again, and with cancelled when it is closed", async () => {
  const { project, settings } = await serveProject();
  const editor = await openEditor({ settings });
  const { sessionId } = await editor.newSession(project);
  const open = editor.prompt(sessionId, "{rate:20} {words:20}");
  await editor.untilUpdate(({ sessionUpdate }) => sessionUpdate === "agent_message_chunk");
  await editor.load(sessionId, project);
  expect(await open).toEqual({ stopReason: "end_turn" });
  const closed = editor.prompt(sessionId, "{rate:20} {words:400}");
  await editor.until(() => (countWords(editor.text()) > 42 ? true : undefined));
  await editor.agent.request(calls.close, { sessionId });
  expect(await closed).toEqual({ stopReason: "cancelled" });
});

test("a compaction is shown to editors that have announced it, and to no others", async () => {
  const { project, settings } = await serveProject();
  const capabilities = { session: { compaction: {} } };
  const [plain, shows] = [
    await openEditor({ settings }),
    await openEditor({ settings, capabilities }),
  ];
  const { sessionId } = await plain.newSession(project);
  for (let turn = 0; turn < 12; turn += 1)
    await plain.prompt(sessionId, "More {rate:5000} {words:1500}");
  await shows.load(sessionId, project);
  await plain.prompt(sessionId, "/compact");
  const shown = await shows.untilUpdate(
    ({ sessionUpdate }) => sessionUpdate === "compaction_update",
  );
  expect(shown).toMatchObject({ status: "completed", summary: [{ type: "text" }] });
  await plain.prompt(sessionId, "And on {words:2}");
  const kinds = plain.updates.map(({ update }) => update.sessionUpdate);
  expect(kinds).not.toContain("compaction_update");
});

test("a prompt brings links, files and pictures, and what was not typed is marked", async () => {
  const { project, settings, client } = await serveProject();
  const editor = await openEditor({ settings });
  const { sessionId } = await editor.newSession(project);
  const file = pathToFileURL(join(project, "src", "tide.ts")).href;
  const pixel =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const answer = await editor.agent.request(calls.prompt, {
    sessionId,
    prompt: [
      { type: "text", text: "{words:3} Explain" },
      { type: "resource_link", name: "tide.ts", uri: file },
      {
        type: "resource",
        resource: { uri: file, text: "const unsaved = 1;", mimeType: "text/plain" },
      },
      { type: "image", data: pixel, mimeType: "image/png" },
    ],
  });
  expect(answer.stopReason).toBe("end_turn");
  const { entries } = valueOf(await client.readSession({ params: { id: asId(sessionId) } }));
  const [said] = entries.flatMap((entry) => (entry.type === "message" ? [entry] : []));
  const text = said?.parts.find((part) => part.type === "text");
  const [[from, to] = [0, 0]] = (text?.type === "text" && text.quoted) || [];
  expect(text?.type === "text" && text.text).toContain("Explain src/tide.ts ");
  expect(text?.type === "text" && text.text.slice(from, to)).toBe("const unsaved = 1;");
  expect(said?.parts).toContainEqual(
    expect.objectContaining({ type: "image", mediaType: "image/png" }),
  );
  await expect(
    editor.agent.request(calls.prompt, {
      sessionId,
      prompt: [{ type: "audio", data: "AAAA", mimeType: "audio/wav" }],
    }),
  ).rejects.toMatchObject({ code: -32_602 });
});

test("an edit is shown as a diff, a list of tasks as a plan, and a command with its output", async () => {
  const { project, settings } = await serveProject();
  writeFileSync(join(project, "tide.txt"), "low\nhigh\n");
  const onPermission = () => ({ outcome: { outcome: "selected" as const, optionId: "once" } });
  const editor = await openEditor({ settings, onPermission });
  const { sessionId } = await editor.newSession(project);
  const use = (name: string, input: object): string => `{tool:${name} ${JSON.stringify(input)}}`;
  await editor.prompt(sessionId, use("edit_file", { path: "tide.txt", old: "high", new: "ebb" }));
  await editor.prompt(sessionId, use("todo", { items: [{ text: "Measure", state: "doing" }] }));
  await editor.prompt(sessionId, use("terminal", { command: ["cat", "tide.txt"] }));
  expect(readFileSync(join(project, "tide.txt"), "utf8")).toBe("low\nebb\n");
  const all = editor.updates.map(({ update }) => update);
  const edit = all.find((update) => update.sessionUpdate === "tool_call" && update.kind === "edit");
  expect(edit).toMatchObject({
    status: "pending",
    locations: [{ path: join(project, "tide.txt") }],
    content: [{ type: "diff", path: join(project, "tide.txt"), oldText: "high", newText: "ebb" }],
  });
  const ended = all.findLast(
    (update) =>
      update.sessionUpdate === "tool_call_update" &&
      edit?.sessionUpdate === "tool_call" &&
      update.toolCallId === edit.toolCallId,
  );
  expect(ended).toMatchObject({
    status: "completed",
    content: expect.arrayContaining([
      { type: "diff", path: join(project, "tide.txt"), oldText: "low\nhigh", newText: "low\nebb" },
    ]) as unknown,
  });
  expect(all.find(({ sessionUpdate }) => sessionUpdate === "plan")).toMatchObject({
    entries: [{ content: "Measure", status: "in_progress", priority: "medium" }],
  });
  const command = all.find(
    (update) => update.sessionUpdate === "tool_call" && update.kind === "execute",
  );
  expect(command).toMatchObject({
    title: "terminal: cat tide.txt",
    rawInput: { command: ["cat", "tide.txt"] },
  });
  expect(JSON.stringify(all)).toContain("```\\nlow\\nebb\\n```");
});

test("options and commands of a session can be used from the editor, and follow what others change", async () => {
  const { project, settings, client } = await serveProject();
  const editor = await openEditor({ settings });
  const { sessionId } = await editor.newSession(project);
  const set = (value: string, configId = "model") =>
    editor.agent.request(calls.setConfigOption, { sessionId, configId, value });
  expect(await set("rehearsal")).toMatchObject({
    configOptions: [{ id: "mode" }, { id: "model", currentValue: "rehearsal" }],
  });
  expect(await set("edits", "mode")).toMatchObject({
    configOptions: [{ id: "mode", currentValue: "edits" }, { id: "model" }],
  });
  const modeIn = async () =>
    valueOf(await client.readSession({ params: { id: asId(sessionId) } })).session.mode;
  expect(await modeIn()).toBe("edits");
  await editor.agent.request(calls.setMode, { sessionId, modeId: "plan" });
  expect(await modeIn()).toBe("plan");
  await expect(set("reckless", "mode")).rejects.toMatchObject({ code: -32_602 });
  const params = { id: asId(sessionId) };
  valueOf(await client.changeSession({ params, body: { mode: "ask" } }));
  await editor.untilUpdate(
    (update) => update.sessionUpdate === "current_mode_update" && update.currentModeId === "ask",
  );
  await expect(set("no-such-model")).rejects.toMatchObject({ code: -32_602 });
  await expect(set("x", "no-such-option")).rejects.toMatchObject({ code: -32_602 });
  await editor.prompt(sessionId, "/title Harbour walls");
  const info = await editor.untilUpdate(
    (update) => update.sessionUpdate === "session_info_update" && update.title === "Harbour walls",
  );
  expect(info).toBeDefined();
  expect(editor.text()).toContain("Harbour walls");
  await editor.prompt(sessionId, "/titel x");
  expect(editor.text()).toContain("Did you mean /title?");
  const { session } = valueOf(await client.readSession({ params: { id: asId(sessionId) } }));
  expect(session.messageCount).toBe(0);
  // A path is no command.
  await editor.prompt(sessionId, "/etc/hosts {words:2}");
  expect(
    valueOf(await client.readSession({ params: { id: asId(sessionId) } })).session,
  ).toMatchObject({
    messageCount: 2,
  });
});
