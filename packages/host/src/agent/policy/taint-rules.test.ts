import type { PolicyQuestion } from "@holdfast/engine";
import { ids, ownerId, type TaintSource } from "@holdfast/protocol";
import { describe, expect, test } from "vitest";

import { createPolicy, type PolicyMode } from "./policy.ts";
import { parseToolRule } from "./rule.ts";

const web: TaintSource = { kind: "web", name: "evil.example" };

function policyWith(
  rules: readonly string[],
  kept: readonly string[] = [],
  mode: PolicyMode = "ask",
) {
  const stored = kept.map((rule) => ({
    id: ids.make("approval"),
    rule,
    sessionId: ids.make("session"),
    by: "owner",
    madeAt: 0,
  }));
  const storedRules = { list: async () => stored, add: async () => {} };
  return createPolicy({ mode, rules, storedRules, begunAt: async () => 0 });
}

function question(
  name: string,
  input: PolicyQuestion["input"],
  taint: readonly TaintSource[] = [],
): PolicyQuestion {
  const call = { session: ids.make("session"), runId: ids.make("run"), callId: ids.make("call") };
  return { owner: ownerId.parse("owner"), ...call, name, input, asks: "ask", taint, place: "/tmp" };
}

const list = (taint: readonly TaintSource[]) =>
  question("terminal", { command: ["ls", "-la"] }, taint);

describe("after reading what a stranger wrote", () => {
  test.each([
    ["an operator's rule", policyWith(["allow terminal: ls *"])],
    ["a kept rule", policyWith([], ["terminal: ls *"])],
    ["the policy trusted", policyWith([], [], "trusted")],
  ])("[safety] %s that covers more than one call does not count", async (_, policy) => {
    expect(await policy.decide(list([]))).toMatchObject({ kind: "allow" });
    expect(await policy.decide(list([web]))).toEqual({ kind: "ask" });
  });

  test("[safety] a rule for a whole tool does not count", async () => {
    const policy = policyWith([], ["remember"]);
    const note = { text: "The ferry leaves at nine." };
    expect(await policy.decide(question("remember", note))).toMatchObject({ kind: "allow" });
    expect(await policy.decide(question("remember", note, [web]))).toEqual({ kind: "ask" });
  });

  test("[safety] a rule for exactly this call counts, and only such rules are offered", async () => {
    const policy = policyWith([], ["terminal: ls -la"]);
    expect(await policy.decide(list([web]))).toMatchObject({ kind: "allow" });
    const { rules } = await policy.describe(list([web]));
    expect(rules).toEqual(["terminal: ls -la"]);
    expect((await policy.describe(list([]))).rules).toContain("terminal: ls *");
  });

  test("[safety] a wide yes for the session does not cover the call", async () => {
    const policy = policyWith([]);
    expect(await policy.covers("terminal: ls *", list([]))).toBe(true);
    expect(await policy.covers("terminal: ls *", list([web]))).toBe(false);
    expect(await policy.covers("terminal: ls -la", list([web]))).toBe(true);
  });
});

describe("rules that name where text came from", () => {
  test("ask and deny count only in that case", async () => {
    const policy = policyWith([
      "allow terminal: ls -la",
      "ask terminal when web",
      "deny terminal when mcp or webhook",
    ]);
    expect(await policy.decide(list([]))).toMatchObject({ kind: "allow" });
    expect(await policy.decide(list([web]))).toMatchObject({ kind: "ask" });
    expect(await policy.decide(list([web, { kind: "webhook" }]))).toEqual({ kind: "deny" });
    expect(await policy.decide(list([{ kind: "quote" }]))).toMatchObject({ kind: "allow" });
  });

  test("a wide rule that names the case counts in it", async () => {
    const policy = policyWith(["allow terminal: ls * when tainted"]);
    expect(await policy.decide(list([web]))).toMatchObject({ kind: "allow" });
    expect(await policy.decide(list([]))).toEqual({ kind: "ask" });
  });

  test("a condition that names no source is part of the rule", () => {
    expect(parseToolRule("allow terminal: echo when done")).toMatchObject({
      rule: { argv: ["echo", "when", "done"] },
    });
    expect(parseToolRule("ask terminal when web or search")).toMatchObject({
      when: ["web", "search"],
    });
  });
});

test("[safety] files of the workspace taint where a rule says so, and only there", async () => {
  const policy = policyWith(["taint read_file in vendor/**", "taint terminal: curl *"]);
  const read = (path: string) => policy.taints(question("read_file", { path }));
  expect(await read("vendor/a/README.md")).toEqual([{ kind: "file", name: "vendor/a/README.md" }]);
  expect(await read("src/index.ts")).toEqual([]);
  const curl = question("terminal", { command: ["curl", "https://evil.example"] });
  expect(await policy.taints(curl)).toEqual([{ kind: "web", name: "terminal: curl *" }]);
  expect(await policyWith([]).taints(curl)).toEqual([]);
});
