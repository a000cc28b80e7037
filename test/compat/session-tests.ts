import { readFileSync } from "node:fs";
import { join } from "node:path";

import type { ApprovalView, SessionId } from "@holdfast/protocol";
import { expect, test } from "vitest";

import { followUntil, hasEnded, textIn, valueOf } from "../e2e/served-host.ts";
import { endsOf, type OpenedHome, outline, resultsIn } from "./open-home.ts";
import { liveText, type SessionName, sessionNames } from "./snapshot.ts";

const resting = [
  "plain",
  "undone",
  "branch",
  "compacted",
  "attached",
  "archived",
  "trashed",
  "memory",
  "allowed",
  "chatAnswer",
  "chatUnknown",
  "webhookHeard",
  "webhookOwed",
] as const satisfies readonly SessionName[];

export function testSessions(opened: () => OpenedHome): void {
  test("every session is in its list with the messages that it had", async () => {
    const { client, read, snapshot } = opened();
    const list = async (query: object): Promise<readonly SessionId[]> =>
      valueOf(await client.listSessions({ query: { limit: 100, ...query } })).sessions.map(
        ({ id }) => id,
      );
    for (const [name, query] of [
      ["active", {}],
      ["archived", { archived: true }],
      ["trashed", { trashed: true }],
    ] as const)
      expect((await list(query)).toSorted()).toEqual(snapshot.lists[name].toSorted());
    for (const name of sessionNames) {
      const before = snapshot.sessions[name].entries;
      const { entries } = await read(name);
      expect([name, entries.slice(0, before.length)]).toEqual([name, before]);
    }
    for (const name of resting) {
      // Committing its turns to memory appends events.
      const { head: _, ...before } = snapshot.sessions[name].session;
      expect((await read(name)).session).toMatchObject(before);
    }
  });

  test("[P4] [P5] the interrupted answer keeps what was shown, and its run goes on behind a notice and ends once", async () => {
    const { ended, log, snapshot } = opened();
    const { run, live } = snapshot.sessions.live;
    const { entries } = await ended("live");
    const [, partial] = entries;
    if (partial?.type !== "message") throw new Error("There is no partial answer.");
    const { messageId } = live!.messages[0]!;
    expect(partial).toMatchObject({ messageId, partial: "interrupted" });
    const shown = liveText(snapshot.sessions.live);
    expect(textIn(partial).slice(0, shown.length)).toBe(shown);
    expect(outline(entries).toSpliced(1, 1)).toEqual([
      "user: Tell me of the sea",
      "notice recovered",
      "answer of 80 words",
      "user: And of the shore",
      "answer of 7 words",
    ]);
    expect(endsOf(await log("live"), run!.id)).toEqual(["completed"]);
  });

  test("[P1] the message queued behind it becomes one entry and one run", async () => {
    const { ended, log, snapshot } = opened();
    const [queued] = snapshot.sessions.live.inbox;
    const { run } = await ended("live");
    expect(run).toMatchObject({ id: queued!.runId, state: "completed", attempt: 0 });
    const events = await log("live");
    expect(endsOf(events, queued!.runId)).toEqual(["completed"]);
    const claimed = events.filter(
      ({ type, data }) => type === "message.user" && data["messageId"] === queued!.messageId,
    );
    expect(claimed).toHaveLength(1);
  });

  test("[P7] a command that was running has an unknown outcome and is not started again", async () => {
    const { ended, log } = opened();
    const { entries, run } = await ended("tool");
    expect(run?.state).toBe("completed");
    expect(resultsIn(entries)).toMatchObject([{ name: "terminal", outcome: "unknown" }]);
    const started = (await log("tool")).filter(({ type }) => type === "tool.started");
    expect(started).toHaveLength(1);
  });

  test("a delegated task goes on in the same child, and its parent gets the answer", async () => {
    const { client, ended, log, idOf } = opened();
    const { entries } = await ended("parent");
    expect(resultsIn(entries)).toMatchObject([{ name: "delegate", outcome: "ok" }]);
    const query = { archived: true, tag: `child-of:${idOf("parent")}` } as const;
    const children = valueOf(await client.listSessions({ query })).sessions;
    expect(children.map(({ id }) => id)).toEqual([idOf("child")]);
    const { run } = await ended("child");
    expect(endsOf(await log("child"), run!.id)).toEqual(["completed"]);
  });

  test("[P7] the open approval can be answered: the command runs once, then the message queued behind it", async () => {
    const { client, ended, log, temporary, snapshot } = opened();
    const approval = await readApproval(opened(), "approval");
    expect(approval).toEqual(snapshot.approvals.find(({ name }) => name === "terminal"));
    const answer = { params: { id: approval.approvalId }, body: { decision: "once" as const } };
    const answers = await Promise.all([
      client.answerApproval(answer),
      client.answerApproval(answer),
    ]);
    for (const response of answers) expect(valueOf(response).approval.decision).toBe("once");
    const { entries } = await ended("approval");
    expect(readFileSync(join(temporary, "effects"), "utf8")).toBe("run\n");
    expect(resultsIn(entries)).toMatchObject([{ outcome: "ok", output: "run\n" }]);
    expect(outline(entries).slice(-2)).toEqual(["user: And then?", "answer of 4 words"]);
    expect(endsOf(await log("approval"), approval.runId)).toEqual(["completed"]);
  });

  test("the open question can be answered, and its run goes on with the answer", async () => {
    const { client, ended, log } = opened();
    const { approvalId, runId } = await readApproval(opened(), "question");
    const body = { decision: "once", answer: "blue" } as const;
    valueOf(await client.answerApproval({ params: { id: approvalId }, body }));
    const { entries } = await ended("question");
    expect(resultsIn(entries)).toMatchObject([{ name: "ask_user", outcome: "ok", output: "blue" }]);
    expect(endsOf(await log("question"), runId)).toEqual(["completed"]);
  });

  test("a rule that was made with `always` still holds", async () => {
    const { client, snapshot } = opened();
    expect(valueOf(await client.listRules()).rules).toEqual(snapshot.rules);
    const { id, entries } = await talk(opened(), '{tool:terminal {"command":["sleep","0"]}}');
    expect(resultsIn(entries)).toMatchObject([{ name: "terminal", outcome: "ok" }]);
    const audit = valueOf(await client.listAudit({ query: { sessionId: id } })).entries;
    expect(audit.filter(({ sessionId }) => sessionId === id)).toMatchObject([
      { what: "ran", rule: snapshot.rules[0]!.rule },
    ]);
  });

  test("[P10] turns that were not in memory yet are committed and recalled", async () => {
    const { client, snapshot } = opened();
    expect(snapshot.memoryBacklog).toBeGreaterThan(0);
    const oldest = async (): Promise<number> =>
      valueOf(await client.readMemory()).backlog.oldestAt ?? Infinity;
    await expect.poll(oldest).toBeGreaterThan(snapshot.killedAt);
    const { entries } = await talk(opened(), "Where does my lighthouse stand? {words:3}");
    expect(JSON.stringify(entries[0])).toContain("I live in a lighthouse near Lisbon");
  });

  test("[P8] an undone turn is redone, a trashed session restored, and a branch repeated under its key is the same branch", async () => {
    const { client, idOf, read, snapshot, forgetAnswers } = opened();
    const repeat = () =>
      client.branch({
        params: { id: idOf("plain") },
        headers: { "idempotency-key": snapshot.branchKey },
        body: { at: snapshot.sessions.plain.entries[1]!.seq, title: "Another way" },
      });
    expect(valueOf(await repeat()).session.id).toBe(idOf("branch"));
    await forgetAnswers();
    expect(valueOf(await repeat()).session.id).toBe(idOf("branch"));
    valueOf(await client.redo({ params: { id: idOf("undone") }, body: {} }));
    expect(outline((await read("undone")).entries).slice(2)).toEqual([
      "user: And cranes?",
      "answer of 10 words",
    ]);
    valueOf(await client.restoreSession({ params: { id: idOf("trashed") } }));
    const { entries } = await send(opened(), idOf("trashed"), "Or rather keep it {words:6}");
    expect(outline(entries).at(-1)).toBe("answer of 6 words");
  });

  test("search, the attachment and the compaction's summary are there", async () => {
    const { client, idOf, read, snapshot } = opened();
    const found = async (): Promise<readonly SessionId[]> =>
      valueOf(await client.search({ query: { q: "egrets" } })).hits.map(
        ({ sessionId }) => sessionId,
      );
    await expect.poll(found).toEqual([idOf("branch")]);
    const [message] = (await read("attached")).entries;
    if (message?.type !== "message") throw new Error("There is no message with a picture.");
    const image = message.parts.find((part) => part.type === "image");
    const bytes = valueOf(await client.getBlob({ params: { id: image!.blobId } }));
    expect(Buffer.from(bytes).toString("base64")).toBe(snapshot.picture);
    await send(opened(), idOf("compacted"), "What did we count? {words:8}");
    const context = valueOf(await client.readContext({ params: { id: idOf("compacted") } }));
    expect(context.epoch).toBe(1);
    expect(context.tokens.summary).toBeGreaterThan(0);
  });
}

async function readApproval(
  { client, idOf }: OpenedHome,
  name: SessionName,
): Promise<ApprovalView> {
  const query = { sessionId: idOf(name) };
  const [approval] = valueOf(await client.listApprovals({ query })).approvals;
  if (approval === undefined) throw new Error(`No approval is open in ${name}.`);
  return approval;
}

let sent = 0;

async function send({ client }: OpenedHome, id: SessionId, text: string) {
  const body = { clientId: `new-${++sent}`, text };
  valueOf(await client.sendMessage({ params: { id }, body }));
  return followUntil(client, id, hasEnded);
}

async function talk(home: OpenedHome, text: string) {
  const { id } = valueOf(await home.client.createSession({ body: {} })).session;
  return { id, ...(await send(home, id, text)) };
}
