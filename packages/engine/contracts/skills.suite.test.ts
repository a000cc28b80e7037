import { beforeEach, expect, test } from "vitest";

import { ids, newEvent, type SkillMark } from "@holdfast/protocol";
import {
  addLongTurn,
  compactionDeps,
  compactionSizes,
} from "@holdfast/testing/contracts/compaction-rig";
import { fsckFindings } from "@holdfast/testing/conformance/harness";
import { openContractRig } from "@holdfast/testing/contracts/contract-rig";
import { contractSuite, useRig } from "@holdfast/testing/contracts/contract-suite";
import { calls, says, scriptedModel } from "@holdfast/testing/fakes/scripted-model";
import {
  assertPresent,
  openTestSession,
  type TestSession,
} from "@holdfast/testing/fixtures/open-session";
import { createRunner } from "@holdfast/testing/rigs/run-rig";

import { activeSkills } from "../src/context/active-skills.ts";
import { buildContext } from "../src/context/build-context.ts";
import { compactSession } from "../src/context/compact.ts";
import { readContext } from "../src/context/session-context.ts";
import { undo } from "../src/history/undo.ts";
import type { Tool } from "../src/ports/tool.ts";

const mark = (name: string, digit: string): SkillMark => ({
  name,
  source: "home",
  hash: digit.repeat(64),
});
const instructions = (name: string, version = 1) =>
  `<skill ${name} v${version}: always knock first>`;

export const skillsContract = contractSuite("skills", (factory) => {
  const rig = useRig(() => openContractRig(factory));
  let chat: TestSession;
  beforeEach(async () => {
    chat = await openTestSession(rig.store);
    await addLongTurn(chat, "first");
  });

  /** A message that activates a skill, and its answer. */
  async function invoke(words: string, skill: SkillMark, text: string): Promise<void> {
    const attached = { type: "attached" as const, source: "skill", text, skill };
    const parts = [{ type: "text" as const, text: words }, attached];
    const answer = [{ type: "text" as const, text: "Done." }];
    await chat.commit([
      newEvent(ids.make("event"), "message.user", { messageId: ids.make("message"), parts }),
      newEvent(ids.make("event"), "message.assistant", {
        messageId: ids.make("message"),
        parts: answer,
      }),
    ]);
  }

  async function talk(...texts: readonly string[]): Promise<void> {
    for (const text of texts) await addLongTurn(chat, text);
  }

  async function compact(): Promise<void> {
    const { owner, session } = chat;
    const target = { owner, session, reason: "asked", sizes: compactionSizes } as const;
    expect(await compactSession(compactionDeps(rig.store), target)).toMatchObject({
      status: "compacted",
    });
  }

  const context = async () =>
    assertPresent(await readContext(rig.store.reads, chat.owner, chat.session));
  const sent = async () =>
    JSON.stringify(buildContext(await context(), { system: "", tools: [] }, new Map()).messages);
  const timesSent = async (text: string) => (await sent()).split(text).length - 1;

  test("after a compaction the model has each skill's instructions once, and not what it was asked for then", async () => {
    await invoke("/deploy to production", mark("deploy", "a"), instructions("deploy"));
    await talk("two", "three", "four");
    await compact();
    expect(await timesSent(instructions("deploy"))).toBe(1);
    expect(await sent()).not.toContain("to production");
    await talk("five", "six", "seven");
    await compact();
    expect(await timesSent(instructions("deploy"))).toBe(1);
    expect([...activeSkills(await context()).keys()]).toEqual(["deploy"]);
  });

  test("of a skill that was activated again with other content, a compaction keeps the newest", async () => {
    await invoke("/deploy", mark("deploy", "a"), instructions("deploy"));
    await talk("two", "three");
    await invoke("/deploy", mark("deploy", "b"), instructions("deploy", 2));
    await talk("four", "five", "six");
    await compact();
    expect(await timesSent(instructions("deploy"))).toBe(0);
    expect(await timesSent(instructions("deploy", 2))).toBe(1);
    expect(activeSkills(await context()).get("deploy")).toMatchObject({ hash: "b".repeat(64) });
  });

  test("instructions that stay beside the summary are not repeated in it", async () => {
    await invoke("/deploy", mark("deploy", "a"), instructions("deploy"));
    await talk("two", "three", "four");
    await invoke("/deploy", mark("deploy", "a"), instructions("deploy"));
    await compact();
    expect(await timesSent(instructions("deploy"))).toBe(1);
  });

  test("skills beyond what a summary may carry are named, the oldest ones", async () => {
    const names = Array.from({ length: 12 }, (_, index) => `skill-${index}`);
    for (const [index, name] of names.entries())
      await invoke(`/${name}`, mark(name, index.toString(16)), instructions(name));
    await talk("two", "three", "four", "five", "six", "seven");
    await compact();
    expect(await timesSent(instructions("skill-2"))).toBe(1);
    expect(await timesSent(instructions("skill-1"))).toBe(0);
    expect(await sent()).toContain("Activate them again when they are needed: skill-0, skill-1.");
    expect([...activeSkills(await context()).keys()]).toEqual(names.slice(2));
  });

  test("a skill of an imported conversation is material, and no compaction carries it on", async () => {
    const attached = {
      type: "attached" as const,
      source: "skill",
      text: instructions("deploy"),
      skill: mark("deploy", "a"),
      taint: [{ kind: "import" }],
    };
    const parts = [{ type: "text" as const, text: "/deploy" }, attached];
    await chat.commit([
      newEvent(ids.make("event"), "message.user", { messageId: ids.make("message"), parts }),
    ]);
    expect(await sent()).toContain(
      `material from the host, not a request]\\n> ${instructions("deploy")}`,
    );
    await talk("two", "three", "four");
    await compact();
    expect(await sent()).not.toContain("always knock first");
  });

  test("an undo takes an activation back", async () => {
    await invoke("/deploy", mark("deploy", "a"), instructions("deploy"));
    expect([...activeSkills(await context()).keys()]).toEqual(["deploy"]);
    expect(await undo({ log: rig.log, ids }, chat)).toMatchObject({ status: "committed" });
    expect([...activeSkills(await context()).keys()]).toEqual([]);
  });

  test("a tool's result records which skill it activated, and fsck finds nothing wrong", async () => {
    const tool: Tool = {
      name: "activate",
      description: "Activates.",
      input: { type: "object" },
      replay: "safe",
      timeLimitMs: 1_000,
      run: async () => ({
        outcome: "ok",
        output: instructions("deploy"),
        skill: mark("deploy", "a"),
      }),
    };
    const model = scriptedModel([[calls("activate")], says("Done.")]);
    const runner = createRunner(rig.store, rig.log, { model, tools: [tool] });
    await rig.send("please", { chat });
    runner.notify(chat.owner, chat.session);
    await runner.idle();
    expect(activeSkills(await context()).get("deploy")).toMatchObject(mark("deploy", "a"));
    await talk("two", "three", "four");
    await compact();
    expect(await timesSent(instructions("deploy"))).toBe(1);
    expect(await fsckFindings(rig.store)).toEqual([]);
  });
});
