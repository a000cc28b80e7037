import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createLog, listAlternatives, runFsck, switchAlternative } from "@holdfast/engine";
import { ids, type ImportSourceName, sessionId } from "@holdfast/protocol";
import { databases } from "@holdfast/testing/databases/databases";
import { describe, expect, onTestFinished, test } from "vitest";

import { openProjectFiles } from "../../agent/instructions/project-files.ts";
import { openProjectStore } from "../../agent/instructions/project-store.ts";
import {
  claudeMemories,
  claudeProject,
  everyClaudeMessage,
} from "../../../test/support/exports/claude.ts";
import { ClaudeCodeFile, everyClaudeCodeLine } from "../../../test/support/exports/claude-code.ts";
import { CodexFile, everyCodexLine } from "../../../test/support/exports/codex.ts";
import {
  chatGptConversation,
  everyKindOfMessage,
  picture,
  said,
} from "../../../test/support/exports/chatgpt.ts";
import { shownLines } from "../../../test/support/exports/shown.ts";
import { zipOf } from "../../../test/support/exports/zip.ts";
import { importInto, openTaker, owner } from "../../../test/support/hermes/import-into.ts";

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-import-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function writeFiles(root: string, files: Readonly<Record<string, unknown>>): string {
  for (const [name, content] of Object.entries(files)) {
    const path = join(root, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(
      path,
      Buffer.isBuffer(content) || typeof content === "string" ? content : JSON.stringify(content),
    );
  }
  return root;
}

describe.each(databases)("an import of exports on $name", (factory) => {
  async function open() {
    const database = await factory.create();
    onTestFinished(() => database.drop());
    const store = await database.open();
    onTestFinished(() => store.close());
    const taker = await openTaker(makeFolder(), store);
    const take = async (source: ImportSourceName, path: string) => {
      const imported = await importInto(taker, path, { source });
      expect(await runFsck(store.audit, { now: await store.now() })).toMatchObject({
        exitCode: 0,
        findings: 0,
      });
      return imported;
    };
    const shown = (session: string | undefined) => shownLines(store, owner, session);
    return { store, taker, take, shown };
  }

  test("each kind of message of ChatGPT arrives once, with its files, and nothing unknown is lost", async () => {
    const { store, taker, take, shown } = await open();
    const root = makeFolder();
    const archive = join(root, "export.zip");
    writeFileSync(
      archive,
      zipOf({
        "conversations.json": JSON.stringify([everyKindOfMessage()]),
        "user_0/file_00ab.dat": picture,
        "file-Doc1-notes.txt": "my notes",
        "file-Plot1-plot.png": picture,
        "conversation_asset_file_names.json": JSON.stringify({ "file_00ab.dat": "dot.png" }),
        "message_feedback.json": "[]",
        "../../outside": "x",
      }),
    );
    const first = await take("chatgpt", archive);
    expect(first).toMatchObject({ failure: null, totals: { differs: 0 } });
    const item = first.items.find((each) => each.item === "session");
    expect(item).toMatchObject({ outcome: "taken", before: item?.after ?? {} });
    expect(await shown(item?.session)).toEqual([
      "system_message: I sail.\n\nBe brief.",
      "system_message: 1. [2025-01-02]. Keeps bees.\n2. [2025-01-03]. Lives in Kiel.",
      "user: [image dot.png] What is this? [notice file-Gone1 was not there.] [file notes.txt]",
      "assistant: [reasoning Looking\nA dot.]",
      "assistant: [reasoning Thought for 3s]",
      "assistant: [tool_call python]",
      "tool: =python ok 1\n",
      "assistant: [image plot.png]",
      "assistant: A dot ([source](https://example.com)).",
      "system_message: Keep going quietly.",
      "assistant: [tool_call web.run]",
      "tool: =web.run unknown ChatGPT has no result of this call.",
      "assistant: Done.",
    ]);
    const row = await store.reads.session(owner, sessionId.parse(item?.session));
    expect(row).toMatchObject({
      title: "Talk every",
      archived: true,
      pinned: true,
      project: "ChatGPT project 01234567",
    });
    expect((await taker.facts.list(owner)).map(({ text }) => text)).toEqual([
      "Keeps bees.",
      "Lives in Kiel.",
    ]);
    const remarks = first.items.flatMap((each) => [...(each.remarks ?? []), each]);
    expect(remarks.find(({ code }) => code === "unknown_row")?.blob).toMatch(/^blob_/);
    expect(remarks.map(({ code }) => code)).toEqual(
      expect.arrayContaining([
        "missing_attachment",
        "unknown_row",
        "not_supported",
        "link",
        "setting",
      ]),
    );
    const second = await take("chatgpt", archive);
    expect(second.totals.items).toEqual({
      project: { known: 1 },
      session: { known: 1 },
      fact: { known: 2 },
    });
  });

  test("edits and answers given again are versions, and a later export goes on with them", async () => {
    const { store, take, shown } = await open();
    const root = makeFolder();
    const export1 = [
      said("u1", null, "user", "one"),
      said("a1", "u1", "assistant", "first"),
      said("a1b", "u1", "assistant", "second"),
      said("u2", "a1b", "user", "two"),
      said("a2", "u2", "assistant", "answer"),
      said("u2b", "a1b", "user", "two again"),
      said("a2b", "u2b", "assistant", "other answer"),
    ];
    const write = (nodes: typeof export1, current: string) =>
      writeFiles(root, {
        "conversations.json": [chatGptConversation("tree", nodes, { current_node: current })],
      });
    // What is shown is the earlier of two versions of the second turn.
    const { items, totals } = await take("chatgpt", write(export1, "a2"));
    const [item] = items;
    const session = sessionId.parse(item?.session);
    expect(totals).toMatchObject({ differs: 0, before: { user: 2, assistant: 2 } });
    const inView = ["user: one", "assistant: second", "user: two", "assistant: answer"];
    expect(await shown(session)).toEqual(inView);
    const turns = await listAlternatives(store.reads, owner, session);
    expect(turns?.map((turn) => turn.map(({ text, answer }) => [text, answer]))).toEqual([
      [
        ["one", "first"],
        ["one", "second"],
      ],
      [
        ["two", "answer"],
        ["two again", "other answer"],
      ],
    ]);
    expect((await take("chatgpt", root)).totals.items).toEqual({ session: { known: 1 } });
    const more = [
      ...export1,
      said("u3", "a2", "user", "three"),
      said("u2c", "a1b", "user", "third"),
    ];
    const extended = await take("chatgpt", write(more, "u3"));
    expect(extended.totals).toMatchObject({ items: { session: { extended: 1 } }, differs: 0 });
    expect(await shown(session)).toEqual([...inView, "user: three"]);
    expect(await take("chatgpt", write(more, "u2c"))).toMatchObject({ totals: { differs: 0 } });
    expect(await shown(session)).toEqual(["user: one", "assistant: second", "user: third"]);
    expect((await take("chatgpt", root)).totals.items).toEqual({ session: { known: 1 } });
    // Every version can be chosen here, with what followed it.
    const [first] = (await listAlternatives(store.reads, owner, session)) ?? [];
    const log = createLog(store);
    const target = { owner, session };
    const chosen = await switchAlternative(
      { log, ids },
      target,
      first?.[0]?.messageId ?? ids.make("message"),
    );
    expect(chosen.status).toBe("committed");
    expect(await shown(session)).toEqual(["user: one", "assistant: first"]);
    // Somebody went on here: what is new there doesn't change what they see.
    const said4 = [...more, said("u4", "u3", "user", "four")];
    const later = await take("chatgpt", write(said4, "u4"));
    expect(later.items[0]).toMatchObject({ outcome: "skipped", reason: "changed_here" });
  });

  test("everything in an export of Claude arrives: projects with texts, memory, tools and versions", async () => {
    const { store, taker, take, shown } = await open();
    const root = writeFiles(makeFolder(), {
      "conversations-000.zip": zipOf({
        "conversations.json": JSON.stringify([everyClaudeMessage()]),
      }),
      "rest.zip": zipOf({
        "projects/p1.json": JSON.stringify(claudeProject),
        "memories/account.json": JSON.stringify(claudeMemories),
        "users.json": "[]",
        "design_chats/d.json": "{}",
      }),
    });
    const { items, totals, failure } = await take("claude", root);
    expect([failure, totals.differs]).toEqual([null, 0]);
    const item = items.find((each) => each.item === "session");
    expect(await shown(item?.session)).toEqual([
      "user: Look at this. [file pasted.txt] [notice boat.png was not there.]",
      "assistant: [reasoning A boat.] Searching. [tool_call web_search]",
      "tool: =web_search ok Boats\nhttps://example.com\nThey float.",
      "assistant: [tool_call artifacts]",
      "tool: =artifacts unknown Claude has no result of this call.",
      "assistant: It floats.",
      "user: Why?",
      "assistant: Archimedes.",
    ]);
    const session = sessionId.parse(item?.session);
    const [turn] = (await listAlternatives(store.reads, owner, session)) ?? [];
    expect(turn?.map(({ text, answer }) => [text, answer])).toEqual([
      ["Why?", "Density."],
      ["Why?", "Archimedes."],
    ]);
    expect(await store.reads.session(owner, session)).toMatchObject({
      title: "Talk c-every",
      pinned: true,
      project: "Boats",
    });
    const [project] = await openProjectStore(store.register).list(owner);
    expect(project).toMatchObject({ name: "Boats", text: "Speak like a sailor." });
    const files = await openProjectFiles(store).list(owner, project?.id ?? "");
    expect(files.map(({ name }) => name)).toEqual(["knots.md"]);
    const facts = await taker.facts.list(owner);
    expect(facts.map(({ text: fact, use }) => [fact, use])).toEqual([
      ["**Work context**\nBuilds boats.", "always"],
      ["**Work context**\nLikes tea.", "always"],
      ["In the project Boats: The hull is oak.", "when_it_fits"],
    ]);
    const codes = items.flatMap((each) => [
      each.code,
      ...(each.remarks ?? []).map(({ code }) => code),
    ]);
    expect(codes).toEqual(
      expect.arrayContaining(["missing_attachment", "unknown_row", "not_supported"]),
    );
    const again = await take("claude", root);
    expect(again.totals.items).toEqual({
      project: { known: 1 },
      fact: { known: 3 },
      session: { known: 1 },
    });
  });

  test("a session of Claude Code arrives in order, its usage once, what was taken back as a version, and its agents", async () => {
    const { store, take, shown } = await open();
    const root = makeFolder();
    const file = everyClaudeCodeLine("s1");
    const agent = new ClaudeCodeFile("s1")
      .user("ag-1", "Look below", { isSidechain: true, agentId: "a1" })
      .answer("ag-2", "m9", { type: "text", text: "Wet." }, { isSidechain: true, agentId: "a1" });
    writeFiles(root, {
      "-home-ada-boat/s1.jsonl": file.text(),
      "-home-ada-boat/agent-a1.jsonl": agent.text(),
    });
    const { items, totals, failure } = await take("claude-code", root);
    expect([failure, totals.differs]).toEqual([null, 0]);
    const item = items.find(({ ids: known }) => known?.includes("s1"));
    const before = [
      "system_message: Caveat: local commands follow.",
      "claude_code_notice: /init now",
      "user: Fix the leak [image picture 2]",
      "assistant: [reasoning Where?] Looking. [tool_call Bash] [tool_call Read]",
      "tool: =Bash ok hull\nmast",
      "tool: =Read failed no such file",
      "assistant: [tool_call Task]",
      "claude_code_notice: [Request interrupted by user]",
      "claude_code_notice: Conversation compacted",
      "tool: =Task unknown Claude Code has no result of this call.",
      "summary",
    ];
    expect(await shown(item?.session)).toEqual([...before, "user: Go on", "assistant: Fixed."]);
    const session = sessionId.parse(item?.session);
    expect(await store.reads.session(owner, session)).toMatchObject({ title: "The leak" });
    const within = { from: 0, to: Date.UTC(2027, 0, 1) };
    const used = { input: 30, output: 15, cacheRead: 300, cacheWrite: 21, costMicros: 0 };
    const groups = () => store.reads.usageGroups(owner, { by: "session", within, limit: 5 });
    expect((await groups()).find(({ key }) => key === session)).toMatchObject(used);
    const child = items.find(({ ids: known }) => known?.includes("a1"));
    const childRow = await store.reads.session(owner, sessionId.parse(child?.session));
    expect(childRow).toMatchObject({ archived: true, tags: [`child-of:${session}`] });
    const remarks = items.flatMap((each) => [...(each.remarks ?? []), each]);
    expect(remarks.map(({ code }) => code)).toEqual(
      expect.arrayContaining(["unknown_row", "leftover", "folder"]),
    );
    expect((await take("claude-code", root)).totals.items).toEqual({ session: { known: 2 } });
    // Resumed into another file, which repeats the lines, and gone back there to write another prompt.
    const resumed = new ClaudeCodeFile("s2", file.lines)
      .user("cc-20", "Paint it", { parentUuid: "cc-12" })
      .answer("cc-21", "m4", { type: "text", text: "Painted." });
    writeFiles(root, { "-home-ada-boat/s2.jsonl": resumed.text() });
    const later = await take("claude-code", root);
    expect(later.totals).toMatchObject({
      items: { session: { extended: 1, known: 1 } },
      differs: 0,
    });
    expect(await shown(session)).toEqual([...before, "user: Paint it", "assistant: Painted."]);
    expect((await groups()).find(({ key }) => key === session)).toMatchObject({ input: 40 });
    expect((await take("claude-code", root)).totals.items).toEqual({ session: { known: 2 } });
  });

  test("a session of Codex arrives with its calls, rollbacks and usage, and a fork as a branch", async () => {
    const { store, take, shown } = await open();
    const root = makeFolder();
    const [one, two] = [
      "01900000-0000-7000-8000-000000000001",
      "01900000-0000-7000-8000-000000000002",
    ];
    const fork = new CodexFile().meta(two, { forked_from_id: one });
    fork.lines.push(...everyCodexLine(one).lines.slice(0, 14));
    fork.message("user", "Another way").message("assistant", "Pumped.");
    const old = [
      JSON.stringify({ id: "old", timestamp: "2025-05-05T05:05:05.000Z", instructions: null }),
      JSON.stringify({ record_type: "state" }),
      JSON.stringify({
        type: "message",
        role: "user",
        content: [{ type: "input_text", text: "Hi" }],
      }),
    ];
    writeFiles(root, {
      [`2026/03/04/rollout-2026-03-04T05-06-07-${one}.jsonl`]: everyCodexLine(one).text(),
      [`2026/03/05/rollout-2026-03-05T05-06-07-${two}.jsonl`]: fork.text(),
      "2025/05/05/rollout-2025-05-05-old.jsonl": old.join("\n"),
    });
    const { items, totals, failure } = await take("codex", root);
    expect([failure, totals.differs]).toEqual([null, 0]);
    const find = (id: string) => items.find(({ ids: known }) => known?.includes(id));
    const before = [
      "system_message: <permissions instructions>none</permissions instructions>",
      "system_message: <environment_context>\n  <cwd>/home/ada/boat</cwd>\n</environment_context>",
      "user: Fix the leak",
      "assistant: [reasoning Where?]",
      "assistant: [tool_call shell] [tool_call apply_patch]",
      "tool: =shell failed hull",
      "tool: =apply_patch ok ok",
      "assistant: Fixed.",
    ];
    expect(await shown(find(one)?.session)).toEqual([
      ...before,
      "summary",
      "user: Go on",
      "assistant: [tool_call shell]",
      "tool: =shell unknown Codex has no result of this call.",
      "codex_notice: The turn was stopped (interrupted).",
    ]);
    expect(find(one)).toMatchObject({ hidden: 2 });
    expect(await shown(find(two)?.session)).toEqual([
      ...before,
      "user: Another way",
      "assistant: Pumped.",
    ]);
    const forked = await store.reads.session(owner, sessionId.parse(find(two)?.session));
    expect(forked?.origin?.sessionId).toBe(find(one)?.session);
    expect(await shown(find("old")?.session)).toEqual(["user: Hi"]);
    const within = { from: 0, to: Date.UTC(2027, 0, 1) };
    const groups = await store.reads.usageGroups(owner, { by: "session", within, limit: 5 });
    expect(groups.find(({ key }) => key === find(one)?.session)).toMatchObject({
      input: 90,
      cacheRead: 60,
      output: 30,
    });
    expect(items.flatMap((each) => (each.remarks ?? []).map(({ code }) => code))).toEqual(
      expect.arrayContaining(["unknown_row", "folder"]),
    );
    expect((await take("codex", root)).totals.items).toEqual({ session: { known: 3 } });
  });
});
