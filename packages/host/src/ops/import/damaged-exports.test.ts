import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { runFsck } from "@holdfast/engine";
import type { ImportSourceName } from "@holdfast/protocol";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { expect, onTestFinished, test } from "vitest";

import {
  chatGptConversation,
  everyKindOfMessage,
  said,
} from "../../../test/support/exports/chatgpt.ts";
import {
  claudeConversation,
  claudeMemories,
  claudeProject,
  everyClaudeMessage,
  text,
} from "../../../test/support/exports/claude.ts";
import { everyClaudeCodeLine, result } from "../../../test/support/exports/claude-code.ts";
import { everyCodexLine } from "../../../test/support/exports/codex.ts";
import { shownLines } from "../../../test/support/exports/shown.ts";
import { zipOf } from "../../../test/support/exports/zip.ts";
import { importInto, openTaker, owner } from "../../../test/support/hermes/import-into.ts";
import { childSource } from "./child-source.ts";
import type { SourceRequest } from "./readers.ts";

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-import-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function place(name: string, content: string | Uint8Array): string {
  const path = join(makeFolder(), name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  return path;
}

async function openHere() {
  const store = createReferenceStore();
  onTestFinished(() => store.close());
  const taker = await openTaker(makeFolder(), store);
  const take = async (source: ImportSourceName, path: string) => {
    const imported = await importInto(taker, path, { source, where: "here" }).catch(
      (error: unknown) => ({ error, failure: String(error), items: [], totals: undefined }),
    );
    const found = await runFsck(store.audit, { now: await store.now() });
    expect(found).toMatchObject({ exitCode: 0, findings: 0 });
    return imported;
  };
  return { store, take };
}

const codesOf = (items: Awaited<ReturnType<typeof importInto>>["items"]) =>
  items.flatMap((item) => [item.code, ...(item.remarks ?? []).map(({ code }) => code)]);

/** A small generator of numbers that is the same for the same seed. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state % below;
  };
}

/** The same document with values of other types in it. */
function disturbed(value: unknown, random: (below: number) => number): unknown {
  const odd = [null, true, -1, 1e300, "", "\0", "\uD800", [], {}, [null], { a: [[]] }, "__proto__"];
  if (random(30) === 0) return odd[random(odd.length)];
  if (Array.isArray(value)) {
    const items: unknown[] = value.map((item) => disturbed(item, random));
    return random(20) === 0 ? [...items, ...items] : items;
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) =>
      random(40) === 0 ? [] : [[key, disturbed(item, random)]],
    ),
  );
}

const lineFiles = {
  "claude-code": { name: "p/s1.jsonl", lines: () => everyClaudeCodeLine("s1").lines },
  codex: { name: "rollout-a.jsonl", lines: () => everyCodexLine("a").lines },
} as const;
const documents = {
  chatgpt: () => [
    everyKindOfMessage(),
    chatGptConversation("b", [
      said("x", null, "user", "1"),
      said("y", "x", "assistant", "2"),
      said("z", "x", "assistant", "3"),
    ]),
  ],
  claude: () => [
    everyClaudeMessage(),
    claudeConversation("c", [{ id: "m", sender: "human", content: [text("1")] }]),
  ],
} as const;

type Exported = "chatgpt" | "claude" | "claude-code" | "codex";

/** The folder of an export in which values have other types, and that may be cut off. */
function disturbedExport(source: Exported, random: (below: number) => number): string {
  let content: string;
  let name = "conversations.json";
  if (source === "chatgpt" || source === "claude")
    content = JSON.stringify(disturbed(documents[source](), random));
  else {
    name = lineFiles[source].name;
    const lines = lineFiles[source].lines();
    content = lines.map((line) => JSON.stringify(disturbed(line, random))).join("\n");
  }
  if (random(3) === 0) content = content.slice(0, random(content.length));
  return join(place(name, content), ...name.split("/").map(() => ".."));
}

test.each([1, 2, 3, 4, 5, 6])(
  "exports that are wrong anywhere arrive as far as they go, and not twice (%i)",
  async (seed) => {
    const random = randomFrom(seed);
    const wrong: unknown[] = [];
    for (let round = 0; round < 10; round += 1)
      for (const source of ["chatgpt", "claude", "claude-code", "codex"] as const) {
        const { take } = await openHere();
        const root = disturbedExport(source, random);
        const first = await take(source, root);
        // Nothing that is known: refused with a sentence.
        const isRefused = /is not an export of|has no (?:Codex|Claude Code) sessions/.test(
          first.failure ?? "",
        );
        const second = isRefused ? undefined : await take(source, root);
        const outcomes = Object.values(second?.totals?.items ?? {}).flatMap((each) =>
          Object.keys(each),
        );
        const isTwice = outcomes.includes("taken") || outcomes.includes("extended");
        const isWhole = first.failure === null && first.totals?.differs === 0;
        if (isTwice || !(isRefused || isWhole))
          wrong.push([source, round, first.failure, outcomes]);
      }
    expect(wrong).toEqual([]);
  },
);

test("circles, lost parents, duplicates and broken texts are reported, and what is said is there", async () => {
  const { store, take } = await openHere();
  const nodes = [
    said("a", "c", "user", "in a \0 circle \uD800"),
    said("b", "a", "assistant", "two"),
    said("c", "b", "user", "three"),
    said("d", "gone", "assistant", "four"),
  ];
  const talk = chatGptConversation("odd", nodes);
  const file = place("conversations.json", JSON.stringify([talk, talk, 7, { title: "no tree" }]));
  const { items, totals } = await take("chatgpt", file);
  expect(totals).toMatchObject({ differs: 0, items: { session: { taken: 1, skipped: 1 } } });
  const session = items.find(({ outcome }) => outcome === "taken")?.session;
  const lines = await shownLines(store, owner, session);
  for (const words of ["in a \uFFFD circle \uFFFD", "two", "three", "four"])
    expect(lines.join("\n")).toContain(words);
  expect(codesOf(items)).toEqual(expect.arrayContaining(["lost_parent", "unknown_row"]));
});

test("a text of 50 MB arrives whole", async () => {
  const { take } = await openHere();
  const huge = "sea ".repeat(13_000_000);
  const file = place(
    "c.json",
    JSON.stringify([
      claudeConversation("huge", [{ id: "m", sender: "human", content: [text(huge)] }]),
    ]),
  );
  expect(await take("claude", file)).toMatchObject({
    failure: null,
    totals: { texts: 1, differs: 0 },
  });
});

test("a conversation that cannot be stored is skipped with the reason, and the others arrive", async () => {
  const { take } = await openHere();
  const one = (id: string) => chatGptConversation(id, [said("x", null, "user", "1")]);
  const odd = one("x".repeat(1_200_000));
  const { items, failure, totals } = await take(
    "chatgpt",
    place("conversations.json", JSON.stringify([odd, one("after")])),
  );
  expect(failure).toBeNull();
  expect(totals?.items).toEqual({ session: { skipped: 1, taken: 1 } });
  const skipped = items.find(({ reason }) => reason === "not_storable");
  expect(skipped?.remarks?.[0]?.text).toContain("1048576");
});

test("[safety] messages that name one file again and again end the reading process, not the machine", async () => {
  const root = makeFolder();
  const metadata = { attachments: [{ id: "file_00ab", name: "one.bin" }] };
  const nodes = Array.from({ length: 40 }, (_, n) =>
    said(`n${n}`, n === 0 ? null : `n${n - 1}`, "user", `${n}`, { metadata }),
  );
  writeFileSync(
    join(root, "conversations.json"),
    JSON.stringify([chatGptConversation("many", nodes)]),
  );
  writeFileSync(join(root, "file_00ab.dat"), Buffer.alloc(20 * 1024 * 1024, 1));
  const { signal } = new AbortController();
  const about = { source: "chatgpt", path: root, scratch: makeFolder() } as const;
  const request: SourceRequest = { ...about, only: [], secrets: "left", now: 1 };
  const source = childSource(request, signal, 500 * 1024 * 1024);
  const kinds: string[] = [];
  const read = async () => {
    for await (const { kind } of source.items()) kinds.push(kind);
  };
  await expect(read()).rejects.toThrow("more memory than an import may have");
  expect(kinds).toEqual([]);
});

test("a file that is cut off gives what stands before, and the rest is kept", async () => {
  const { take } = await openHere();
  const whole = JSON.stringify([
    chatGptConversation("one", [said("x", null, "user", "1")]),
    everyKindOfMessage(),
  ]);
  const { items, failure } = await take(
    "chatgpt",
    place("conversations.json", whole.slice(0, -20)),
  );
  expect(failure).toBeNull();
  expect(items.filter(({ item }) => item === "session").map(({ name }) => name)).toEqual([
    "Talk one",
  ]);
  expect(items.find(({ code }) => code === "torn_file")?.blob).toMatch(/^blob_/);
});

test("what another program wrote is refused with a sentence that names the way", async () => {
  const { store, take } = await openHere();
  const exports = {
    chatgpt: place("conversations.json", JSON.stringify(documents.claude())),
    claude: place("conversations.json", JSON.stringify(documents.chatgpt())),
    "claude-code": place("rollout-a.jsonl", everyCodexLine("a").text()),
    codex: place("s1.jsonl", everyClaudeCodeLine("s1").text()),
  } as const;
  for (const [source, path] of Object.entries(exports)) {
    const name = source as ImportSourceName;
    expect((await take(name, path)).failure).toMatch(
      /is not an export of|has no (?:Codex|Claude Code) sessions/,
    );
  }
  expect((await store.reads.sessions(owner, { limit: 1 })).sessions).toEqual([]);
});

test("[safety] archives that are bombs, damaged or lead out of themselves are refused, links are not followed", async () => {
  const { take } = await openHere();
  const zeros = place("bomb.zip", zipOf({ "conversations.json": Buffer.alloc(200 * 1024 * 1024) }));
  expect((await take("chatgpt", zeros)).failure).toContain("far more than any export contains");
  const content = { "conversations.json": JSON.stringify([everyKindOfMessage()]) };
  const lying = place("lying.zip", zipOf(content, { claimedSize: 100 }));
  const lied = await take("chatgpt", lying);
  expect(JSON.stringify([lied.failure, lied.items])).toContain("damaged");
  const cut = zipOf(content);
  expect((await take("chatgpt", place("cut.zip", cut.subarray(0, -30)))).failure).toContain(
    "The end of the archive is missing",
  );
  const bytes = zipOf(content);
  bytes.writeUInt8(bytes.readUInt8(100) ^ 0xff, 100);
  const damaged = await take("chatgpt", place("damaged.zip", bytes));
  expect(JSON.stringify([damaged.failure, damaged.items])).toMatch(/damaged|read/);
  // It unpacks, to something else than was packed.
  const other = zipOf(content);
  other.writeUInt32LE(1, other.indexOf("PK\u0001\u0002") + 16);
  const otherwise = await take("chatgpt", place("other.zip", other));
  expect(JSON.stringify([otherwise.failure, otherwise.items])).toContain("The archive is damaged");
  const root = makeFolder();
  symlinkSync(
    place("conversations.json", content["conversations.json"]),
    join(root, "conversations.json"),
  );
  writeFileSync(join(root, "users.json"), "[]");
  const linked = await take("chatgpt", root);
  expect(linked.items.map(({ item, code }) => [item, code])).toEqual([["finding", "link"]]);
});

test("results without a call, prompts in the middle and projects that don't fit lose nothing", async () => {
  const { store, take } = await openHere();
  const file = everyClaudeCodeLine("s1")
    .user("cc-30", result("nobody", "an output of nothing"), { parentUuid: "cc-14" })
    .user("cc-31", [{ type: "hologram" }, { type: "text", text: "odd" }]);
  const { items } = await take("claude-code", dirname(place("s1.jsonl", file.text())));
  const lines = await shownLines(
    store,
    owner,
    items.find(({ item }) => item === "session")?.session,
  );
  expect(lines.slice(-2)).toEqual(["tool_output: an output of nothing", "user: odd"]);
  const docs = Array.from({ length: 25 }, (_, n) => ({ filename: `${n}.md`, content: `${n}` }));
  const large = { ...claudeProject, prompt_template: "x".repeat(9_000), docs };
  const root = makeFolder();
  writeFileSync(join(root, "projects.json"), JSON.stringify([large]));
  writeFileSync(join(root, "memories.json"), JSON.stringify([claudeMemories, null]));
  const project = (await take("claude", root)).items.find(({ item }) => item === "project");
  expect(project?.remarks).toHaveLength(6);
  for (const { blob } of project?.remarks ?? []) expect(blob).toMatch(/^blob_/);
});
