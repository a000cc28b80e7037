import { isSigned } from "@holdfast/testing/host/webhook-receiver";
import { expect, test } from "vitest";

import type { FakeBotApi, ShownMessage } from "@holdfast/testing/telegram/fake-bot-api";
import { textIn, valueOf } from "../e2e/served-host.ts";
import { endsOf, type OpenedHome, outline, resultsIn } from "./open-home.ts";
import type { SessionName } from "./snapshot.ts";

const lettersOf = (text: string): string => text.replaceAll(/[^\p{L}\p{N}]+/gu, " ").trim();

const textsIn = (telegram: FakeBotApi, chat: number): readonly string[] =>
  telegram.shownIn(chat).map(({ text }) => text);

/** Chunks of a session that are under way or in trouble. */
async function outboxOf({ client, idOf }: OpenedHome, name: SessionName) {
  const { outbox } = valueOf(await client.readGateway());
  return outbox.filter(({ sessionId }) => sessionId === idOf(name));
}

/** The outbox, webhooks, schedules and sign-ins. */
export function testGateway(opened: () => OpenedHome): void {
  test("[P11] an answer that was not sent to Telegram is delivered whole and once", async () => {
    const { telegram, read } = opened();
    await expect.poll(() => outboxOf(opened(), "chatAnswer")).toEqual([]);
    const texts = textsIn(telegram, 7);
    expect(texts.length).toBeGreaterThan(1);
    const [, answer] = (await read("chatAnswer")).entries;
    if (answer?.type !== "message") throw new Error("There is no answer.");
    expect(lettersOf(texts.join(" "))).toBe(lettersOf(textIn(answer)));
  });

  test("[P11] a question that was not sent to Telegram comes with its buttons, and a press answers it", async () => {
    const { telegram, ended, log } = opened();
    const question = (): ShownMessage | undefined =>
      telegram.shownIn(8).find(({ buttons }) => buttons.length > 0);
    await expect.poll(question).toBeDefined();
    expect(question()!.text).toContain("Tea or coffee?");
    telegram.press(8, question()!, "tea");
    const { entries, run } = await ended("chatQuestion");
    expect(resultsIn(entries)).toMatchObject([{ name: "ask_user", output: "tea" }]);
    expect(endsOf(await log("chatQuestion"), run!.id)).toEqual(["completed"]);
    await expect.poll(() => outboxOf(opened(), "chatQuestion")).toEqual([]);
    expect(telegram.shownIn(8)).toHaveLength(2);
  });

  test("[P11] a chunk that may have arrived is announced in the chat, and sent again when a person asks", async () => {
    const { client, telegram } = opened();
    const isUnknown = [{ state: "unknown", code: "connection_lost" }];
    await expect.poll(() => outboxOf(opened(), "chatUnknown")).toMatchObject(isUnknown);
    expect(textsIn(telegram, 9)).toEqual([
      expect.stringContaining("cannot know whether it arrived"),
    ]);
    const [unknown] = await outboxOf(opened(), "chatUnknown");
    const params = { delivery: unknown!.delivery, chunk: unknown!.chunk };
    valueOf(await client.settleChunk({ params, body: { do: "resend" } }));
    await expect.poll(() => outboxOf(opened(), "chatUnknown")).toEqual([]);
    const [, again, ...rest] = textsIn(telegram, 9);
    expect([again?.split(" ").length, rest]).toEqual([6, []]);
  });

  test("[P11] a message that Telegram delivers again is not answered again, and the chat stays in its session", async () => {
    const { telegram, ended, snapshot } = opened();
    const before = telegram.shownIn(7).length;
    telegram.say(7, "A long story", { message_id: snapshot.telegram.messageId });
    telegram.say(7, "A short one {words:4}", { message_id: 1_000 });
    await expect.poll(() => telegram.shownIn(7).length).toBe(before + 1);
    expect(outline((await ended("chatAnswer")).entries).slice(2)).toEqual([
      "user: A short one",
      "answer of 4 words",
    ]);
  });

  test("a pairing code that was given out still lets its person in", async () => {
    const { client, telegram, snapshot } = opened();
    const [request] = snapshot.gateway.requests;
    const params = { code: request!.code };
    valueOf(await client.decidePairing({ params, body: { decision: "allow" } }));
    await expect
      .poll(() => textsIn(telegram, 55))
      .toContainEqual(expect.stringMatching(/^You.re in\./));
  });

  test("[P11] an answer that a webhook's receiver did not acknowledge is posted once more under its id", async () => {
    const { receiver, snapshot } = opened();
    const { unanswered, ciSecret } = snapshot.webhooks;
    await receiver.until(1);
    await expect.poll(() => outboxOf(opened(), "webhookOwed")).toEqual([]);
    expect(receiver.taken).toHaveLength(1);
    const [taken] = receiver.taken;
    expect([taken!.headers["webhook-id"], taken!.body]).toEqual([unanswered.id, unanswered.body]);
    expect(isSigned(taken!, ciSecret)).toBe(true);
  });

  test("[P11] a webhook's secret still counts, and a request that was taken before gets its first answer", async () => {
    const { ended, idOf, snapshot, post } = opened();
    const [message] = snapshot.sessions.webhookHeard.entries;
    const repeated = await post("home-1", "The door is open {words:5}");
    expect(await repeated.json()).toEqual({
      sessionId: idOf("webhookHeard"),
      runId: message!.runId,
    });
    expect((await post("home-2", "The door is shut {words:6}")).status).toBe(202);
    expect((await post("home-3", "Open it", "whsec_".padEnd(50, "A"))).status).toBe(401);
    expect(outline((await ended("webhookHeard")).entries)).toEqual([
      "user: The door is open",
      "answer of 5 words",
      "user: The door is shut",
      "answer of 6 words",
    ]);
  });

  test("a schedule that came due while no host ran is run once, and the daily one keeps its time", async () => {
    const { client, read, snapshot } = opened();
    const schedule = async (title: string) =>
      valueOf(await client.listSchedules()).schedules.find(
        (candidate) => candidate.title === title,
      );
    await expect
      .poll(async () => (await schedule("Once"))?.recent)
      .toMatchObject([{ outcome: "accepted" }]);
    const daily = snapshot.schedules.find(({ title }) => title === "Daily");
    expect(await schedule("Daily")).toEqual(daily);
    await expect
      .poll(async () => outline((await read("scheduled")).entries))
      .toEqual([expect.stringContaining("Wind the clock"), "answer of 5 words"]);
  });

  test("the cookie, the password and the token still sign in, and others do not", async () => {
    const { address, client, snapshot } = opened();
    const { cookie, password, token, signIn } = snapshot.access;
    const { port } = new URL(address);
    const principal = async (headers: Record<string, string>) => {
      const response = await fetch(`${address}api/principal`, { headers });
      const answer = (await response.json()) as { principal?: { by: string } };
      return answer.principal?.by ?? response.status;
    };
    const signedIn = {
      cookie: `holdfast_${port}=${cookie}`,
      "x-holdfast-page-key": "k".repeat(43),
    };
    // What the page does when it is first opened with a cookie from before there were page keys.
    const bound = await fetch(`${address}api/login`, {
      method: "POST",
      headers: { ...signedIn, "content-type": "application/json" },
      body: JSON.stringify({ pageKey: "k".repeat(43) }),
    });
    expect(bound.status).toBe(204);
    expect(await principal(signedIn)).toBe("sign-in");
    expect(await principal({ ...signedIn, cookie: `holdfast_${port}=not${cookie}` })).toBe(401);
    expect(await principal({ authorization: `Bearer ${token}` })).toBe("token");
    expect(valueOf(await client.listSignIns()).signIns).toEqual([signIn]);
    const login = async (proof: string): Promise<number> => {
      const headers = { "content-type": "application/json" };
      const body = JSON.stringify({ password: proof });
      return (await fetch(`${address}api/login`, { method: "POST", body, headers })).status;
    };
    expect(await login(`not ${password}`)).toBe(401);
    expect(await login(password)).toBe(204);
  });
}
