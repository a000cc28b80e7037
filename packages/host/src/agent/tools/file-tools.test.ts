import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Tool, ToolResult } from "@holdfast/engine";
import { openTestSession } from "@holdfast/testing/fixtures/open-session";
import { ids, type Json } from "@holdfast/protocol";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";

import { createFileSearch } from "./file-search.ts";
import { createGlob } from "./find-files.ts";
import { createGrep } from "./grep.ts";
import { createBuiltInTools } from "../toolset.ts";
import { openWorkspaces } from "../workspace/workspaces.ts";
import { unconfined } from "../../../test/support/open-confinement.ts";

let home: string;
let folder: string;
let run: (name: string, input: Json, signal?: AbortSignal) => Promise<ToolResult>;
let tools: ReadonlyMap<string, Tool>;
beforeEach(async () => {
  home = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-tools-")));
  const store = createReferenceStore();
  const { owner, session } = await openTestSession(store);
  const workspaces = openWorkspaces({ home, roots: [] }, store);
  folder = await workspaces.folderFor({ owner, session });
  const deps = {
    home,
    store,
    workspaces,
    egressAllow: [],
    environment: {},
    confinement: unconfined,
  };
  const quick = { workspaces, search: createFileSearch({ limitMs: 300 }) };
  const quickTools = [
    ["quick_grep", createGrep(quick)],
    ["quick_glob", createGlob(quick)],
  ] as const;
  tools = new Map([...createBuiltInTools(deps), ...quickTools]);
  run = async (name, input, signal = new AbortController().signal) => {
    const tool = tools.get(name);
    if (tool === undefined) throw new Error(`There is no ${name}.`);
    const call = { owner, session, runId: ids.make("run"), callId: ids.make("call"), input };
    return tool.run(call, { signal, write: () => {} });
  };
});
afterEach(() => rmSync(home, { recursive: true }));

const put = (path: string, text: string | Uint8Array): void => {
  mkdirSync(join(folder, path, ".."), { recursive: true });
  writeFileSync(join(folder, path), text);
};
const text = (path: string): string => readFileSync(join(folder, path), "utf8");

describe("reading a file", () => {
  test("gives line numbers, starts where asked, and says where to continue", async () => {
    put("a.txt", Array.from({ length: 50 }, (_, n) => `line ${n + 1}`).join("\n"));
    expect((await run("read_file", { path: "a.txt", from: 49 })).output).toBe(
      "49\tline 49\n50\tline 50",
    );
    expect((await run("read_file", { path: "a.txt", from: 2, lines: 2 })).output).toBe(
      "2\tline 2\n3\tline 3\n[More follows: from 4.]",
    );
    expect((await run("read_file", { path: "a.txt", from: 99 })).output).toBe(
      "[The file has 50 lines.]",
    );
  });

  test("that is large, one endless line, binary or empty is bounded and reported", async () => {
    put("large", `${"x".repeat(80)}\n`.repeat(100_000));
    const large = await run("read_file", { path: "large", lines: 5_000 });
    expect(large.output.length).toBeLessThan(60_000);
    expect(large.output).toMatch(/\[More follows: from \d+\.\]$/);
    put("line", "y".repeat(3_000_000));
    expect((await run("read_file", { path: "line" })).output).toMatch(/^1\ty{2000} \[line cut\]$/);
    put("binary", Uint8Array.of(1, 0, 2));
    expect(await run("read_file", { path: "binary" })).toMatchObject({ outcome: "failed" });
    put("empty", "");
    expect((await run("read_file", { path: "empty" })).output).toBe("[The file is empty.]");
  });
});

describe("writing a file", () => {
  test("reports the change as a diff", async () => {
    const made = await run("write_file", { path: "docs/a.md", content: "one\ntwo\n" });
    expect(made).toEqual({
      outcome: "ok",
      output: "Made docs/a.md: 8 bytes.",
      details: {
        changes: [{ path: "docs/a.md", change: "created", diff: "@@ -0,0 +1,2 @@\n+one\n+two" }],
      },
    });
    const edited = await run("edit_file", { path: "docs/a.md", old: "two", new: "2" });
    expect(edited.details?.changes).toEqual([
      { path: "docs/a.md", change: "changed", diff: "@@ -1,2 +1,2 @@\n one\n-two\n+2" },
    ]);
    expect(text("docs/a.md")).toBe("one\n2\n");
  });

  test("an edit that does not match exactly once changes nothing and shows the nearest lines", async () => {
    put("a.ts", "function one() {\n  return 1;\n}\nfunction two() {\n  return 1;\n}\n");
    const twice = await run("edit_file", { path: "a.ts", old: "return 1;", new: "return 2;" });
    expect(twice).toMatchObject({
      outcome: "failed",
      output: expect.stringMatching(/2 times/) as unknown,
    });
    const near = await run("edit_file", { path: "a.ts", old: "function  two()  {", new: "x" });
    expect(near.output).toMatch(/exactly so[\s\S]*4\tfunction two\(\) \{/);
    expect(text("a.ts")).toContain("return 1;\n}\nfunction two");
    await run("edit_file", {
      path: "a.ts",
      old: "return 1;",
      new: "return 2;",
      occurrences: "all",
    });
    expect(text("a.ts").match(/return 2/g)).toHaveLength(2);
  });

  test("a patch is applied to all of its files or to none", async () => {
    put("a", "1\n2\n3\n");
    put("gone", "bye\n");
    const good = [
      "--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n",
      "--- /dev/null\n+++ b/new/b\n@@ -0,0 +1 @@\n+fresh\n",
      "--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-bye\n",
    ];
    const bad = "--- a/a2\n+++ b/a2\n@@ -1 +1 @@\n-1\n+one\n";
    const refused = await run("apply_patch", { patch: [...good, bad].join("") });
    expect(refused).toMatchObject({ outcome: "failed" });
    expect([text("a"), existsSync(join(folder, "new")), text("gone")]).toEqual([
      "1\n2\n3\n",
      false,
      "bye\n",
    ]);
    const done = await run("apply_patch", { patch: good.join("") });
    expect(done.output).toBe("Changed a.\nMade new/b.\nDeleted gone.");
    expect([text("a"), text("new/b"), existsSync(join(folder, "gone"))]).toEqual([
      "1\ntwo\n3\n",
      "fresh\n",
      false,
    ]);
    expect(done.details?.changes?.map(({ change }) => change)).toEqual([
      "changed",
      "created",
      "deleted",
    ]);
  });

  test("a patch whose lines are not in the file changes nothing and shows the nearest lines", async () => {
    put("a.ts", "function one() {\n  return 1;\n}\nfunction two() {\n  return 2;\n}\n");
    const hunk = "@@ -4,2 +4,2 @@\n function two(x) {\n-  return 2;\n+  return 3;\n";
    const refused = await run("apply_patch", { patch: `--- a/a.ts\n+++ b/a.ts\n${hunk}` });
    expect(refused.outcome).toBe("failed");
    expect(refused.output).toMatch(
      /Nothing was changed[\s\S]*not in the file[\s\S]*4\tfunction two\(\) \{\n5\t {2}return 2;/,
    );
    expect(text("a.ts")).toContain("return 2;");
  });

  test.each(["./a", "b/../a", "link"])(
    "a patch that names one file twice, the second time as %s, changes nothing",
    async (other) => {
      put("a", "1\n2\n");
      mkdirSync(join(folder, "b"));
      symlinkSync("a", join(folder, "link"));
      const patch = `--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+one\n--- a/${other}\n+++ b/${other}\n@@ -2 +2 @@\n-2\n+two\n`;
      const refused = await run("apply_patch", { patch });
      expect(refused.output).toBe(`Nothing was changed. "${other}": it comes twice.`);
      expect(text("a")).toBe("1\n2\n");
    },
  );

  test("a patch that fails halfway is rolled back", async () => {
    put("a", "1\n");
    mkdirSync(join(folder, "b"));
    symlinkSync(home, join(folder, "out"));
    const patch =
      "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n--- /dev/null\n+++ b/out/c\n@@ -0,0 +1 @@\n+x\n";
    expect(await run("apply_patch", { patch })).toMatchObject({ outcome: "failed" });
    expect(text("a")).toBe("1\n");
  });
});

describe("searching files", () => {
  beforeEach(() => {
    put("src/a.ts", "const one = 1;\n");
    put("src/deep/b.ts", "const two = 2;\n");
    put("dist/c.ts", "const three = 3;\n");
    put(".git/config", "const secret = 4;\n");
    put(".gitignore", "dist/\n*.log\n!keep.log\n");
    put("x.log", "const log = 5;\n");
    put("keep.log", "const kept = 6;\n");
    put("bin", Uint8Array.from([...Buffer.from("const"), 0]));
    symlinkSync("/etc", join(folder, "link"));
  });

  test("omits .git, ignored files and link targets", async () => {
    expect((await run("list_files", {})).output.split("\n")).toEqual([
      ".gitignore",
      "bin",
      "keep.log",
      "link (link)",
      "src/",
    ]);
    expect((await run("glob", { pattern: "**/*.ts" })).output).toBe("src/a.ts\nsrc/deep/b.ts");
    expect((await run("grep", { pattern: "const \\w+" })).output).toBe(
      "keep.log:1: const kept = 6;\nsrc/a.ts:1: const one = 1;\nsrc/deep/b.ts:1: const two = 2;",
    );
    expect((await run("grep", { pattern: "TWO", files: "**/*.ts", case: "ignored" })).output).toBe(
      "src/deep/b.ts:1: const two = 2;",
    );
    expect(await run("grep", { pattern: "const", path: ".." })).toMatchObject({
      outcome: "failed",
    });
  });

  test("stops a runaway expression without blocking anything else", async () => {
    put("evil", `${"a".repeat(60)}!\n`);
    const searching = run("quick_grep", { pattern: "^(a+)+$", files: "evil" });
    expect((await run("grep", { pattern: "two" })).outcome).toBe("ok");
    expect(await searching).toMatchObject({ outcome: "failed" });
    expect((await searching).output).toMatch(/took longer than 300 ms/);
  });

  /** `ignore` turns this into a regular expression that backtracks for years. */
  function putRunawayGitignore(): void {
    put("evil/.gitignore", `${"**/*a*/".repeat(20)}b\n`);
    put(`evil/${"aaa/".repeat(40)}x`, "");
  }

  test("[safety] stops a runaway .gitignore without blocking anything else", async () => {
    putRunawayGitignore();
    const searching = run("quick_glob", { pattern: "**/*.ts", path: "evil" });
    expect((await run("glob", { pattern: "**/a.ts", path: "src" })).output).toBe("src/a.ts");
    expect(await searching).toMatchObject({ outcome: "failed" });
    expect((await searching).output).toMatch(/took longer than 300 ms/);
  });

  test("a search that is cancelled ends, and the next one works", async () => {
    putRunawayGitignore();
    const cancelling = new AbortController();
    const searching = run("glob", { pattern: "**", path: "evil" }, cancelling.signal);
    setImmediate(() => cancelling.abort());
    expect(await searching).toEqual({ outcome: "cancelled", output: "" });
    expect(await run("list_files", {}, cancelling.signal)).toMatchObject({ outcome: "cancelled" });
    expect((await run("list_files", { path: "src" })).output).toBe("src/a.ts\nsrc/deep/");
  });

  test("cancelling a search that is over leaves the next one alone", async () => {
    const search = createFileSearch();
    const over = new AbortController();
    const job = { kind: "glob", root: folder, path: ".", pattern: "src/*.ts" } as const;
    const output = { maxLines: 10, maxLength: 1_000, whenNone: "None.", whenMore: "More." };
    await search(job, output, over);
    const next = search(job, output, new AbortController());
    over.abort();
    expect(await next).toEqual({ outcome: "ok", output: "src/a.ts" });
  });

  test("concurrent searches each return their own result", async () => {
    const answers = await Promise.all(
      ["src/*.ts", "src/**/b.ts", "nothing", "keep.*"].map((pattern) => run("glob", { pattern })),
    );
    expect(answers.map(({ output }) => output)).toEqual([
      "src/a.ts",
      "src/deep/b.ts",
      "No file matches.",
      "keep.log",
    ]);
  });

  test("[safety] a third search waits for a thread, and can be cancelled meanwhile", async () => {
    put("evil", `${"a".repeat(60)}!\n`);
    const runaway = { pattern: "^(a+)+$", files: "evil" };
    const cancelling = Array.from({ length: 2 }, () => new AbortController());
    let threads = 0;
    const onThread = () => void (threads += 1);
    process.on("worker", onThread);
    onTestFinished(() => void process.off("worker", onThread));
    const busy = cancelling.map(({ signal }) => run("grep", runaway, signal));
    await expect.poll(() => threads).toBe(2);
    const hurried = new AbortController();
    const answered: string[] = [];
    const third = run("glob", { pattern: "src/*.ts" });
    const fourth = run("glob", { pattern: "src/*.ts" }, hurried.signal);
    void third.then(({ output }) => answered.push(output));
    // On other threads, and longer than the third takes.
    for (let n = 0; n < 5; n += 1) await run("quick_grep", runaway);
    hurried.abort();
    expect(await fourth).toEqual({ outcome: "cancelled", output: "" });
    expect(answered).toEqual([]);
    cancelling[0]?.abort();
    expect((await third).output).toBe("src/a.ts");
    for (const controller of cancelling) controller.abort();
    for (const { outcome } of await Promise.all(busy)) expect(outcome).toBe("cancelled");
  });

  test("shows the first matches of a file with millions", async () => {
    put("a.txt", "\n".repeat(8_000_000));
    const { outcome, output } = await run("grep", { pattern: "^", files: "a.txt" });
    expect(outcome).toBe("ok");
    expect(output.split("\n").slice(-2)).toEqual(["a.txt:300: ", "[There are more matches.]"]);
  });

  test("many searches one after the other cause no warning", async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => void warnings.push(warning);
    process.on("warning", onWarning);
    onTestFinished(() => void process.off("warning", onWarning));
    put("a.txt", "here\n");
    for (let n = 0; n < 12; n += 1)
      expect((await run("grep", { pattern: "here" })).output).toBe("a.txt:1: here");
    expect(warnings).toEqual([]);
  });

  test("lists at most 1000 names and says that there are more", async () => {
    for (let n = 0; n < 1_001; n += 1) put(`many/${n}`, "");
    const lines = (await run("list_files", { path: "many" })).output.split("\n");
    expect(lines).toHaveLength(1_001);
    expect(lines.at(-1)).toBe("[More than 1000: look at a part of it.]");
  });
});

test.each<[string, Json]>([
  ["read_file", null],
  ["read_file", { path: 1 }],
  ["read_file", { path: "a", more: 1 }],
  ["read_file", { path: "x".repeat(100_000) }],
  ["write_file", { path: "a" }],
  ["write_file", [["path", "a"]]],
  ["edit_file", { path: "a", old: "", new: "" }],
  ["apply_patch", { patch: {} }],
  ["glob", { pattern: "[" }],
  ["grep", { pattern: "(" }],
  ["fetch_url", { url: "file:///etc/passwd" }],
  ["fetch_url", { url: "http://127.0.0.1/" }],
  ["fetch_url", { url: "http://[::ffff:169.254.169.254]/" }],
  ["todo", { items: [{ text: "a", state: "new" }] }],
  ["todo", { items: Array.from({ length: 51 }, () => ({ text: "a", state: "open" })) }],
  ["remember", { text: "" }],
  ["search_sessions", {}],
  ["ask_user", { question: "Well?" }],
  ["terminal", { command: { toString: "ls" } }],
  ["terminal", JSON.parse(`${"[".repeat(400)}${"]".repeat(400)}`) as Json],
])("%s refuses %j with a message", async (name, input) => {
  const { outcome, output } = await run(name, input);
  expect(outcome).toBe("failed");
  expect(output.length).toBeGreaterThan(10);
  expect(output.length).toBeLessThan(2_000);
});

test.each(["/etc/passwd", "../x", "a/../../x", "link/x", "\0", "x".repeat(300)])(
  "no file tool leaves the workspace by %j",
  async (path) => {
    symlinkSync(home, join(folder, "link"));
    writeFileSync(join(home, "x"), "SECRET");
    for (const [name, more] of [
      ["read_file", {}],
      ["write_file", { content: "y" }],
      ["edit_file", { old: "SECRET", new: "y" }],
      ["list_files", {}],
    ] as const) {
      const result = await run(name, { path, ...more });
      expect([name, result.outcome, result.output.includes("SECRET")]).toEqual([
        name,
        "failed",
        false,
      ]);
    }
    expect(readFileSync(join(home, "x"), "utf8")).toBe("SECRET");
  },
);

test("every tool declares its replay safety, its timeout and its input", () => {
  for (const tool of tools.values()) {
    expect(["never", "safe"]).toContain(tool.replay);
    expect(tool.timeLimitMs).toBeGreaterThan(0);
    expect(tool.input).toMatchObject({ type: "object", additionalProperties: false });
  }
  expect([...tools.values()].filter((tool) => "approval" in tool)).toHaveLength(tools.size);
});
