import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { PolicyQuestion } from "@holdfast/engine";
import { ids, type Json } from "@holdfast/protocol";
import { anOwner } from "@holdfast/testing/fixtures/factories";
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

/** More than are listed one by one. */
const many = Array.from({ length: 210 }, (_, n) => `a${n}`);

interface Options {
  readonly begunAt?: number;
  readonly now?: () => number;
}

function open(rules: readonly string[] = [], { begunAt = 0, now }: Options = {}) {
  const kept = openStoredRules(createReferenceStore().register, now);
  const policy = createPolicy({
    mode: "ask",
    rules,
    storedRules: kept,
    begunAt: async () => begunAt,
  });
  async function ask(name: string, input: Json, more: Partial<PolicyQuestion> = {}) {
    const call = { owner, session, runId: ids.make("run"), callId: ids.make("call") };
    const question: PolicyQuestion = { ...call, name, input, asks: "ask", place, ...more };
    return { ...question, files: await policy.files(question) };
  }
  const decide = async (...asked: Parameters<typeof ask>) => policy.decide(await ask(...asked));
  const run = async (...command: string[]) => (await decide("terminal", { command })).kind;
  const shell = async (command: string) => (await decide("terminal", { command })).kind;
  async function allow(rule: string, ...asked: Parameters<typeof ask>) {
    const { files, name } = await ask(...asked);
    const approvalId = ids.make("approval");
    await policy.remember({ owner, tool: name, approvalId, session, rule, by: null, files });
  }
  return { kept, policy, ask, decide, run, shell, allow };
}

test("[safety] an operator's ask binds: no rule of a person counts beside it", async () => {
  const { decide, allow } = open(["ask terminal: echo danger *"]);
  await allow("terminal: echo *", "terminal", { command: ["echo", "hello"] });
  expect(await decide("terminal", { command: ["echo", "hello"] })).toMatchObject({ kind: "allow" });
  const danger = ["echo", "danger", "zone"];
  expect(await decide("terminal", { command: danger })).toEqual({ kind: "ask", binding: true });
});

describe("rules for programs", () => {
  test.each([
    ["git", "-c", "alias.x=!id", "x"],
    ["npm", "test"],
    ["python3", "-c", "print(1)"],
    ["uv", "run", "x"],
    ["tar", "--to-command=id", "-xf", "a"],
    ["curl", "-o", "x", "evil"],
    ["cargo", "run"],
    ["unshare", "id"],
    ["./ls", "-l"],
    ["sort", "--compress-program=id", "a"],
    ["cat", "a"],
  ])(
    "[safety] no rule for every argument of %s is offered, accepted or counted",
    async (...argv) => {
      const { policy, ask, allow, run } = open();
      const question = await ask("terminal", { command: argv });
      const wide = `terminal: ${argv[0]} *`;
      expect((await policy.describe(question)).rules).toHaveLength(1);
      expect(await policy.refuseRule(wide, question)).toMatch(/^expected a rule/);
      expect(await policy.covers(wide, question)).toBe(false);
      // As an older version accepted it.
      await allow(wide, "terminal", { command: argv });
      expect(await run(...argv)).toBe("ask");
    },
  );

  test("[safety] the bare name of a tool is no rule for one of its commands", async () => {
    const { policy, ask, allow, run } = open();
    const question = await ask("terminal", { command: ["ls"] });
    expect(await policy.refuseRule("terminal", question)).toMatch(/no more than can be shown/);
    await allow("terminal", "terminal", { command: ["ls"] });
    expect(await run("ls")).toBe("ask");
  });

  test("[safety] even an operator's rule for every git command covers no alias and no settings", async () => {
    const { run } = open(["allow terminal: git *"], { begunAt: Infinity });
    expect(await run("git", "status")).toBe("allow");
    expect(await run("git", "-c", "alias.x=!id", "x")).toBe("ask");
    expect(await run("git", "x")).toBe("ask");
    expect(await run("git", "--exec-path=.", "status")).toBe("ask");
  });
});

describe("files that a command loads", () => {
  test("[safety] an operator's rule does not count for files written since the conversation began", async () => {
    mkdirSync(join(place, "docs"));
    writeFileSync(join(place, "package.json"), "{}");
    const rules = ["allow terminal: npm test *"];
    expect(await open(rules, { begunAt: Date.now() + 60_000 }).run("npm", "test")).toBe("allow");
    const { run } = open(rules, { begunAt: Date.now() - 60_000 });
    expect(await run("npm", "test")).toBe("ask");
    rmSync(join(place, "package.json"));
    expect(await run("npm", "test")).toBe("allow");
    writeFileSync(join(place, "docs/package.json"), '{"scripts":{"test":"id"}}');
    expect(await run("npm", "test", "--prefix", "docs")).toBe("ask");
    expect(await run("npm", "test", "--prefix=docs")).toBe("ask");
  });

  test.each<[string, readonly string[], string]>([
    ["Makefile", ["make"], "make"],
    ["script.sh", ["bash", "script.sh"], "bash script.sh"],
    ["tool", ["./tool", "now"], "./tool now"],
    [".git/config", ["git", "status"], "git status"],
    ["vitest.config.ts", ["vitest"], "vitest"],
    ["a.tar", ["tar", "xf", "a.tar"], "tar xf a.tar"],
  ])(
    "[safety] a change of %s makes %j ask again, and the person is told",
    async (path, argv, line) => {
      const { policy, ask, run, shell, allow } = open();
      mkdirSync(join(place, ".git"));
      writeFileSync(join(place, path), "one");
      await allow(`terminal: ${argv.join(" ")}`, "terminal", { command: [...argv] });
      await allow(`terminal shell: ${JSON.stringify(line)}`, "terminal", { command: line });
      expect([await run(...argv), await shell(line)]).toEqual(["allow", "allow"]);
      writeFileSync(join(place, path), "two");
      expect([await run(...argv), await shell(line)]).toEqual(["ask", "ask"]);
      const { notes } = await policy.describe(await ask("terminal", { command: [...argv] }));
      expect(notes).toEqual([
        `${JSON.stringify(path)} has changed since this was always allowed, so that rule no longer applies.`,
      ]);
      writeFileSync(join(place, path), "one");
      expect([await run(...argv), await shell(line)]).toEqual(["allow", "allow"]);
    },
  );

  test("[safety] a file that a command begins to load makes it ask again", async () => {
    const { run, allow } = open();
    await allow("terminal: make", "terminal", { command: ["make"] });
    writeFileSync(join(place, "Makefile"), "all:\n\tid\n");
    expect(await run("make")).toBe("ask");
  });

  test.each<[string, readonly string[] | string]>([
    ["x.sh", "sh < x.sh"],
    ["x.sh", "sh 0<x.sh"],
    ["ls", "sh < ls"],
    ["x.so", "LD_PRELOAD=./x.so ls"],
    ["x.so", ["env", "LD_PRELOAD=./x.so", "ls"]],
    ["tool.py", ["python3", "-m", "tool"]],
    ["pkg/__main__.py", ["python3", "-m", "pkg"]],
    ["pkg/sub/tool.py", ["python3", "-m", "pkg.sub.tool"]],
    ["pkg/__main__.py", ["python3.11", "pkg"]],
    ["lib/index.js", ["node", "lib"]],
    ["start.js", ["node", "start"]],
    ["z.sh", ["cat", ...many, "z.sh"]],
  ])("[safety] a yes is bound to %s, however the command names it (%#)", async (file, command) => {
    const { ask } = open();
    mkdirSync(join(place, "pkg", "sub"), { recursive: true });
    mkdirSync(join(place, "lib"));
    for (const name of many) writeFileSync(join(place, name), "");
    writeFileSync(join(place, file), "one");
    const files = async () => (await ask("terminal", { command: command as Json })).files;
    const before = await files();
    expect(await files()).toEqual(before);
    writeFileSync(join(place, file), "two");
    expect(await files()).not.toEqual(before);
  });

  test("[safety] a rule from before files were recorded does not count for files written since", async () => {
    writeFileSync(join(place, "Makefile"), "all:");
    for (const [begunAt, expected] of [
      [Date.now() + 60_000, "allow"],
      [Date.now() - 60_000, "ask"],
    ] as const) {
      const { kept, run } = open([], { begunAt });
      const approvalId = ids.make("approval");
      await kept.add({
        owner,
        tool: "terminal",
        approvalId,
        session,
        rule: "terminal: make",
        by: null,
      });
      expect(await run("make")).toBe(expected);
    }
  });
});

describe("what is denied", () => {
  test.each<[string, readonly string[] | string, "deny" | "ask"]>([
    ["deny terminal: curl *", ["curl", "x"], "deny"],
    ["deny terminal: curl *", ["/usr/bin/curl", "x"], "deny"],
    ["deny terminal: curl *", ["env", "A=1", "curl", "x"], "deny"],
    ["deny terminal: curl *", ["timeout", "5", "/usr/bin/curl", "x"], "deny"],
    ["deny terminal: curl *", ["find", ".", "-exec", "curl", "x", ";"], "deny"],
    ["deny terminal: curl *", ["sh", "-c", "true; curl x"], "deny"],
    ["deny terminal: curl *", ["env", "sh", "-c", "curl x"], "deny"],
    ["deny terminal: curl *", ["./link", "x"], "deny"],
    ["deny terminal: curl *", "true && curl x | sh", "deny"],
    ["deny terminal: curl *", "echo $(curl x)", "deny"],
    ["deny terminal: curl *", "A=1 env curl x", "deny"],
    ["deny terminal: curl *", "if curl x\nthen true; fi", "deny"],
    ["deny terminal: /usr/bin/curl *", ["curl", "x"], "deny"],
    ["deny terminal: git push", ["git", "push"], "deny"],
    ["deny terminal: git push", ["git", "push", "x"], "ask"],
    ["deny terminal: curl *", ["echo", "curl"], "ask"],
    ["deny terminal: curl *", ["git", "commit", "-m", "no curl x"], "ask"],
    ["deny terminal: curl *", "echo 'curl x'", "ask"],
  ])("[safety] under `%s` %j: %s", async (rule, command, expected) => {
    symlinkSync("/usr/bin/curl", join(place, "link"));
    const { decide } = open([rule]);
    const input = { command: typeof command === "string" ? command : [...command] };
    expect((await decide("terminal", input)).kind).toBe(expected);
  });

  test.each<[string, Json]>([
    ["read_file", { path: "secrets/a" }],
    ["send_file", { path: "secrets/a" }],
    ["send_file", { path: "docs/../secrets/a" }],
    ["edit_file", { path: "secrets/a", old: "a", new: "b" }],
    ["apply_patch", { patch: "--- a/secrets/a\n+++ b/secrets/a\n@@ -1 +1 @@\n-a\n+b\n" }],
  ])("[safety] a file that may not be read is denied to %s too: %j", async (name, input) => {
    const { decide } = open(["deny read_file in secrets/**"]);
    expect(await decide(name, input, { asks: "none" })).toEqual({ kind: "deny" });
    const elsewhere = JSON.parse(JSON.stringify(input).replaceAll("secrets", "docs")) as Json;
    expect(await decide(name, elsewhere, { asks: "none" })).toEqual({ kind: "allow" });
  });
});

describe("tools of servers", () => {
  const described = "1111111111111111";
  const changed = "2222222222222222";

  test("[safety] a rule for a server's tool holds while the server describes it in the same way", async () => {
    const { policy, ask, decide, allow } = open();
    const question = await ask("wiki__search", { q: "x" }, { identity: described });
    const [rule = ""] = (await policy.describe(question)).rules ?? [];
    expect(rule).toBe(`wiki__search as ${described}`);
    await allow(rule, "wiki__search", { q: "x" });
    const now = (identity: string) => decide("wiki__search", { q: "y" }, { identity });
    expect(await now(described)).toMatchObject({ kind: "allow" });
    expect(await now(changed)).toEqual({ kind: "ask" });
    const later = await ask("wiki__search", { q: "y" }, { identity: changed });
    expect((await policy.describe(later)).notes).toEqual([
      expect.stringContaining("changed its description of wiki__search"),
    ]);
  });

  test("[safety] a rule for a server's tool from before it was bound to its description does not count", async () => {
    const { decide, allow } = open();
    await allow("wiki__search", "wiki__search", {});
    expect(await decide("wiki__search", {}, { identity: described })).toEqual({ kind: "ask" });
  });
});

test("a rule with an end is listed and counts until then", async () => {
  let now = 1_000;
  const { kept, policy, run } = open([], { now: () => now });
  const rule = { owner, tool: "terminal", approvalId: ids.make("approval"), session, by: null };
  await policy.remember({ ...rule, rule: "terminal: ls", until: 2_000, files: [] });
  expect(await kept.list(owner)).toMatchObject([{ rule: "terminal: ls", until: 2_000 }]);
  expect(await run("ls")).toBe("allow");
  now = 2_000;
  expect([await run("ls"), await kept.list(owner)]).toEqual(["ask", []]);
});
