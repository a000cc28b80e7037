import { systemClock } from "@holdfast/engine";
import { aHolder } from "@holdfast/testing/fixtures/factories";
import { createTool, okResult } from "@holdfast/testing/rigs/run-rig";
import { calls, fails, says, type Script } from "@holdfast/testing/fakes/scripted-model";
import { expect, onTestFinished, test } from "vitest";

import { createEgress } from "../../util/egress/egress.ts";
import { type ApiRig, openApi } from "../../../test/support/api-rig.ts";
import {
  type ReceiverAnswer,
  isSigned,
  openWebhookReceiver,
} from "@holdfast/testing/host/webhook-receiver";
import { newSession, untilEnded, valueOf } from "../../../test/support/api-helpers.ts";
import { NoticeStore } from "./notice-queue.ts";
import { createNotifier, type Notifier, type NotifierDeps } from "./notifier.ts";

const secret = "a-secret-of-both-of-us";

const pay = createTool("pay", async () => okResult("paid"), { approval: () => "ask" });

async function openRig(script: Script, answers: ReceiverAnswer[] = []) {
  const rig = openApi(script, { tools: [pay] });
  const receiver = await openWebhookReceiver(answers);
  const logLines: string[] = [];
  const bugs: unknown[] = [];
  const notifiers: Notifier[] = [];
  const time = { aheadMs: 0 };
  const noticeStore = new NoticeStore(rig.store.register, rig.owner);
  onTestFinished(async () => {
    await Promise.all(notifiers.map((notifier) => notifier.stop()));
    await receiver.close();
    await rig.close();
    expect([...rig.bugs, ...bugs]).toEqual([]);
  });

  /** Starts another notifying host, and resolves after its first full round. */
  async function startHost(overrides: Partial<NotifierDeps> = {}): Promise<Notifier> {
    let clockReads = 0;
    const notifier = createNotifier({
      store: {
        reads: rig.store.reads,
        register: rig.store.register,
        now: async () => {
          clockReads += 1;
          return (await rig.store.now()) + time.aheadMs;
        },
      },
      owner: rig.owner,
      clock: systemClock,
      holder: aHolder(),
      liveness: { isDead: () => "unknown" },
      egress: createEgress({ allow: [new URL(receiver.url).host] }),
      url: receiver.url,
      secret,
      details: "off",
      redact: (text) => text.replaceAll("hunter2", "[redacted]"),
      logLine: (level, line) => void logLines.push(`${level} ${line}`),
      report: (bug) => void bugs.push(bug),
      times: { pollMs: 5, requestMs: 5_000 },
      ...overrides,
    });
    notifiers.push(notifier);
    notifier.start("https://hold.example.org/");
    // One read of the clock per scan and one per send: the third means the first round is over.
    await expect.poll(() => clockReads).toBeGreaterThan(2);
    return notifier;
  }
  const expectTaken = async (count: number): Promise<void> => {
    await receiver.until(count);
    expect(receiver.taken).toHaveLength(count);
  };
  const pending = async () => (await noticeStore.read())?.owed ?? [];
  const untilSent = async (): Promise<void> => {
    await expect.poll(pending).toEqual([]);
  };
  return { rig, receiver, startHost, logLines, time, expectTaken, pending, untilSent, noticeStore };
}

async function say(rig: ApiRig, text: string, session?: Awaited<ReturnType<typeof newSession>>) {
  const id = session ?? (await newSession(rig));
  const body = { clientId: text.replaceAll(/\W/g, "-"), text };
  valueOf(await rig.client.sendMessage({ params: { id }, body }));
  return id;
}

test("a failed run is reported once, signed, with a link and without any content", async () => {
  const { rig, receiver, startHost, expectTaken, untilSent } = await openRig([
    fails("fatal"),
    says("Fine."),
  ]);
  await startHost();
  const session = await say(rig, "my password is hunter2");
  await expectTaken(1);
  const [post] = receiver.taken;
  if (post === undefined) throw new Error("Nothing was told.");
  expect(isSigned(post, secret)).toBe(true);
  expect(isSigned({ ...post, body: post.body.replace("run_failed", "run_fairly") }, secret)).toBe(
    false,
  );
  expect(post.message).toMatchObject({
    id: post.headers["webhook-id"],
    type: "run_failed",
    sessionId: session,
    title: null,
    do: { link: `https://hold.example.org/?session=${session}` },
  });
  expect(post.body).not.toMatch(/hunter2|password|The script says/i);
  // A completed run notifies nobody, and the next scan finds nothing twice.
  await say(rig, "again", session);
  await untilEnded(rig, session);
  const otherSession = await say(rig, "the script is over");
  await expectTaken(2);
  expect(receiver.taken[1]?.message).toMatchObject({ sessionId: otherSession, type: "run_failed" });
  await untilSent();
});

test("with details on, a notice says what happened, without secrets", async () => {
  const { rig, receiver, startHost, expectTaken } = await openRig([
    fails("fatal", { message: "The key hunter2 is wrong." }),
  ]);
  await startHost({ details: "on" });
  await say(rig, "Say hello");
  await expectTaken(1);
  const { title, details } = receiver.taken[0]?.message ?? {};
  expect(title).toBe("Say hello");
  expect(details).toContain("[redacted]");
});

test("approvals that wait together are one notice, and none once they were answered", async () => {
  const { rig, receiver, startHost, time, expectTaken, untilSent } = await openRig(
    [[calls("pay", "rent"), calls("pay", "tax")], says("Done."), says("Done.")],
    [500],
  );
  await startHost();
  const session = await say(rig, "Pay");
  await expectTaken(1);
  expect(receiver.taken[0]?.message).toMatchObject({
    type: "approval_waiting",
    sessionId: session,
  });
  expect(receiver.taken[0]?.body).not.toContain("rent");
  for (const { approvalId } of valueOf(await rig.client.listApprovals()).approvals)
    valueOf(
      await rig.client.answerApproval({ params: { id: approvalId }, body: { decision: "once" } }),
    );
  await untilEnded(rig, session);
  time.aheadMs += 5_000;
  await untilSent();
  expect(receiver.taken.length).toBe(1);
});

test("a receiver that fails, cuts off or hangs gets the notice again under the same id until it accepts", async () => {
  const answers: ReceiverAnswer[] = [500, "cut", "hold", 302];
  const { rig, receiver, startHost, time, expectTaken, untilSent, logLines } = await openRig(
    [fails("fatal")],
    answers,
  );
  await startHost({ times: { pollMs: 5, requestMs: 300 } });
  await say(rig, "Hello");
  for (let attempt = 1; attempt <= 5; attempt += 1) {
    await expectTaken(attempt);
    time.aheadMs += 1_000 * 2 ** attempt;
  }
  await untilSent();
  expect(new Set(receiver.taken.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
  expect(logLines.filter((line) => line.startsWith("warn"))).toHaveLength(1);
});

test("a notice that nobody accepts for a day is dropped, and logged", async () => {
  const { rig, receiver, startHost, time, expectTaken, untilSent, logLines } = await openRig(
    [fails("fatal")],
    [500],
  );
  await startHost();
  await say(rig, "Hello");
  await expectTaken(1);
  time.aheadMs += 25 * 3_600_000;
  await untilSent();
  expect(receiver.taken.length).toBe(1);
  expect(logLines.at(-1)).toContain("given up");
});

test("only one of several hosts sends; when it is proven dead, another continues under the same id", async () => {
  const dead = aHolder();
  const { rig, receiver, startHost, time, expectTaken, untilSent, noticeStore } = await openRig(
    [fails("fatal")],
    ["hold"],
  );
  await startHost({ holder: dead });
  await say(rig, "Hello");
  await expectTaken(1);
  // It is due again, but the first host is still sending.
  time.aheadMs += 5_000;
  await startHost();
  await startHost();
  const state = await noticeStore.read();
  expect(state?.sender?.holder.nonce).toBe(dead.nonce);
  expect(receiver.taken.length).toBe(1);
  await startHost({
    liveness: { isDead: ({ nonce }) => (nonce === dead.nonce ? "dead" : "unknown") },
  });
  await expectTaken(2);
  await untilSent();
  expect(receiver.taken[1]?.headers["webhook-id"]).toBe(receiver.taken[0]?.headers["webhook-id"]);
});

test("notices beyond the queue's limit wait in the log, and each is sent once by some host", async () => {
  const count = 40;
  const refusals = Array.from({ length: 24 }, (): ReceiverAnswer => 503);
  const { rig, receiver, startHost, time, expectTaken, pending, untilSent } = await openRig(
    () => fails("fatal"),
    refusals,
  );
  await startHost();
  await startHost();
  const sessions = new Set<string>();
  for (let index = 0; index < count; index += 1) sessions.add(await say(rig, `Hello ${index}`));
  await receiver.until(24);
  expect((await pending()).length).toBeLessThanOrEqual(24);
  time.aheadMs += 5_000;
  await expectTaken(count + 24);
  await untilSent();
  const reported = receiver.taken.map(({ message }) => String(message["sessionId"]));
  expect(new Set(reported)).toEqual(sessions);
});
