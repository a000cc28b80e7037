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

async function openBed(script: Script, answers: ReceiverAnswer[] = []) {
  const rig = openApi(script, { tools: [pay] });
  const receiver = await openWebhookReceiver(answers);
  const said: string[] = [];
  const bugs: unknown[] = [];
  const notifiers: Notifier[] = [];
  const time = { aheadMs: 0 };
  const kept = new NoticeStore(rig.store.register, rig.owner);
  onTestFinished(async () => {
    await Promise.all(notifiers.map((notifier) => notifier.stop()));
    await receiver.close();
    await rig.close();
    expect([...rig.bugs, ...bugs]).toEqual([]);
  });

  /** One more host that tells; it has looked at everything once when this resolves. */
  async function startHost(more: Partial<NotifierDeps> = {}): Promise<Notifier> {
    let asked = 0;
    const notifier = createNotifier({
      store: {
        reads: rig.store.reads,
        register: rig.store.register,
        now: async () => {
          asked += 1;
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
      logLine: (level, line) => void said.push(`${level} ${line}`),
      report: (bug) => void bugs.push(bug),
      times: { lookMs: 5, requestMs: 5_000 },
      ...more,
    });
    notifiers.push(notifier);
    notifier.start("https://hold.example.org/");
    // Once for a look, once for a send: with the third the first round is over.
    await expect.poll(() => asked).toBeGreaterThan(2);
    return notifier;
  }
  const taken = async (count: number): Promise<void> => {
    await receiver.until(count);
    expect(receiver.taken).toHaveLength(count);
  };
  const owed = async () => (await kept.read())?.owed ?? [];
  const allTold = async (): Promise<void> => {
    await expect.poll(owed).toEqual([]);
  };
  return { rig, receiver, startHost, said, time, taken, owed, allTold, kept };
}

async function say(rig: ApiRig, text: string, session?: Awaited<ReturnType<typeof newSession>>) {
  const id = session ?? (await newSession(rig));
  const body = { clientId: text.replaceAll(/\W/g, "-"), text };
  valueOf(await rig.client.sendMessage({ params: { id }, body }));
  return id;
}

test("a run that failed is told once, signed, with a link and without a word of what was said", async () => {
  const { rig, receiver, startHost, taken, allTold } = await openBed([
    fails("fatal"),
    says("Fine."),
  ]);
  await startHost();
  const session = await say(rig, "my password is hunter2");
  await taken(1);
  const [hook] = receiver.taken;
  if (hook === undefined) throw new Error("Nothing was told.");
  expect(isSigned(hook, secret)).toBe(true);
  expect(isSigned({ ...hook, body: hook.body.replace("run_failed", "run_fairly") }, secret)).toBe(
    false,
  );
  expect(hook.message).toMatchObject({
    id: hook.headers["webhook-id"],
    type: "run_failed",
    sessionId: session,
    title: null,
    do: { link: `https://hold.example.org/?session=${session}` },
  });
  expect(hook.body).not.toMatch(/hunter2|password|The script says/i);
  // One that completes tells nobody, and the look behind it finds nothing twice.
  await say(rig, "again", session);
  await untilEnded(rig, session);
  const other = await say(rig, "the script is over");
  await taken(2);
  expect(receiver.taken[1]?.message).toMatchObject({ sessionId: other, type: "run_failed" });
  await allTold();
});

test("with details it is told what happened, without secrets", async () => {
  const { rig, receiver, startHost, taken } = await openBed([
    fails("fatal", { message: "The key hunter2 is wrong." }),
  ]);
  await startHost({ details: "on" });
  await say(rig, "Say hello");
  await taken(1);
  const { title, details } = receiver.taken[0]?.message ?? {};
  expect(title).toBe("Say hello");
  expect(details).toContain("[redacted]");
});

test("calls that wait together are told once, and not any more when they were answered before", async () => {
  const { rig, receiver, startHost, time, taken, allTold } = await openBed(
    [[calls("pay", "rent"), calls("pay", "tax")], says("Done."), says("Done.")],
    [500],
  );
  await startHost();
  const session = await say(rig, "Pay");
  await taken(1);
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
  await allTold();
  expect(receiver.taken.length).toBe(1);
});

test("a receiver that fails, cuts or is silent is told again under the same id until it has taken it", async () => {
  const answers: ReceiverAnswer[] = [500, "cut", "hold", 302];
  const { rig, receiver, startHost, time, taken, allTold, said } = await openBed(
    [fails("fatal")],
    answers,
  );
  await startHost({ times: { lookMs: 5, requestMs: 300 } });
  await say(rig, "Hello");
  for (let tries = 1; tries <= 5; tries += 1) {
    await taken(tries);
    time.aheadMs += 1_000 * 2 ** tries;
  }
  await allTold();
  expect(new Set(receiver.taken.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
  expect(said.filter((line) => line.startsWith("warn"))).toHaveLength(1);
});

test("what nobody takes for a day is given up, and said", async () => {
  const { rig, receiver, startHost, time, taken, allTold, said } = await openBed(
    [fails("fatal")],
    [500],
  );
  await startHost();
  await say(rig, "Hello");
  await taken(1);
  time.aheadMs += 25 * 3_600_000;
  await allTold();
  expect(receiver.taken.length).toBe(1);
  expect(said.at(-1)).toContain("given up");
});

test("of several hosts one tells at a time; when it is proven dead another goes on under the same id", async () => {
  const dead = aHolder();
  const { rig, receiver, startHost, time, taken, allTold, kept } = await openBed(
    [fails("fatal")],
    ["hold"],
  );
  await startHost({ holder: dead });
  await say(rig, "Hello");
  await taken(1);
  // It is due again, but somebody is at it.
  time.aheadMs += 5_000;
  await startHost();
  await startHost();
  const before = await kept.read();
  expect(before?.sender?.holder.nonce).toBe(dead.nonce);
  expect(receiver.taken.length).toBe(1);
  await startHost({
    liveness: { isDead: ({ nonce }) => (nonce === dead.nonce ? "dead" : "unknown") },
  });
  await taken(2);
  await allTold();
  expect(receiver.taken[1]?.headers["webhook-id"]).toBe(receiver.taken[0]?.headers["webhook-id"]);
});

test("more than can be owed waits in the log, and each is told once by whichever host", async () => {
  const count = 40;
  const refusals = Array.from({ length: 24 }, (): ReceiverAnswer => 503);
  const { rig, receiver, startHost, time, taken, owed, allTold } = await openBed(
    () => fails("fatal"),
    refusals,
  );
  await startHost();
  await startHost();
  const sessions = new Set<string>();
  for (let each = 0; each < count; each += 1) sessions.add(await say(rig, `Hello ${each}`));
  await receiver.until(24);
  expect((await owed()).length).toBeLessThanOrEqual(24);
  time.aheadMs += 5_000;
  await taken(count + 24);
  await allTold();
  const told = receiver.taken.map(({ message }) => String(message["sessionId"]));
  expect(new Set(told)).toEqual(sessions);
});
