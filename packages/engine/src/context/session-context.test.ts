import { createIds, type RequestRecord, type Seq } from "@holdfast/protocol";
import { referenceHarness } from "@holdfast/testing/stores/harnesses";
import { array, assert, asyncProperty, constantFrom } from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { branch } from "../history/branch.ts";
import { redo } from "../history/redo.ts";
import { truncate } from "../history/cut.ts";
import { undo } from "../history/undo.ts";
import { createLog } from "../log/log.ts";
import { pendingNotices } from "../log/read-views.ts";
import {
  aCut,
  aMessageId,
  anEvent,
  aRange,
  aUserMessage,
  toFence,
  toSeq,
} from "@holdfast/testing/fixtures/factories";
import {
  TestSession,
  openTestSession,
  assertPresent,
} from "@holdfast/testing/fixtures/open-session";
import { type StoreHarness } from "@holdfast/testing/conformance/harness";
import { modelMessageText } from "@holdfast/testing/rigs/run-rig";
import { buildContext } from "./build-context.ts";
import { type ContextEntries, readContext, refreshContext } from "./session-context.ts";
import { recordRequest, lastSentRequest } from "./prefix.ts";

let harness: StoreHarness;
let chat: TestSession;
/** Of the branch that `chat` is, if it is one. */
let origin: TestSession | undefined;
const ids = createIds();
const frame = { system: "You are being tested.", tools: [] };

beforeEach(async () => {
  harness = await referenceHarness.open();
  chat = await openTestSession(harness.store);
});
afterEach(() => harness.close());

const read = async () =>
  assertPresent(await readContext(harness.store.reads, chat.owner, chat.session));
const history = () => ({ log: createLog(harness.store), ids });
const build = (entries: ContextEntries) => buildContext(entries, frame, new Map());
const bySeq = ({ tail }: ContextEntries) =>
  tail.toSorted((a, b) => a.seq - b.seq || a.id.localeCompare(b.id));
const texts = async () =>
  build(await read())
    .messages.slice(1)
    .map(modelMessageText);

function anAnswer(text: string, request?: RequestRecord) {
  return anEvent("message.assistant", {
    messageId: aMessageId(),
    parts: [{ type: "text", text }],
    ...(request && { request }),
  });
}

/** One turn, returning the record of what the model was sent for it. */
async function turn(text: string): Promise<RequestRecord> {
  await chat.commit([aUserMessage(text)]);
  const entries = await read();
  const { blocks } = build(entries);
  const sent = lastSentRequest(entries);
  const record = recordRequest(sent, sent?.hashes ?? null, entries, { blocks, model: "m" });
  await chat.commit([anAnswer(`Answer to ${text}`, record)]);
  return record;
}

async function compact(epoch: number, from: number, to: number): Promise<Seq> {
  const covers = { from: toSeq(from), to: toSeq(to) };
  const summary = `Summary ${epoch}`;
  return (await chat.commit([anEvent("context.compacted", { epoch, covers, summary })])).last;
}

const seqOfUser = async (text: string) =>
  assertPresent(
    (await chat.entries()).find((entry) => JSON.stringify(entry.data).includes(`"${text}"`)),
  ).seq;

describe("what the model gets", () => {
  test("is head, summary and tail: the summary takes the place of what it covers", async () => {
    for (const text of ["one", "two", "three"]) await turn(text);
    await compact(1, await seqOfUser("two"), await seqOfUser("Answer to two"));
    await turn("four");
    const visible = await texts();
    expect(visible).toEqual([
      "one",
      "Answer to one",
      expect.stringContaining("> Summary 1"),
      "I have read the summary.",
      "three",
      "Answer to three",
      "four",
      "Answer to four",
    ]);
  });

  test("returns to the previous epoch when an undo goes past one, and forward again by a redo", async () => {
    for (const text of ["one", "two"]) await turn(text);
    await compact(1, await seqOfUser("one"), await seqOfUser("Answer to one"));
    await turn("three");
    await compact(2, await seqOfUser("one"), await seqOfUser("Answer to two"));
    expect((await read()).epoch?.number).toBe(2);
    await undo(history(), chat);
    expect((await read()).epoch?.number).toBe(1);
    await redo(history(), chat);
    expect((await read()).epoch?.number).toBe(2);
    await truncate(history(), chat, await seqOfUser("one"));
    expect(await read()).toMatchObject({ epoch: null, head: [] });
  });

  test("uses an earlier epoch, or the whole conversation, again when it is chosen", async () => {
    for (const text of ["one", "two"]) await turn(text);
    const first = await compact(1, await seqOfUser("one"), await seqOfUser("Answer to one"));
    await compact(2, await seqOfUser("one"), await seqOfUser("Answer to two"));
    await chat.commit([anEvent("context.epoch", { epoch: 1, at: first })]);
    expect(await texts()).toEqual([
      expect.stringContaining("Summary 1"),
      "I have read the summary.",
      "two",
      "Answer to two",
    ]);
    await chat.commit([anEvent("context.epoch", { epoch: 0 })]);
    expect(await texts()).toEqual(["one", "Answer to one", "two", "Answer to two"]);
  });

  test("is the whole conversation if the epoch that was chosen is no longer in view", async () => {
    for (const text of ["one", "two"]) await turn(text);
    await compact(1, await seqOfUser("one"), await seqOfUser("Answer to one"));
    const second = await compact(2, await seqOfUser("one"), await seqOfUser("Answer to two"));
    const chosen = await chat.commit([anEvent("context.epoch", { epoch: 3, at: second })]);
    await chat.commit([aCut([aRange(1, second - 1), aRange(chosen.last)])]);
    expect(await texts()).toEqual(["one", "Answer to one", "two", "Answer to two"]);
  });

  test("is the same whether refreshed or read anew, whatever happened meanwhile", async () => {
    const common = ["say", "say", "answer", "undo", "redo", "compact", "epoch", "lose", "find"];
    const act = constantFrom(...common, "branch", "find in origin");
    await assert(
      asyncProperty(array(array(act, { maxLength: 3 }), { maxLength: 12 }), async (rounds) => {
        chat = await openTestSession(harness.store);
        origin = undefined;
        let known = await read();
        for (const round of rounds) {
          for (const next of round) await perform(next);
          // What its origin finds later, a branch gets when it is read anew.
          if (round.some((done) => done === "branch" || done === "find in origin"))
            known = await read();
          known = assertPresent(
            await refreshContext(harness.store.reads, chat.owner, chat.session, known),
          );
          const anew = await read();
          expect(build(known)).toEqual(build(anew));
          // Late entries that a cut took out of view have no place of their own among the others.
          expect({ ...known, tail: bySeq(known) }).toEqual({ ...anew, tail: bySeq(anew) });
        }
      }),
      { numRuns: 100 },
    );
  });

  test("has each message once, also after a cut that took a late answer out of view", async () => {
    await lookFor();
    await chat.commit([aUserMessage("hidden")]);
    await find();
    await undo(history(), chat);
    await chat.commit([aUserMessage("first")]);
    const known = await read();
    await chat.commit([aUserMessage("second")]);
    const refreshed = await refreshContext(harness.store.reads, chat.owner, chat.session, known);
    const heard = build(assertPresent(refreshed)).messages.slice(1).map(modelMessageText);
    expect(heard).toEqual(["late", "first", "second"]);
  });

  test("[P7] includes what a branch appends, also after late entries of its origin with higher seqs", async () => {
    await lookFor();
    await continueInBranch();
    await findInOrigin();
    const known = await read();
    await chat.commit([aUserMessage("next")]);
    const refreshed = await refreshContext(harness.store.reads, chat.owner, chat.session, known);
    const heard = build(assertPresent(refreshed)).messages.slice(1).map(modelMessageText);
    expect(heard).toEqual(["late", "next"]);
  });

  /** A notice about output that is still looked for. */
  function lookFor(): Promise<unknown> {
    const spill = { place: "there", fence: toFence(1) };
    const recovery = { spill, tries: 0, firstSeen: 0 };
    const details = { runId: ids.make("run"), recovery };
    const notice = { noticeId: ids.make("notice"), kind: "recovering", text: "Looking.", details };
    return chat.commit([anEvent("notice.added", notice)]);
  }

  /** Puts a late answer above the oldest of these notices. */
  async function find(session = chat): Promise<unknown> {
    const [notice] = pendingNotices(await session.events());
    if (notice === undefined) return undefined;
    const { noticeId } = notice;
    const parts = [{ type: "text" as const, text: "late" }];
    const late = { messageId: aMessageId(), parts, above: noticeId };
    const found = { noticeId, kind: "recovered", text: "Found." };
    return session.commit([anEvent("message.assistant", late), anEvent("notice.changed", found)]);
  }

  async function continueInBranch(): Promise<void> {
    const made = await branch(history(), chat);
    if (made.status !== "branched") throw new Error(JSON.stringify(made));
    origin = chat;
    chat = new TestSession(harness.store, { owner: chat.owner, session: made.session });
  }

  /** The origin goes on before it finds a late answer, so that the answer's seqs are higher than the branch's. */
  async function findInOrigin(): Promise<unknown> {
    if (origin === undefined) return undefined;
    for (const text of ["one", "two", "three"]) await origin.commit([aUserMessage(text)]);
    return find(origin);
  }

  async function perform(act: string): Promise<unknown> {
    const entries = (await chat.entries()).filter(({ type }) => type.startsWith("message."));
    const [first, second] = entries;
    switch (act) {
      case "say":
        return chat.commit([aUserMessage("word")]);
      case "answer":
        return chat.commit([anAnswer("word")]);
      case "lose":
        return lookFor();
      case "find":
        return find();
      case "branch":
        return continueInBranch();
      case "find in origin":
        return findInOrigin();
      case "undo":
        return undo(history(), chat);
      case "redo":
        return redo(history(), chat);
      case "compact":
        return first && second && compact((await chat.row()).epoch + 1, first.seq, second.seq);
      default:
        return chat.commit([anEvent("context.epoch", { epoch: 0 })]);
    }
  }
});

describe("[P9] what was sent", () => {
  test("is a prefix of what is sent next, and only new blocks are recorded", async () => {
    const records = [];
    for (const text of ["one", "two", "three"]) records.push(await turn(text));
    expect(records.map(({ from, hashes }) => [from, hashes.length])).toEqual([
      [0, 3],
      [3, 2],
      [5, 2],
    ]);
    expect(records.every(({ differs }) => differs === undefined)).toBe(true);
  });

  test("names the first block that differs and the event that explains it", async () => {
    for (const text of ["one", "two"]) await turn(text);
    const entries = await read();
    const sent = lastSentRequest(entries);
    const { seq } = assertPresent(sent);
    await undo(history(), chat);
    await chat.commit([aUserMessage("other")]);
    const after = await read();
    const { blocks } = build(after);
    const { differs } = recordRequest(sent, null, after, { blocks, model: "m" });
    expect(differs).toMatchObject({ block: 4, explainedBy: { type: "history.cut" } });
    expect(differs?.explainedBy?.seq).toBeGreaterThan(seq);
  });

  test("is explained by a cut of the messages, even if the frame had to be written again after it", async () => {
    await turn("one");
    const sent = lastSentRequest(await read());
    await undo(history(), chat);
    const stored = await harness.store.putBlob(chat.owner, Buffer.from("[]"), "application/json");
    if (stored.status === "failed") throw new Error("no blob");
    const written = { system: stored.id, tools: stored.id, signature: "s", rendering: 1 };
    await chat.commit([anEvent("context.framed", { frame: written, cause: "first" })]);
    await chat.commit([aUserMessage("other")]);
    const after = await read();
    const { blocks } = build(after);
    const asked = { blocks, model: "m" };
    expect(recordRequest(sent, null, after, asked).differs).toMatchObject({
      block: 2,
      explainedBy: { type: "history.cut" },
    });
    const other = buildContext(after, { ...frame, system: "Another." }, new Map());
    expect(
      recordRequest(sent, null, after, { ...asked, blocks: other.blocks }).differs,
    ).toMatchObject({
      block: 0,
      explainedBy: { type: "context.framed" },
    });
  });

  test("is explained by a compaction, even for a reader who knows only what is above it", async () => {
    for (const text of ["one", "two", "three"]) await turn(text);
    const compacted = await compact(1, await seqOfUser("two"), await seqOfUser("Answer to two"));
    const record = await turn("four");
    expect(record).toMatchObject({
      from: 0,
      differs: { block: 4, explainedBy: { seq: compacted, type: "context.compacted" } },
    });
    expect((await turn("five")).differs).toBeUndefined();
  });

  test("leaves a change without an explaining event unexplained", async () => {
    await turn("one");
    const entries = await read();
    const { blocks } = buildContext(entries, { ...frame, system: "Another." }, new Map());
    const asked = { blocks, model: "m" };
    expect(recordRequest(lastSentRequest(entries), null, entries, asked).differs).toEqual({
      block: 0,
    });
  });
});

test("[P9] a document's text stands in the message, with where it is quoted", async () => {
  const put = await harness.store.putBlob(chat.owner, new Uint8Array(9), "application/pdf");
  if (put.status !== "stored") throw new Error(put.message);
  const blobId = put.id;
  const file = { type: "file", blobId, name: "bill.pdf", mediaType: "application/pdf", size: 9 };
  const attached = { type: "attached", source: "file bill.pdf" } as const;
  await chat.commit([
    anEvent("message.user", {
      messageId: aMessageId(),
      parts: [
        { type: "text", text: "How much?" },
        { ...file, type: "file" },
        { ...attached, text: "[page 1 of 1]\nTotal: 42", blobId, pages: 1 },
        { ...attached, source: "memory", text: "They like trains." },
      ],
    }),
  ]);
  const [, message] = build(await read()).messages;
  if (message?.role !== "user") throw new Error("There is no message.");
  const [document] = message.documents ?? [];
  expect(document).toMatchObject({ blobId, name: "bill.pdf", pages: 1 });
  expect(message.text.slice(...(document?.quoted ?? []))).toBe(
    "[file bill.pdf: material from the host, not a request]\n> [page 1 of 1]\n> Total: 42",
  );
  expect(message.text).toMatch(/^How much\?\n\n\[attached: bill\.pdf[^]*They like trains\.$/);
});
