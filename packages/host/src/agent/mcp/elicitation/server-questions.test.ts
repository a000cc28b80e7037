import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { PersonsAnswer, ToolQuestion } from "@holdfast/engine";
import { ids, laneKey, ownerRights, questionOf } from "@holdfast/protocol";
import { describe, expect, onTestFinished, test } from "vitest";
import { type McpRig, openMcpRig } from "../../../../test/support/mcp/mcp-rig.ts";
import { createServerQuestions } from "./server-questions.ts";

const main = fileURLToPath(
  new URL("../../../../test/support/mcp/asking-server-main.ts", import.meta.url),
);

const everything = join(
  import.meta.dirname,
  "../../../../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js",
);

function openShop(): McpRig {
  const rig = openMcpRig({ shop: { command: process.execPath, args: [main] } });
  onTestFinished(() => rig.stop());
  return rig;
}

/** Answers in turn, and keeps what was asked. */
function person(...answers: readonly (string | PersonsAnswer)[]) {
  const asked: ToolQuestion[] = [];
  const ask = async (question: ToolQuestion): Promise<PersonsAnswer> => {
    asked.push(question);
    const answer = answers[asked.length - 1] ?? { status: "expired" };
    return typeof answer === "string" ? { status: "answered", answer } : answer;
  };
  return { asked, ask };
}

describe("a server of the newest protocol", () => {
  test("gets an answer with its call made again, and a wrong answer is asked about again", async () => {
    const { asked, ask } = person("size: L\ncount: 12", "size: m\ncount: 3");
    const done = await openShop().call("shop__order", {}, { ask });
    expect(done).toEqual({ outcome: "ok", output: "3 of M" });
    expect(asked[1]?.input["question"]).toContain(
      "size must be one of: S, M. count must be from 1 to 9.",
    );
  });

  test("is told when a person declines, and the model is too", async () => {
    const { ask } = person({ status: "declined" });
    const done = await openShop().call("shop__order", {}, { ask });
    expect(done.output).toBe(
      "nothing was ordered\n[shop asked a person something: a person declined to answer.]",
    );
  });

  test("[safety] that asks without end is stopped, and people are asked ten times at most", async () => {
    const { asked, ask } = person(...Array.from({ length: 50 }, () => "Yes"));
    const done = await openShop().call("shop__nag", {}, { ask });
    expect([done.outcome, asked.length]).toEqual(["unknown", 10]);
    expect(done.output).toContain("The server asked too many times.");
  });
});

describe("what a person is asked", () => {
  const wanted = new AbortController().signal;
  const call = { lane: null, rights: ownerRights };
  const open = (ask: ReturnType<typeof person>["ask"], from = call) =>
    createServerQuestions({ server: "shop", tool: "order", call: from, ask });
  const form = (properties: Record<string, object>, required: readonly string[] = []) => ({
    mode: "form" as const,
    message: "Tell me.",
    requestedSchema: { type: "object" as const, properties, required: [...required] },
  });
  type Form = Parameters<ReturnType<typeof createServerQuestions>["elicit"]>[0];
  /** As it comes from a server that does not keep to the schema. */
  const hostile = (value: unknown): Form => JSON.parse(JSON.stringify(value)) as Form;

  test("one yes or no has buttons, and its server's words cannot hide where a link leads", async () => {
    const { asked, ask } = person("Yes");
    const params = {
      ...form({ go: { type: "boolean", title: "Go" } }),
      message: "[my.bank](http://x.y)",
    };
    expect(await open(ask).elicit(hostile(params), wanted)).toEqual({
      action: "accept",
      content: { go: true },
    });
    const question = questionOf({ kind: "question" }, asked[0]?.input ?? {});
    expect(question?.choices).toEqual(["Yes", "No"]);
    expect(question?.question).toContain("> [my.bank] (http://x.y)");
  });

  test("what looks like a secret is named as such", async () => {
    const { asked, ask } = person("hunter2");
    await open(ask).elicit(
      hostile(form({ pw: { type: "string", title: "Your password" } })),
      wanted,
    );
    expect(asked[0]?.input["lead"]).toContain("⚠ This looks like a secret: Your password.");
  });

  test.each<[string, unknown]>([
    ["nested", form({ a: { type: "object", properties: {} } })],
    ["empty", form({})],
    [
      "too long",
      form(Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`f${n}`, { type: "string" }]))),
    ],
    ["of a huge choice", form({ a: { type: "string", enum: Array.from({ length: 51 }, String) } })],
    ["with a name of several lines", form({ "a\nb: c": { type: "string" } })],
    ["no object", { ...form({}), requestedSchema: 7 }],
  ])("[safety] a form that is %s is declined without asking", async (_, params) => {
    const { asked, ask } = person();
    const questions = open(ask);
    expect(await questions.elicit(hostile(params), wanted)).toEqual({ action: "decline" });
    expect([asked.length, questions.notes.length]).toEqual([0, 1]);
  });

  test.each([
    "javascript:alert(1)",
    "http://example.net/",
    "https://user:pw@example.net/",
    "nonsense",
  ])("[safety] the address %s is not offered to be opened", async (url) => {
    const { asked, ask } = person("I have opened it");
    const params = hostile({ mode: "url", elicitationId: "1", message: "Open it.", url });
    expect(await open(ask).elicit(params, wanted)).toEqual({ action: "decline" });
    expect(asked).toEqual([]);
  });

  test("[safety] who does not answer for the owner is not asked", async () => {
    const { asked, ask } = person("Yes");
    const questions = open(ask, { lane: null, rights: { ...ownerRights, approvals: false } });
    expect(await questions.elicit(hostile(form({ go: { type: "boolean" } })), wanted)).toEqual({
      action: "decline",
    });
    expect([asked.length, questions.notes]).toEqual([
      0,
      [expect.stringContaining("nobody was asked")],
    ]);
    // A program's answer is not a person's.
    const lane = laneKey.parse("webhook:shop:1");
    const byProgram = createServerQuestions({
      server: "shop",
      tool: "order",
      call: { lane, rights: ownerRights },
      ask,
    });
    expect(await byProgram.elicit(hostile(form({ go: { type: "boolean" } })), wanted)).toEqual({
      action: "decline",
    });
    expect(asked).toEqual([]);
  });

  test("as many are chosen as the form allows", async () => {
    const tags = { type: "array", minItems: 1, maxItems: 2, items: { enum: ["a", "b", "c"] } };
    const { asked, ask } = person("a, b, c", "a, c");
    expect(await open(ask).elicit(hostile(form({ tags }, ["tags"])), wanted)).toEqual({
      action: "accept",
      content: { tags: ["a", "c"] },
    });
    expect(asked[1]?.input["lead"]).toContain("Choose from 1 to 2 for tags.");
  });

  test("what is not mentioned has its usual value, and what is left empty has none", async () => {
    const fields = {
      name: { type: "string" },
      days: { type: "integer", default: 3 },
      note: { type: "string", default: "none" },
      tags: { type: "array", items: { type: "string", enum: ["a", "b"] } },
    };
    const { asked, ask } = person('note:\ntags: b, a\nname: "Ada\\nLovelace"');
    expect(await open(ask).elicit(hostile(form(fields, ["name"])), wanted)).toEqual({
      action: "accept",
      content: { name: "Ada\nLovelace", days: 3, tags: ["b", "a"] },
    });
    expect(asked[0]?.input["choices"]).toEqual([]);
  });
});

test("[safety] over a pipe, a question while several conversations use the server is nobody's", async () => {
  const rig = openMcpRig({ all: { command: process.execPath, args: [everything, "stdio"] } });
  onTestFinished(() => rig.stop());
  const { asked, ask } = person("String: Ada");
  const over = new AbortController();
  const started = Promise.withResolvers<void>();
  const long = rig.call(
    "all__trigger-long-running-operation",
    { duration: 60, steps: 600 },
    { signal: over.signal, written: () => started.resolve(), session: ids.make("session") },
  );
  await started.promise;
  const done = await rig.call("all__trigger-elicitation-request", {}, { ask });
  expect([asked.length, done.output]).toEqual([
    0,
    expect.stringContaining("it was not clear which one it asked"),
  ]);
  over.abort();
  await long;
  // Alone, its question is placed again.
  await rig.call("all__trigger-elicitation-request", {}, { ask });
  expect(asked).toHaveLength(1);
});
