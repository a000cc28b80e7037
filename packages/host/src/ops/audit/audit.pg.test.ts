import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLog, runFsck, systemClock } from "@holdfast/engine";
import { ids } from "@holdfast/protocol";
import { addToHash, decodeLink, noOutput, rowOfEvent } from "@holdfast/store/hash-chain";
import { databases } from "@holdfast/testing/databases/databases";
import { openFullSession } from "@holdfast/testing/fixtures/damaged-audit";
import {
  aDelta,
  aLane,
  anEvent,
  aRange,
  aSettledMessage,
  aUserMessage,
  toSeq,
} from "@holdfast/testing/fixtures/factories";
import {
  assertPresent,
  openTestSession,
  type TestSession,
} from "@holdfast/testing/fixtures/open-session";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createRedactor } from "../secrets/redact.ts";
import { exportAudit } from "./audit-export.ts";
import { lazyAuditKey } from "./audit-key.ts";
import { createAuditWorker, createTouchedSessions } from "./audit-worker.ts";
import { readSignedHead, signCurrentHead } from "./signed-head.ts";
import { type AuditReport, verifyAudit } from "./verify-audit.ts";

describe.each(databases)("an audit on $name", ({ create }) => {
  async function open() {
    const database = await create();
    const store = await database.open();
    const home = mkdtempSync(join(tmpdir(), "holdfast-audit-"));
    onTestFinished(async () => {
      await store.close();
      await database.drop();
      rmSync(home, { recursive: true });
    });
    return { database, store, home, key: lazyAuditKey(home) };
  }
  type Opened = Awaited<ReturnType<typeof open>>;

  async function exportLines({ store, key }: Opened, chat: TestSession): Promise<string[]> {
    const deps = {
      store,
      key: await key(),
      redact: createRedactor(() => ["the-secret-word"]),
      exportedAt: 1,
    };
    const chunks: string[] = [];
    for await (const chunk of exportAudit(deps, await chat.row())) chunks.push(chunk);
    return chunks.join("").trimEnd().split("\n");
  }

  async function check(lines: readonly string[], trusted?: string): Promise<AuditReport> {
    async function* each() {
      yield* lines;
    }
    return verifyAudit(each(), trusted);
  }

  const codesOf = ({ problems }: AuditReport) => [...new Set(problems.map(({ code }) => code))];

  test("[safety] a session's log can be checked without its host, and says who signed it", async () => {
    const opened = await open();
    const { chat } = await openFullSession(opened.store, aLane());
    const lines = await exportLines(opened, chat);
    const report = await check(lines);
    expect(report).toMatchObject({ session: chat.session, unlinked: 0, problems: [] });
    expect(report.events).toBe(lines.length - 2);
    const { id } = await opened.key();
    expect(report.signatures).toMatchObject([{ key: id, at: 1 }]);
    expect(await check(lines, id)).toMatchObject({ problems: [] });
    expect(codesOf(await check(lines, "0123456789abcdef"))).toEqual(["signature_missing"]);
    expect(statSync(join(opened.home, "audit.key")).mode & 0o777).toBe(0o600);
  });

  test("[safety] whichever line is removed, repeated, moved or changed, the check names it", async () => {
    const opened = await open();
    const { chat } = await openFullSession(opened.store, aLane());
    const lines = await exportLines(opened, chat);
    const last = lines.length - 1;
    for (let index = 1; index <= last; index += 1) {
      const line = assertPresent(lines[index]);
      const without = lines.toSpliced(index, 1);
      expect([index, codesOf(await check(without))]).not.toEqual([index, []]);
      const doubled = lines.toSpliced(index, 0, line);
      expect([index, codesOf(await check(doubled))]).not.toEqual([index, []]);
      const swapped = lines.with(index, assertPresent(lines[index - 1])).with(index - 1, line);
      expect([index, codesOf(await check(swapped))]).not.toEqual([index, []]);
      const changed = line.replace(/"at":\d/, '"at":8');
      expect(changed).not.toBe(line);
      const seq = /"seq":(\d+)/.exec(line)?.[1] ?? "";
      const { problems } = await check(lines.with(index, changed));
      expect(problems.map(({ message }) => message).join()).toContain(
        index === last ? "signature" : `Event ${seq} of ${chat.session}`,
      );
    }
  });

  test("[safety] a log whose last events were removed from the database no longer matches what was signed", async () => {
    const opened = await open();
    const { store, key } = opened;
    const touched = createTouchedSessions();
    const log = createLog(store, { observe: touched.observe });
    const worker = createAuditWorker({
      log,
      ids,
      clock: systemClock,
      key,
      touched,
      report: failTest,
    });
    const chat = await openTestSession(store);
    const { owner, session } = chat;
    await log.commit({
      owner,
      session,
      events: [aUserMessage("kept"), aUserMessage("removed later")],
    });
    worker.start(null);
    await worker.stop();
    expect(codesOf(await check(await exportLines(opened, chat)))).toEqual([]);

    await opened.database.query(removalOf(opened, session));
    const lines = await exportLines(opened, chat);
    expect(codesOf(await check(lines))).toEqual(["events_missing", "signature_invalid"]);
  });

  test("[safety] each message carries the hash of the output that it settles, after the output is pruned", async () => {
    const { store } = await open();
    const chat = await openTestSession(store);
    const { runId, under } = await chat.startRun();
    /** The hash of what was shown, before it is settled. */
    async function answer(commits: readonly number[]): Promise<string> {
      for (const deltas of commits)
        await chat.commit(
          Array.from({ length: deltas }, () => aDelta(runId)),
          { under },
        );
      const shown = (await chat.events()).filter(({ type }) => type === "message.delta");
      const [from, to] = [assertPresent(shown[0]).seq, assertPresent(shown.at(-1)).seq];
      await chat.commit([aSettledMessage(runId, "Done.", [[from, to]])], { under });
      await store.prune(100);
      let hashed = noOutput;
      for (const delta of shown) hashed = addToHash(hashed, rowOfEvent(delta));
      return hashed.hash;
    }
    const shown = [await answer([1, 2]), await answer([1])];

    const links = new Map<number, string | null>();
    for await (const { seq, link, place } of store.audit.events(chat.session))
      if (place === "log") links.set(seq, link?.text ?? null);
    const settled = (await chat.events()).filter(({ type }) => type === "message.assistant");
    const outputOf = (seq: number) => decodeLink(links.get(seq) ?? "")?.output;
    expect(settled.map(({ seq }) => outputOf(seq))).toEqual(shown);
    const others = [...links.keys()].filter((seq) => settled.every((event) => event.seq !== seq));
    expect(others.map(outputOf)).toEqual(others.map(() => null));
  });

  test("[safety] after its key was replaced a host signs the same log again", async () => {
    const { store, home, key } = await open();
    const chat = await openTestSession(store);
    const { owner, session } = chat;
    const sign = async (by: typeof key) => signCurrentHead(store, await by(), owner, session);
    const first = await sign(key);
    expect(await sign(key)).toEqual(first);
    rmSync(join(home, "audit.key"));
    const replaced = lazyAuditKey(home);
    const second = await sign(replaced);
    expect(second).toMatchObject({ hash: first?.hash, publicKey: (await replaced()).publicKey });
    expect(second?.publicKey).not.toBe(first?.publicKey);
    expect((await readSignedHead(store, owner, session)).head).toEqual(second);
  });

  test("[safety] a log of an older version is hashed as a whole, and its new events are linked", async () => {
    const opened = await open();
    const { store, database, key } = opened;
    const { chat } = await openFullSession(store, aLane());
    await database.query("UPDATE events SET link = NULL");
    const unsigned = await openTestSession(store);
    await unsigned.commit([aUserMessage("of the same age")]);
    await database.query("UPDATE events SET link = NULL");
    await database.open().then((other) => other.close());
    expect(await check(await exportLines(opened, unsigned))).toMatchObject({ unlinked: 2 });

    const log = createLog(store);
    const worker = createAuditWorker({
      log,
      ids,
      clock: systemClock,
      key,
      report: failTest,
      beginAfterMs: 0,
      touched: createTouchedSessions(),
    });
    worker.start(null);
    await expect.poll(async () => (await unsigned.events()).at(-1)?.type).toBe("chain.began");
    await worker.stop();
    // A run is live there: its log is left alone.
    expect((await chat.events()).map(({ type }) => type)).not.toContain("chain.began");
    await unsigned.commit([aUserMessage("new")]);

    const lines = await exportLines(opened, unsigned);
    expect(await check(lines)).toMatchObject({ unlinked: 0, problems: [] });
    const changed = lines.map((line) => line.replace("of the same age", "of another age"));
    expect(codesOf(await check(changed))).toEqual(["digest_differs"]);
    const { found } = await runFsck(store.audit, { now: await store.now() });
    expect(found).toEqual([]);
  });

  test("[safety] hosts look for logs that are not linked until one of them finds none", async () => {
    const { store, database, key } = await open();
    const chat = await openTestSession(store);
    await database.query("UPDATE events SET link = NULL");
    await database.open().then((other) => other.close());
    const look = vi.spyOn(store.audit, "unlinked");
    const markRead = vi.spyOn(store.register, "read");
    const markPut = vi.spyOn(store.register, "put");
    /** Ends the host's worker when `done` no longer throws, and returns how often it looked. */
    async function looksUntil(done: () => unknown): Promise<number> {
      look.mockClear();
      const worker = createAuditWorker({
        log: createLog(store),
        ids,
        clock: systemClock,
        key,
        report: failTest,
        beginAfterMs: 0,
        touched: createTouchedSessions(),
      });
      worker.start(null);
      await vi.waitFor(done, { timeout: 30_000 });
      await worker.stop();
      return look.mock.calls.length;
    }

    const isLinked = async () => expect((await chat.events()).at(-1)?.type).toBe("chain.began");
    expect(await looksUntil(isLinked)).toBe(1);
    expect(markPut).not.toHaveBeenCalled();
    expect(await looksUntil(() => expect(markPut).toHaveBeenCalledOnce())).toBe(1);
    markRead.mockClear();
    expect(await looksUntil(() => expect(markRead).toHaveResolved())).toBe(0);
  });

  test("[safety] an export shows no secret, and can be checked all the same", async () => {
    const opened = await open();
    const chat = await openTestSession(opened.store);
    await chat.commit([aUserMessage("it is the-secret-word, keep it")]);
    const lines = await exportLines(opened, chat);
    expect(lines.join("\n")).not.toContain("the-secret-word");
    expect(await check(lines)).toMatchObject({ redacted: 1, problems: [] });
    const other = lines.map((line) => line.replace('"redacted":"', '"redacted":"x'));
    expect(codesOf(await check(other))).toEqual(["event_changed"]);
  });

  test("[safety] a branch is exported with the log that it reads, each with its own chain", async () => {
    const opened = await open();
    const chat = await openTestSession(opened.store);
    await chat.commit([aUserMessage("one"), aUserMessage("two")]);
    const origin = { sessionId: chat.session, seq: toSeq(2) };
    const settings = { origin, ranges: [aRange(1, 2, chat.session), aRange(3, null)] };
    const branch = await openTestSession(opened.store, settings, chat.owner);
    await branch.commit([aUserMessage("another way")]);
    const lines = await exportLines(opened, branch);
    expect(lines.join("\n")).toContain('"one"');
    expect(lines.join("\n")).not.toContain('"two"');
    expect(await check(lines)).toMatchObject({ events: 4, problems: [] });
    const changed = lines.map((line) => line.replace('"one"', '"ONE"'));
    expect(codesOf(await check(changed))).toEqual(["event_changed"]);
  });

  test("[safety] two equal events have different hashes, so that none confirms a guess", async () => {
    const { store } = await open();
    const event = anEvent("lane.bound", { lane: aLane() });
    const links: string[] = [];
    for (const chat of [await openTestSession(store), await openTestSession(store)]) {
      await chat.commit([{ ...event, id: ids.make("event") }]);
      links.push(assertPresent((await store.audit.logEnd(chat.session))?.hash));
    }
    expect(links[0]).not.toBe(links[1]);
  });
});

function failTest(bug: Error): void {
  throw bug;
}

function removalOf(
  { database }: { database: { address: { kind: string } } },
  session: string,
): string {
  return database.address.kind === "sqlite"
    ? `DELETE FROM events WHERE seq = 3 AND session_key = (SELECT key FROM sessions WHERE id = '${session}')`
    : `DELETE FROM events WHERE seq = 3 AND session_id = '${session}'`;
}
