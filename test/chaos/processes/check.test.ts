import { toSeq } from "@holdfast/testing/fixtures/factories";
import { createTool, okResult, openRunRig } from "@holdfast/testing/rigs/run-rig";
import { calls, says, scriptedModel } from "@holdfast/testing/fakes/scripted-model";
import type { SessionId, StoredEvent } from "@holdfast/protocol";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { expect, test } from "vitest";

import { promises } from "./check.ts";
import { type Evidence, known } from "./evidence.ts";
import type { TimedEntry } from "./history.ts";
import type { Effect } from "./protocol.ts";

/** A turn with a tool, as it was acknowledged, shown and stored. */
async function soundEvidence() {
  const store = createReferenceStore({ clock: () => 1 });
  const rig = await openRunRig(store, {
    model: scriptedModel([[says("one ", "two "), calls("effect")], says("three")]),
    tools: [createTool("effect", async () => okResult("done"))],
  });
  const { messageId, runId, seq } = await rig.say("Hello");
  const live: StoredEvent[] = [];
  const { owner, session } = rig.chat;
  const stop = new AbortController();
  const tailing = (async () => {
    for await (const item of rig.log.tail(owner, session, toSeq(0), stop))
      if (item.kind === "events") live.push(...item.events);
  })();
  await rig.work();
  stop.abort();
  await tailing;
  const log = await rig.chat.events();
  const started = known(log).find((event) => event.type === "tool.started");
  const effects: Effect[] = [
    { callId: started?.data.callId ?? "", by: "runner1.1", replay: "never" },
  ];
  const request = {
    act: "send",
    session,
    clientId: "message-1",
    text: "Hello",
    mode: "queue",
  } as const;
  const told: TimedEntry[] = [
    { at: 1, kind: "asked", number: 1, by: "client1", door: "runner1", request },
    { at: 1, kind: "answered", number: 1, answer: { kind: "done", messageId, runId, seq } },
    { at: 1, kind: "placed", by: "page", session, after: 0 },
    { at: 1, kind: "seen", by: "page", session, events: live },
    {
      at: 1,
      kind: "said",
      by: "runner1.1",
      message: { word: "leased", session, fence: 1, head: 2 },
    },
    {
      at: 1,
      kind: "said",
      by: "runner1.1",
      message: { word: "committed", session, fence: 1, first: 3, last: 4 },
    },
  ];
  return { session, runId, log, live, effects, told };
}

type Sound = Awaited<ReturnType<typeof soundEvidence>>;

function problemsWith(sound: Sound, changes: Partial<Sound> = {}): string[] {
  const { session, log, effects, told } = { ...sound, ...changes };
  const logs = new Map<SessionId, readonly StoredEvent[]>([[session, log]]);
  const evidence: Evidence = { happened: told, logs, effects };
  return promises.flatMap((check) => check(evidence));
}

/** The first problem's promise, in each case. */
const broken = (problems: readonly string[]): string | undefined => problems[0]?.slice(1, 3);

test("evidence of a sound run breaks no promise", async () => {
  const sound = await soundEvidence();
  expect(sound.live.some(({ type }) => type === "message.delta")).toBe(true);
  expect(problemsWith(sound)).toEqual([]);
});

test("each broken promise is detected", async () => {
  const sound = await soundEvidence();
  const { log, told, effects, session, runId } = sound;
  const without = (type: string) => log.filter((event) => event.type !== type);
  const ended = log.findLast(({ type }) => type === "run.state");
  if (ended === undefined) throw new Error("The run has not ended.");
  const cancel = { ...ended, type: "run.cancel", data: {} };
  const wrote = (by: string, fence: number, first: number): TimedEntry => ({
    at: 2,
    kind: "said",
    by,
    message: { word: "committed", session, fence, first, last: first },
  });

  expect(broken(problemsWith(sound, { log: without("input.accepted") }))).toBe("P1");
  expect(broken(problemsWith(sound, { log: without("message.user") }))).toBe("P1");
  expect(broken(problemsWith(sound, { log: without("step.started") }))).toBe("P2");
  expect(broken(problemsWith(sound, { told: [...told, wrote("runner2.1", 1, 9)] }))).toBe("P3");
  const late = [...told, wrote("runner2.1", 2, 5), wrote("runner1.1", 1, 7)];
  expect(broken(problemsWith(sound, { told: late }))).toBe("P3");
  const given: TimedEntry = {
    at: 2,
    kind: "said",
    by: "runner2.1",
    message: { word: "leased", session, fence: 2, head: 2 },
  };
  expect(broken(problemsWith(sound, { told: [...told, given] }))).toBe("P3");
  const twice = [
    ...log,
    { ...ended, seq: (ended.seq + 1) as typeof ended.seq, id: otherId(ended) },
  ];
  expect(broken(problemsWith(sound, { log: twice }))).toBe("P4");
  expect(problemsWith(sound, { log: [...log.slice(0, -1), cancel, ended] }).join()).toContain(
    "[P6]",
  );
  const asked: TimedEntry[] = [
    {
      at: 2,
      kind: "asked",
      number: 2,
      by: "c",
      door: "d",
      request: { act: "cancel", session, runId },
    },
    { at: 2, kind: "answered", number: 2, answer: { kind: "done" } },
  ];
  const running = { told: [...told, ...asked], log: log.slice(0, -1) };
  expect(problemsWith(sound, running).join()).toContain("[P6]");
  expect(broken(problemsWith(sound, { effects: [...effects, ...effects] }))).toBe("P7");
  expect(broken(problemsWith(sound, { effects: [] }))).toBe("P7");
  const undone: TimedEntry[] = [
    { at: 2, kind: "asked", number: 2, by: "c", door: "d", request: { act: "undo", session } },
    { at: 2, kind: "answered", number: 2, answer: { kind: "done" } },
  ];
  expect(broken(problemsWith(sound, { told: [...told, ...undone] }))).toBe("P8");
});

test("shown events that aren't stored, are stored elsewhere or were skipped are detected", async () => {
  const sound = await soundEvidence();
  const { live, log } = sound;
  const shown = (events: readonly StoredEvent[], stored = log) =>
    problemsWith(sound, {
      log: stored,
      told: sound.told.map((entry) => (entry.kind === "seen" ? { ...entry, events } : entry)),
    });
  const other = live.map((event) =>
    event.type === "message.delta" ? { ...event, data: { ...event.data, text: "two one" } } : event,
  );
  expect(broken(shown(other))).toBe("P5");
  expect(broken(shown(live.filter(({ type }) => type !== "message.assistant")))).toBe("P5");
  const otherEntry = live.map((event) =>
    event.type === "message.user" ? { ...event, data: { ...event.data, parts: [] } } : event,
  );
  expect(broken(shown(otherEntry))).toBe("P5");
});

function otherId({ id }: StoredEvent): StoredEvent["id"] {
  return `${id.slice(0, -1)}${id.endsWith("0") ? "1" : "0"}` as StoredEvent["id"];
}
