import { fails, says, uses } from "@holdfast/testing/fakes/scripted-model";
import {
  type CommandAnswer,
  type CommandContext,
  describeAlternatives,
  executeCommand,
  parseInput,
} from "@holdfast/client";
import { commands, type SessionId } from "@holdfast/protocol";
import { expect, onTestFinished, test } from "vitest";

import { type ApiRig, openApi } from "../../../test/support/api-rig.ts";
import {
  sendAndWait,
  newSession,
  shownTexts,
  untilEnded,
} from "../../../test/support/api-helpers.ts";

function open(...answers: readonly string[]): ApiRig {
  const rig = openApi(answers.map((text) => says(text)));
  onTestFinished(() => rig.close());
  return rig;
}

let typedCount = 0;

async function type(
  { client }: ApiRig,
  sessionId: SessionId | null,
  text: string,
  given: Partial<CommandContext> = {},
): Promise<CommandAnswer> {
  const typed = parseInput(text);
  if (typed.kind !== "command") throw new Error(`${text} is ${typed.kind}`);
  const context = { client, sessionId, key: `typed-${(typedCount += 1)}`, now: Date.now, ...given };
  return executeCommand(context, typed.invocation);
}

test("/undo, /redo, /retry and /edit change the view and report what they did", async () => {
  const rig = open("one", "two", "three");
  const id = await newSession(rig);
  await sendAndWait(rig, id, "first", "second");
  expect(await type(rig, id, "/undo")).toMatchObject({ kind: "changed", what: "undone" });
  expect(await shownTexts(rig, id)).toEqual(["first", "one"]);
  expect(await type(rig, id, "/redo")).toMatchObject({ kind: "changed", what: "redone" });
  expect(await shownTexts(rig, id)).toEqual(["first", "one", "second", "two"]);
  expect(await type(rig, id, "/edit other words")).toMatchObject({ kind: "sent", how: "edited" });
  await untilEnded(rig, id);
  expect(await shownTexts(rig, id)).toEqual(["first", "one", "other words", "three"]);
});

test("/alternatives lists the versions of edited messages, numbered consecutively, and shows one again", async () => {
  const rig = open("one", "two", "three", "four");
  const id = await newSession(rig);
  await sendAndWait(rig, id, "first", "second");
  expect(await type(rig, id, "/alternatives")).toEqual({ kind: "alternatives", turns: [] });
  for (const text of ["/edit zweite", "/retry"]) {
    await type(rig, id, text);
    await untilEnded(rig, id);
  }
  const listed = await type(rig, id, "/versions");
  if (listed.kind !== "alternatives") throw new Error(listed.kind);
  expect(describeAlternatives(listed.turns)).toEqual([
    ["1  second → two", "2  zweite → three", "3  zweite → four (shown)"],
  ]);
  expect(await type(rig, id, "/alternatives 4")).toMatchObject({
    kind: "refused",
    code: "entry_not_found",
  });
  const key = "update-8";
  const first = await type(rig, id, "/alternative 1", { key });
  expect(first).toMatchObject({ kind: "changed", what: "switched" });
  expect(await type(rig, id, "/alternative 1", { key })).toEqual(first);
  expect(await shownTexts(rig, id)).toEqual(["first", "one", "second", "two"]);
});

test("a command delivered twice under its key runs once", async () => {
  const rig = open("one", "two");
  const id = await newSession(rig);
  await sendAndWait(rig, id, "first", "second");
  const key = "update-7";
  const first = await type(rig, id, "/undo", { key });
  expect(await type(rig, id, "/undo", { key })).toEqual(first);
  expect(await shownTexts(rig, id)).toEqual(["first", "one"]);
});

test("/new starts another session on the same lane, and /sessions lists both", async () => {
  const rig = open("one");
  const id = await newSession(rig);
  await sendAndWait(rig, id, "garden plans");
  const created = await type(rig, id, "/new Kitchen");
  expect(created).toMatchObject({ kind: "moved", how: "begun", session: { title: "Kitchen" } });
  const listed = await type(rig, id, "/sessions");
  const titles = listed.kind === "sessions" ? listed.sessions.map(({ title }) => title) : [];
  expect(new Set(titles)).toEqual(new Set(["Kitchen", "garden plans"]));
});

test("/resume finds a session by id, id suffix or words, and asks when several match", async () => {
  const rig = open();
  const ids = new Map<string, SessionId>();
  for (const title of ["Garden in spring", "Garden in autumn", "Kitchen"]) {
    const created = await type(rig, null, `/new ${title}`);
    if (created.kind === "moved") ids.set(title, created.session.id);
  }
  const kitchen = ids.get("Kitchen") ?? "";
  for (const asked of [kitchen, kitchen.slice(-6), "kitch"])
    expect(await type(rig, null, `/resume ${asked}`)).toMatchObject({
      kind: "moved",
      how: "resumed",
      session: { id: kitchen },
    });
  const several = await type(rig, null, "/resume garden");
  expect(several).toMatchObject({ kind: "sessions", why: "which" });
  // Both may have been created in the same millisecond, in which case their order is undefined.
  const found = several.kind === "sessions" ? several.sessions.map(({ title }) => title) : [];
  expect(new Set(found)).toEqual(new Set(["Garden in autumn", "Garden in spring"]));
  expect(await type(rig, null, "/resume cellar")).toMatchObject({
    kind: "refused",
    code: "session_not_found",
  });
});

test("/resume alone continues an interrupted answer, and otherwise lists sessions", async () => {
  const rig = openApi([fails("fatal"), says("whole")]);
  onTestFinished(() => rig.close());
  const id = await newSession(rig);
  await sendAndWait(rig, id, "hello");
  const went = await type(rig, id, "/resume");
  expect(went).toMatchObject({ kind: "sent", how: "continued", messageId: null });
  const state = await untilEnded(rig, id);
  expect(state.run).toMatchObject({ state: "completed" });
  expect(await type(rig, id, "/resume")).toMatchObject({ kind: "sessions", why: "listed" });
});

test("/title, /model, /branch and /status act on the current session", async () => {
  const rig = open("one");
  const id = await newSession(rig);
  await sendAndWait(rig, id, "first");
  expect(await type(rig, id, "/title Garden")).toMatchObject({ session: { title: "Garden" } });
  expect(await type(rig, id, "/title")).toEqual({ kind: "title", title: "Garden" });
  expect(await type(rig, id, "/model")).toMatchObject({ kind: "model", model: null });
  const branched = await type(rig, id, "/branch Other way");
  expect(branched).toMatchObject({ how: "branched", session: { title: "Other way" } });
  expect(await type(rig, id, "/status")).toMatchObject({
    kind: "status",
    run: { state: "completed" },
    inbox: [],
    approvals: [],
  });
});

test("/queue, /steer and /stop act on the answer being written", async () => {
  const rig = open();
  rig.pauseRunner();
  const id = await newSession(rig);
  expect(await type(rig, id, "/stop")).toEqual({ kind: "stopped", run: null });
  expect(await type(rig, id, "/queue later")).toMatchObject({ kind: "sent", how: "queued" });
  expect(await type(rig, id, "/steer now")).toMatchObject({ kind: "sent", how: "steered" });
  const waiting = await type(rig, id, "/queue");
  expect(waiting).toMatchObject({ inbox: [{ text: "later" }, { text: "now" }] });
});

test("/usage and /memory report usage and pending memory commits", async () => {
  const rig = openApi([[says("one"), uses({ input: 3, output: 5 })]], {
    remembers: "everything",
  });
  onTestFinished(() => rig.close());
  const id = await newSession(rig);
  await sendAndWait(rig, id, "first");
  const used = { calls: 1, input: 3, output: 5 };
  expect(await type(rig, id, "/usage")).toMatchObject({ session: used, today: used, all: used });
  expect(await type(rig, await newSession(rig), "/usage")).toMatchObject({
    session: { calls: 0, input: 0, output: 0 },
    all: used,
  });
  const tomorrow = { now: () => Date.now() + 48 * 3_600_000 };
  expect(await type(rig, null, "/usage", tomorrow)).toMatchObject({
    session: null,
    today: { calls: 0 },
  });
  expect(await type(rig, null, "/memory")).toMatchObject({ turns: 1, sessions: 1, failing: null });
});

test("/search finds words, /compact reports when there is nothing to gain, /help explains", async () => {
  const rig = open("tomatoes are red");
  const id = await newSession(rig);
  await sendAndWait(rig, id, "what colour");
  const found = await type(rig, id, "/search tomatoes");
  expect(found).toMatchObject({ kind: "hits", hits: [{ sessionId: id }] });
  expect(await type(rig, id, "/compress")).toMatchObject({
    kind: "refused",
    code: "nothing_to_gain",
  });
  expect(await type(rig, null, "/help")).toEqual({ kind: "help", commands });
  expect(await type(rig, null, "/help fork")).toMatchObject({ commands: [{ name: "branch" }] });
  expect(await type(rig, null, "/help udno")).toMatchObject({
    kind: "refused",
    sentence: "There is no command /udno. Did you mean /undo?",
  });
});

test("a session command without a session, or for a foreign one, is refused with a message", async () => {
  const rig = open();
  expect(await type(rig, null, "/undo")).toMatchObject({ kind: "refused", code: "no_session" });
  const gone = await newSession(open());
  for (const text of ["/status", "/stop", "/queue x", "/branch", "/title x"])
    expect(await type(rig, gone, text)).toMatchObject({ code: "session_not_found" });
});
