import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { PolicyQuestion } from "@holdfast/engine";
import { ids, type Json, ownerId, type SessionMode, type TaintSource } from "@holdfast/protocol";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { createPolicy, type PolicyMode } from "./policy.ts";

let place: string;
beforeEach(() => {
  place = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-modes-")));
});
afterEach(() => rmSync(place, { recursive: true }));

interface Circumstances {
  readonly rules?: readonly string[];
  readonly policy?: PolicyMode;
  readonly confined?: "confined" | "unconfined";
  readonly taint?: readonly TaintSource[];
}

function open({ rules = [], policy = "ask", confined = "confined", taint = [] }: Circumstances) {
  const created = createPolicy({
    mode: policy,
    rules,
    storedRules: { list: async () => [], add: async () => {} },
    begunAt: async () => Infinity,
    isConfined: async () => confined === "confined",
  });
  const question = (mode: SessionMode, name: string, input: Json): PolicyQuestion => ({
    owner: ownerId.parse("owner"),
    session: ids.make("session"),
    runId: ids.make("run"),
    callId: ids.make("call"),
    name,
    input,
    asks: "ask",
    place,
    taint,
    mode,
  });
  return {
    decide: (mode: SessionMode, name: string, input: Json) =>
      created.decide(question(mode, name, input)),
    notes: async (mode: SessionMode, name: string, input: Json) =>
      (await created.describe(question(mode, name, input))).notes ?? [],
  };
}

const edits: readonly (readonly [string, Json])[] = [
  ["write_file", { path: "a.txt", content: "x" }],
  ["edit_file", { path: "a.txt", old: "x", new: "y" }],
  ["apply_patch", { patch: "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+x\n" }],
];
const list: Json = { command: ["ls", "-la"] };
const line: Json = { command: "ls -la | wc -l" };
const web: TaintSource = { kind: "web", name: "evil.example" };

describe("accepting edits", () => {
  test.each(edits)(
    "%s runs without asking, and the decision names the mode",
    async (name, input) => {
      const { decide } = open({});
      expect(await decide("ask", name, input)).toEqual({ kind: "ask" });
      expect(await decide("edits", name, input)).toEqual({ kind: "allow", rule: "mode: edits" });
      expect(await decide("full", name, input)).toEqual({ kind: "allow", rule: "mode: full" });
    },
  );

  test.each<[string, string, Json]>([
    ["a command", "terminal", list],
    ["a shell's line", "terminal", line],
    ["a page of the web", "fetch_url", { url: "https://example.org/" }],
    ["a note", "remember", { about: "person", line: "x" }],
    ["a tool of an MCP server", "wiki__edit", { page: "x" }],
    ["a file outside of the workspace", "write_file", { path: "../a.txt", content: "x" }],
    ["a file that git runs", "write_file", { path: ".git/hooks/pre-commit", content: "x" }],
    ["an edit without a path", "write_file", { content: "x" }],
  ])("[safety] %s still asks", async (_, name, input) => {
    expect(await open({}).decide("edits", name, input)).toEqual({ kind: "ask" });
  });

  test("[safety] a link inside the workspace does not lead an edit out of it", async () => {
    mkdirSync(join(place, "docs"));
    symlinkSync(tmpdir(), join(place, "docs", "out"));
    const input = { path: "docs/out/a.txt", content: "x" };
    expect(await open({}).decide("edits", "write_file", input)).toEqual({ kind: "ask" });
  });
});

describe("full in the sandbox", () => {
  test.each([list, line])("a confined command runs, and only confined", async (input) => {
    const { decide } = open({});
    expect(await decide("full", "terminal", input)).toEqual({
      kind: "allow",
      rule: "mode: full",
      confined: true,
    });
  });

  test("[safety] a command that nothing confines asks, and the person is told why", async () => {
    const { decide, notes } = open({ confined: "unconfined" });
    expect(await decide("full", "terminal", list)).toEqual({ kind: "ask" });
    expect(await notes("full", "terminal", list)).toEqual([
      'The mode "Full in the sandbox" does not cover it: no sandbox confines it.',
    ]);
    expect(await notes("ask", "terminal", list)).toEqual([]);
  });

  test.each<[string, Json]>([
    ["names hosts", { command: ["npm", "ci"], hosts: ["registry.npmjs.org"] }],
    ["publishes a port", { command: ["node", "server.js"], background: true, publish: 8080 }],
    ["works outside of the workspace", { command: ["ls"], folder: ".." }],
  ])("[safety] a command that %s asks", async (_, input) => {
    expect(await open({}).decide("full", "terminal", input)).toEqual({ kind: "ask" });
  });

  test("the hosts that an operator grants to every command are covered, and no others", async () => {
    const { decide } = open({ rules: ["allow terminal host registry.npmjs.org"] });
    const to = (...hosts: string[]): Json => ({ command: ["npm", "ci"], hosts });
    expect(await decide("full", "terminal", to("registry.npmjs.org"))).toMatchObject({
      kind: "allow",
    });
    expect(await decide("full", "terminal", to("registry.npmjs.org", "evil.example"))).toEqual({
      kind: "ask",
    });
    expect(await decide("ask", "terminal", to("registry.npmjs.org"))).toEqual({ kind: "ask" });
  });

  test.each<[string, string, Json]>([
    ["a page of the web", "fetch_url", { url: "https://example.org/" }],
    ["a note", "remember", { about: "person", line: "x" }],
    ["a tool of an MCP server", "wiki__edit", { page: "x" }],
  ])("[safety] %s still asks", async (_, name, input) => {
    expect(await open({}).decide("full", name, input)).toEqual({ kind: "ask" });
  });
});

describe("whatever the mode", () => {
  test.each(["ask", "deny"] as const)("[safety] an operator's rule to %s binds", async (effect) => {
    const { decide } = open({ rules: [`${effect} terminal: ls *`, `${effect} write_file in a*`] });
    const expected = effect === "ask" ? { kind: "ask", binding: true } : { kind: "deny" };
    expect(await decide("full", "terminal", list)).toEqual(expected);
    expect(await decide("full", "terminal", { command: ["env", "ls"] })).toEqual(expected);
    expect(await decide("full", "write_file", { path: "a.txt", content: "x" })).toEqual(expected);
    expect(await decide("full", "terminal", { command: ["echo", "x"] })).toMatchObject({
      kind: "allow",
    });
  });

  test("[safety] where the operator has rules about commands, a shell's line asks: rules cannot look inside", async () => {
    const { decide } = open({ rules: ["ask terminal: rm *"] });
    for (const command of ['a=r; "${a}m" -rf x', ["sh", "-c", "r''m x"], ["env", "bash", "x.sh"]])
      expect((await decide("full", "terminal", { command })).kind).toBe("ask");
  });

  test("[safety] after reading a stranger's text it asks, and the person is told so", async () => {
    const { decide, notes } = open({ taint: [web] });
    for (const [name, input] of [...edits, ["terminal", list] as const])
      expect(await decide("full", name, input)).toEqual({ kind: "ask" });
    expect(await notes("full", "terminal", list)).toEqual([
      'The mode "Full in the sandbox" does not count after such reading.',
    ]);
  });

  test.each(["read-only", "deny"] as const)("[safety] the policy %s denies", async (policy) => {
    const { decide } = open({ policy });
    expect(await decide("full", "terminal", list)).toEqual({ kind: "deny" });
    expect(await decide("edits", "write_file", { path: "a.txt", content: "x" })).toEqual({
      kind: "deny",
    });
  });
});
