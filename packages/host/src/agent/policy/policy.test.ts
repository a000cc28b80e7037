import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { PolicyQuestion } from "@holdfast/engine";
import { anOwner } from "@holdfast/testing/fixtures/factories";
import { ids, type Json } from "@holdfast/protocol";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { createPolicy } from "./policy.ts";
import { openStoredRules } from "./stored-rules.ts";

let place: string;
beforeEach(() => {
  place = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-policy-")));
});
afterEach(() => rmSync(place, { recursive: true }));

const owner = anOwner();
const session = ids.make("session");
/** When the conversation began: by default later than any file was written. */
const begunAt = Infinity;

function ask(name: string, input: Json, asks: PolicyQuestion["asks"] = "ask"): PolicyQuestion {
  const call = { owner, session, runId: ids.make("run"), callId: ids.make("call") };
  return { ...call, name, input, asks, place };
}

type Mode = Parameters<typeof createPolicy>[0]["mode"];

function open(mode: Mode = "ask", rules: readonly string[] = []) {
  const kept = openStoredRules(createReferenceStore().register);
  const policy = createPolicy({ mode, rules, storedRules: kept, begunAt: async () => begunAt });
  const decide = async (question: PolicyQuestion) => (await policy.decide(question)).kind;
  const allow = (rule: string, tool = "terminal") =>
    policy.remember({ owner, tool, approvalId: ids.make("approval"), session, rule, by: null });
  return { kept, policy, decide, allow };
}

describe("arguments", () => {
  test.each<[string, Json, "allow" | "ask"]>([
    ["terminal: ls *", ["ls", "-l", "a"], "allow"],
    ["terminal: ls *", ["ls"], "allow"],
    ["terminal: ls *", "ls; rm -rf /", "ask"],
    ["terminal: git *", ["git", "status"], "ask"],
    ["terminal: git *", "git status", "ask"],
    ["terminal: git *", "git status; rm -rf /", "ask"],
    ["terminal: git *", ["git;rm", "-rf"], "ask"],
    ["terminal: git *", ["/tmp/git", "status"], "ask"],
    ["terminal: git *", ["gitx"], "ask"],
    ["terminal: git *", ["env", "git", "status"], "ask"],
    ["terminal: git status", ["git", "status"], "allow"],
    ["terminal: git status", ["git", "status", "-v"], "ask"],
    ["terminal: git status", ["git", "status "], "ask"],
    ["terminal: git status", ["git status"], "ask"],
    ['terminal: echo "a b"', ["echo", "a b"], "allow"],
    ['terminal: echo "a b"', ["echo", "a", "b"], "ask"],
    ['terminal shell: "make test"', "make test", "allow"],
    ['terminal shell: "make test"', "make test ", "ask"],
    ['terminal shell: "make test"', ["make", "test"], "ask"],
  ])("[safety] [CVE-2025-66032] under `%s` %j: %s", async (rule, command, expected) => {
    const { decide, allow } = open();
    await allow(rule);
    expect(await decide(ask("terminal", { command }))).toBe(expected);
  });
});

test("[safety] an allowed command is allowed in the workspace itself, and elsewhere only if the rule says so", async () => {
  const { decide, allow } = open();
  await allow("terminal: make");
  await allow('terminal at "docs": make');
  const make = (folder: string | undefined, ...words: string[]) =>
    decide(ask("terminal", { command: ["make", ...words], ...(folder && { folder }) }));
  for (const folder of ["docs/deep", "scratch/deep"])
    mkdirSync(join(place, folder), { recursive: true });
  symlinkSync("scratch/deep", join(place, "link"));
  for (const folder of [undefined, ".", "./", place]) expect(await make(folder)).toBe("allow");
  for (const folder of ["docs", "./docs/"]) expect(await make(folder)).toBe("allow");
  expect(await make("docs", "install")).toBe("ask");
  // Rules use the real path of a folder, as the tool does.
  await allow('terminal at "link": make');
  for (const folder of ["scratch", "docs/deep", "link"]) expect(await make(folder)).toBe("ask");
  expect(await make("link/..")).toBe("allow");
});

test("a path rule follows links and never covers .git", async () => {
  const { decide, allow } = open();
  await allow("write_file in docs/**", "write_file");
  mkdirSync(join(place, "docs"));
  mkdirSync(join(place, "src"));
  symlinkSync("../src", join(place, "docs/link"));
  symlinkSync("../src/new", join(place, "docs/dangling"));
  const write = (path: string) => decide(ask("write_file", { path, content: "" }));
  expect(await write("docs/a.md")).toBe("allow");
  expect(await write("docs/new/deep/a.md")).toBe("allow");
  expect(await write(`${place}/docs/a.md`)).toBe("allow");
  for (const path of [
    "src/a",
    "docs/../src/a",
    "docs/link/a",
    "docs/dangling",
    "/etc/x",
    "docs/.git/hooks/x",
    "docs/.GIT/x",
  ])
    expect([path, await write(path)]).toEqual([path, "ask"]);
  expect(await decide(ask("edit_file", { path: "docs/a.md", old: "a", new: "b" }))).toBe("ask");
});

test("a patch is covered when all of its files are", async () => {
  const { decide, allow } = open();
  await allow("apply_patch in docs/**", "apply_patch");
  const file = (path: string) => `--- /dev/null\n+++ b/${path}\n@@ -0,0 +1 @@\n+a\n`;
  expect(await decide(ask("apply_patch", { patch: file("docs/a") + file("docs/b") }))).toBe(
    "allow",
  );
  expect(await decide(ask("apply_patch", { patch: file("docs/a") + file("src/b") }))).toBe("ask");
});

test.each([
  ["fetch_url host example.org", "https://example.org/a", "allow"],
  ["fetch_url host example.org", "https://EXAMPLE.org:443/a", "allow"],
  ["fetch_url host example.org", "https://example.org.evil.test/", "ask"],
  ["fetch_url host example.org", "https://example.org@evil.test/", "ask"],
  ["fetch_url host example.org", "https://a.example.org/", "ask"],
  ["fetch_url host *.example.org", "https://a.example.org/", "allow"],
  ["fetch_url host *.example.org", "https://aexample.org/", "ask"],
])("under `%s` %s: %s", async (rule, url, expected) => {
  const { decide, allow } = open();
  await allow(rule, "fetch_url");
  expect(await decide(ask("fetch_url", { url }))).toBe(expected);
});

test("[safety] a rule about searches holds for the host that it names, also after a stranger's text", async () => {
  const { policy, decide, allow } = open();
  const through = (identity: string): PolicyQuestion => ({
    ...ask("web_search", { query: "tides" }),
    identity,
  });
  expect(await decide(through("api.search.brave.com"))).toBe("ask");
  const described = await policy.describe(through("api.search.brave.com"));
  expect(described.shown).toBe(
    'Searches the web for "tides"\nthrough the host api.search.brave.com',
  );
  expect(described.rules).toEqual(["web_search host api.search.brave.com"]);
  await allow("web_search host api.search.brave.com", "web_search");
  expect(await decide(through("api.search.brave.com"))).toBe("allow");
  const taint = [{ kind: "web" as const, name: "evil.example" }];
  expect(await decide({ ...through("api.search.brave.com"), taint })).toBe("allow");
  expect(await decide(through("api.tavily.com"))).toBe("ask");
  expect(await decide(ask("web_search", { query: "tides" }))).toBe("ask");
});

test.each<[Mode, string, string, string, string]>([
  ["ask", "allow", "ask", "ask", "ask"],
  ["read-only", "allow", "deny", "deny", "deny"],
  ["trusted", "allow", "allow", "ask", "ask"],
  ["deny", "deny", "deny", "deny", "deny"],
])(
  "mode %s: reading %s, a program %s, a shell %s, a wrapped shell %s",
  async (mode, ...expected) => {
    const { decide } = open(mode);
    expect([
      await decide(ask("read_file", { path: "a" }, "none")),
      await decide(ask("terminal", { command: ["ls"] })),
      await decide(ask("terminal", { command: "ls" })),
      await decide(ask("terminal", { command: ["env", "A=1", "/bin/bash", "-c", "ls"] })),
    ]).toEqual(expected);
  },
);

test("the operator's rules take precedence over the mode and people's rules; the strictest counts", async () => {
  const { decide, allow } = open("trusted", [
    "deny terminal: rm *",
    "ask terminal: git push",
    'allow terminal shell: "ls"',
  ]);
  await allow("terminal: rm x");
  // A deny rule applies in every folder.
  expect(await decide(ask("terminal", { command: ["rm", "y"], folder: "docs" }))).toBe("deny");
  expect(await decide(ask("terminal", { command: ["rm", "x"] }))).toBe("deny");
  expect(await decide(ask("terminal", { command: ["git", "push"] }))).toBe("ask");
  expect(await decide(ask("terminal", { command: "ls" }))).toBe("allow");
  const closed = open("read-only");
  await closed.allow("terminal: git *");
  expect(await closed.decide(ask("terminal", { command: ["git"] }))).toBe("deny");
});

test("a deny rule matches a patch with one such file, .git, and undeterminable calls", async () => {
  const { decide } = open("trusted", [
    "deny apply_patch in secrets/**",
    "deny write_file in .git/**",
    "deny grep in secrets/**",
    "ask edit_file in docs/**",
  ]);
  const file = (path: string) => `--- /dev/null\n+++ b/${path}\n@@ -0,0 +1 @@\n+a\n`;
  const patch = (...paths: string[]) =>
    decide(ask("apply_patch", { patch: paths.map(file).join("") }));
  const write = (path: string) => decide(ask("write_file", { path, content: "" }));
  expect(await patch("docs/a")).toBe("allow");
  expect(await patch("secrets/a")).toBe("deny");
  expect(await patch("docs/a", "secrets/a")).toBe("deny");
  expect(await decide(ask("apply_patch", { patch: "no patch" }))).toBe("deny");
  expect(await write("a")).toBe("allow");
  expect(await write(".git/hooks/pre-commit")).toBe("deny");
  expect(await decide(ask("grep", { pattern: "key" }, "none"))).toBe("deny");
  expect(await decide(ask("edit_file", { path: "docs/a", old: "a", new: "b" }))).toBe("ask");
});

test("only a person answers a question, whatever is allowed", async () => {
  const { decide, allow } = open("trusted", ["allow ask_user"]);
  await allow("ask_user", "ask_user");
  expect(await decide(ask("ask_user", { question: "?" }, "question"))).toBe("ask");
});

test("suggested rules cover the call, narrowest first, with a star only after programs that start no others", async () => {
  const { policy } = open();
  const rules = async (name: string, input: Json) =>
    (await policy.describe(ask(name, input))).rules;
  expect(await rules("terminal", { command: ["git", "log", "-n 1"] })).toEqual([
    'terminal: git log "-n 1"',
  ]);
  expect(await rules("terminal", { command: ["ls", "-l"] })).toEqual([
    "terminal: ls -l",
    "terminal: ls *",
  ]);
  expect(await rules("terminal", { command: ["python3", "-c", "x"] })).toEqual([
    "terminal: python3 -c x",
  ]);
  expect(await rules("terminal", { command: "a; b" })).toEqual(['terminal shell: "a; b"']);
  expect(await rules("terminal", { command: ["ls", "a"], folder: "docs/" })).toEqual([
    'terminal at "docs": ls a',
    'terminal at "docs": ls *',
  ]);
  expect(await rules("write_file", { path: "docs/[a].md", content: "" })).toEqual([
    "write_file in docs/\\[a\\].md",
    "write_file in docs/**",
  ]);
  expect(await rules("fetch_url", { url: "https://example.org/x" })).toEqual([
    "fetch_url host example.org",
  ]);
  expect(await rules("remember", { text: "x" })).toEqual(["remember"]);
  for (const rule of (await rules("terminal", { command: ["git", "log", "-n 1"] })) ?? [])
    expect(await policy.covers(rule, ask("terminal", { command: ["git", "log", "-n 1"] }))).toBe(
      true,
    );
});

test("[safety] a rule allows a command only the hosts that it names, and never a port for people", async () => {
  const { policy } = open();
  const covers = (rule: string, more: { [key: string]: Json }) =>
    policy.covers(rule, ask("terminal", { command: ["npm", "ci"], ...more }));
  expect(await covers("terminal: npm ci", {})).toBe(true);
  expect(await covers("terminal: npm ci", { hosts: ["registry.npmjs.org"] })).toBe(false);
  const named = "terminal to *.npmjs.org,a.org: npm ci";
  for (const hosts of [["registry.npmjs.org"], ["A.org", "*.npmjs.org"], ["*.x.npmjs.org"], []])
    expect(await covers(named, { hosts })).toBe(true);
  for (const hosts of [["npmjs.org"], ["a.org", "evil.test"], ["*.a.org"], ["*.org"], ["x.a.org"]])
    expect(await covers(named, { hosts })).toBe(false);
  expect(await covers(named, { publish: 3000 })).toBe(false);
  const offered = await policy.describe(
    ask("terminal", { command: ["npm", "ci"], hosts: ["registry.npmjs.org"] }),
  );
  for (const rule of offered.rules ?? []) expect(rule).toContain(" to registry.npmjs.org: ");
});

test("[safety] what is denied stays denied whatever it reaches, and a host can be denied", async () => {
  const denied = ["deny terminal: curl *", "deny terminal host *.evil.test"];
  const { decide } = open("ask", ["allow terminal", ...denied]);
  const ask2 = (command: string[], hosts: string[]) => decide(ask("terminal", { command, hosts }));
  expect(await ask2(["curl", "x"], ["a.org"])).toBe("deny");
  expect(await ask2(["wget", "x"], ["a.org"])).toBe("allow");
  expect(await ask2(["wget", "x"], ["a.org", "b.evil.test"])).toBe("deny");
  expect(await ask2(["wget", "x"], ["*.evil.test"])).toBe("deny");
  // All names below one that contains it would reach it too.
  expect(await ask2(["wget", "x"], ["*.test"])).toBe("deny");
});

test("a person is shown what will really run", async () => {
  const { policy } = open();
  const shown = async (name: string, input: Json) =>
    (await policy.describe(ask(name, input))).shown;
  expect(await shown("terminal", { command: ["rm", "a\u202Eb", "c d"] })).toBe(
    `Runs in "${place}":\n  "rm"\n  "a\\u{202E}b"\n  "c d"`,
  );
  expect(await shown("terminal", { command: "ls\u0008\u001B[2K" })).toContain(
    "ls\\u{0008}\\u{001B}[2K",
  );
  expect(await shown("fetch_url", { url: "https://exаmple.org/" })).toContain("xn--");
  const edit = { path: "a.txt", old: "x", new: "y" };
  expect(await shown("edit_file", edit)).toBe(`Changes "a.txt" in "${place}":\n-x\n+y`);
  expect(await shown("edit_file", { ...edit, occurrences: "all" })).toBe(
    `Changes every occurrence in "a.txt" in "${place}":\n-x\n+y`,
  );
  expect(await shown("terminal", { command: ["make"], seconds: 600 })).toBe(
    `Runs in "${place}", "seconds" 600:\n  "make"`,
  );
  expect(await shown("terminal", { command: ["make"], background: true, seconds: 600 })).toBe(
    `Runs in the background, in "${place}", "seconds" 600:\n  "make"`,
  );
});

test("an always-allowed rule is listed, removed once, and stays removed when it is added again", async () => {
  const { kept, policy, decide } = open();
  const approvalId = ids.make("approval");
  const rule = { owner, tool: "terminal", approvalId, session, rule: "terminal: ls *", by: "me" };
  await policy.remember(rule);
  await policy.remember(rule);
  expect(await kept.list(owner)).toMatchObject([
    { id: approvalId, rule: "terminal: ls *", by: "me" },
  ]);
  expect(await kept.list(anOwner())).toEqual([]);
  expect(await kept.remove(anOwner(), approvalId)).toBe("not_found");
  expect(await decide(ask("terminal", { command: ["ls"] }))).toBe("allow");
  expect(await kept.remove(owner, approvalId)).toBe("removed");
  expect(await kept.remove(owner, approvalId)).toBe("not_found");
  await policy.remember(rule);
  expect(await kept.list(owner)).toEqual([]);
  expect(await decide(ask("terminal", { command: ["ls"] }))).toBe("ask");
});
