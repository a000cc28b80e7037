import { ids, type StoredEvent } from "@holdfast/protocol";
import { array, assert, integer, property, record } from "fast-check";
import { describe, expect, test } from "vitest";

import { aMessageId, anEvent, toSeq } from "@holdfast/testing/fixtures/factories";
import { buildContext } from "./build-context.ts";
import { type CompactionPlan, planCompaction } from "./plan-compaction.ts";
import type { ContextEntries } from "./session-context.ts";
import { redactSecrets, summariseLocally } from "./write-summary.ts";

const count = (text: string) => Math.ceil(text.length / 4);
const frame = { system: "You are being tested.", tools: [] };

/** A conversation as a run leaves it: answers follow messages, results follow calls. */
const turn = record({
  words: integer({ min: 1, max: 400 }),
  steps: array(
    record({ words: integer({ min: 0, max: 200 }), calls: integer({ min: 0, max: 3 }) }),
    {
      maxLength: 4,
    },
  ),
});

function talk(
  turns: readonly { words: number; steps: readonly { words: number; calls: number }[] }[],
) {
  const entries: StoredEvent[] = [];
  const add = (event: ReturnType<typeof anEvent>) => {
    const seq = toSeq(entries.length + 2);
    entries.push({ ...event, seq, at: 0 });
  };
  const text = (texts: number, of: string) => ({
    type: "text" as const,
    text: `${of} `.repeat(texts),
  });
  for (const { words: texts, steps } of turns) {
    add(anEvent("message.user", { messageId: aMessageId(), parts: [text(texts, "ask")] }));
    for (const step of steps) {
      const calls = Array.from({ length: step.calls }, () => ids.make("call"));
      add(
        anEvent("message.assistant", {
          messageId: aMessageId(),
          parts: [
            text(step.words + 1, "say"),
            ...calls.map((callId) => ({
              type: "tool_call" as const,
              callId,
              name: "look",
              input: {},
            })),
          ],
        }),
      );
      for (const callId of calls)
        add(
          anEvent("message.tool", {
            messageId: aMessageId(),
            parts: [
              {
                type: "tool_result",
                callId,
                name: "look",
                outcome: "ok",
                output: "seen ".repeat(40),
              },
            ],
          }),
        );
    }
  }
  return entries;
}

const whole = (tail: readonly StoredEvent[]): ContextEntries => ({
  version: 1,
  logHead: toSeq(1),
  epochs: 0,
  ranges: [{ from: toSeq(1), to: null }],
  frame: null,
  epoch: null,
  head: [],
  tail,
});

/** The context after carrying out a plan. */
function afterCompaction(before: ContextEntries, { covers }: CompactionPlan): ContextEntries {
  const all = [...before.head, ...before.tail];
  return {
    ...before,
    epoch: { number: 1, seq: toSeq(9_999), covers, summary: "In short." },
    head: all.filter(({ seq }) => seq < covers.from),
    tail: before.tail.filter(({ seq }) => seq > covers.to),
  };
}

const sizes = { tailTokens: 100, summaryTokens: 10 };
const roles = (entries: ContextEntries) =>
  buildContext(entries, frame, new Map()).messages.map(({ role }) => role);

function always(holds: (entries: ContextEntries, plan: CompactionPlan) => void): void {
  let planned = 0;
  assert(
    property(array(turn, { minLength: 1, maxLength: 12 }), (turns) => {
      const entries = whole(talk(turns));
      const plan = planCompaction(entries, count, sizes);
      if (plan === null) return;
      planned += 1;
      holds(entries, plan);
    }),
  );
  expect(planned).toBeGreaterThan(20);
}

describe("a compaction", () => {
  test("never separates a call from its results", () => {
    always((entries, plan) => {
      for (const half of [
        afterCompaction(entries, plan).head,
        afterCompaction(entries, plan).tail,
      ]) {
        const text = (type: string) =>
          JSON.stringify(half.filter((entry) => entry.type === type)).match(/call_\w+/g) ?? [];
        expect(new Set(text("message.tool"))).toEqual(new Set(text("message.assistant")));
      }
    });
  });

  test("never covers the first or the newest message of a person", () => {
    always((entries, plan) => {
      const users = entries.tail.filter(({ type }) => type === "message.user");
      const { head, tail } = afterCompaction(entries, plan);
      expect(tail.map(({ seq }) => seq)).toContain(users.at(-1)?.seq);
      const isAnswered = entries.tail[1]?.type === "message.assistant";
      expect(head[0]).toBe(isAnswered ? users[0] : undefined);
    });
  });

  test("keeps messages and answers alternating where they alternated", () => {
    always((entries, plan) => {
      const alternates = (all: readonly string[]) =>
        all.filter((role, index) => role === "user" && all[index - 1] === "user").length;
      expect(alternates(roles(afterCompaction(entries, plan)))).toBeLessThanOrEqual(
        alternates(roles(entries)),
      );
    });
  });

  test("covers or keeps each entry, never both", () => {
    always((entries, plan) => {
      const { head, tail } = afterCompaction(entries, plan);
      const covered = entries.tail.filter(
        ({ seq }) => seq >= plan.covers.from && seq <= plan.covers.to,
      );
      expect([...head, ...covered, ...tail]).toEqual(entries.tail);
      expect(covered.length).toBeGreaterThan(0);
    });
  });

  test("frees at least a fifth, or is not made", () => {
    always((_entries, { coveredTokens, liveTokens }) => {
      expect(coveredTokens - sizes.summaryTokens).toBeGreaterThanOrEqual(liveTokens / 5);
    });
    const short = whole(talk([{ words: 3, steps: [{ words: 3, calls: 0 }] }]));
    expect(planCompaction(short, count, sizes)).toBeNull();
  });

  test("extends the previous summary: it covers from the same entry, and only new entries are material", () => {
    const turns = Array.from({ length: 8 }, () => ({
      words: 60,
      steps: [{ words: 60, calls: 1 }],
    }));
    const entries = whole(talk(turns));
    const first = planCompaction(entries, count, sizes);
    if (first === null) throw new Error("There was nothing to cover.");
    const more = talk([...turns, ...turns]).slice(entries.tail.length);
    const compacted = afterCompaction(entries, first);
    const second = planCompaction(
      { ...compacted, tail: [...compacted.tail, ...more] },
      count,
      sizes,
    );
    expect(second?.covers.from).toBe(first.covers.from);
    expect(second?.covers.to).toBeGreaterThan(first.covers.to);
    expect(second?.previous).toBe("In short.");
  });
});

describe("summary material", () => {
  test.each([
    ["the key is sk-ant-0123456789abcdefABCDEF", "the key is [key]"],
    ["password: hunter2hunter2", "password: [redacted]"],
    ["DB_PASSWORD=hunter2hunter2", "DB_PASSWORD=[redacted]"],
    ["AWS_SECRET_ACCESS_KEY=wJal/EXAMPLE", "AWS_SECRET_ACCESS_KEY=[redacted]"],
    ['{"accessToken": "abcdefgh"}', '{"accessToken": [redacted]}'],
    ["redis://:hunter2@host:6379", "redis://:[password]@host:6379"],
    ["postgres://me:p@ss@host/db", "postgres://me:[password]@host/db"],
    ["max_tokens: 4096", "max_tokens: 4096"],
    ['{"api_key": "abcdefgh12345678"}', '{"api_key": [redacted]}'],
    ["Authorization: Bearer abcdef0123456789abcdef", "Authorization: Bearer [token]"],
    ["postgres://me:s3cr3t@db.example/x", "postgres://me:[password]@db.example/x"],
    ["-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "[private key]"],
    ["a token of gratitude, and a secret garden", "a token of gratitude, and a secret garden"],
  ])("omits secrets: %s", (text, left) => {
    expect(redactSecrets(text)).toBe(left);
  });

  test.each(["eyJ-", "sk-", "token", "://a:"])(
    "text full of secret prefixes does not slow the search down: %s",
    (beginning) => {
      expect(redactSecrets(beginning.repeat(50_000))).not.toBe("");
    },
  );

  test("yields the same local summary every time, within its limit, and says what was left out", () => {
    const material = Array.from({ length: 40 }, (_, index) => ({
      role: constantRole(index),
      text: `Line ${index} ${"word ".repeat(30)}`,
    }));
    const summary = summariseLocally("The person: wanted tea.", material, 400, count);
    expect(summariseLocally("The person: wanted tea.", material, 400, count)).toBe(summary);
    expect(count(summary)).toBeLessThanOrEqual(420);
    expect(summary).toMatch(/^\(\d+ earlier lines are left out\.\)/);
    expect(summary).toContain("Line 39");
  });

  function constantRole(index: number) {
    return index % 2 === 0 ? ("user" as const) : ("assistant" as const);
  }
});
