import type { openWebhookReceiver } from "@holdfast/testing/host/webhook-receiver";
import type { OutboxView, SessionId } from "@holdfast/protocol";

import type { FakeBotApi } from "@holdfast/testing/telegram/fake-bot-api";
import { hasEnded, valueOf } from "../../e2e/served-host.ts";
import { postSigned } from "../post-signed.ts";
import { type Driver, until } from "./driver.ts";

type Receiver = Awaited<ReturnType<typeof openWebhookReceiver>>;

/** A pairing request, and three chats that are owed something when Telegram goes away. */
export async function createChats({ client, follow }: Driver, telegram: FakeBotApi) {
  telegram.say(55, "Let me in");
  await until("the pairing code", () => telegram.shownIn(55).length === 1);

  const reached = holdSendsTo(telegram, 9);
  telegram.say(9, "Did you hear me? {rate:100000}{words:6}");
  await reached;
  // Long enough for several messages.
  const messageId = telegram.say(7, "A long story {stall:2}{rate:100000}{words:1500}");
  const asked = JSON.stringify({ question: "Tea or coffee?", choices: ["tea", "coffee"] });
  telegram.say(8, `Breakfast {stall:2}{tool:ask_user ${asked}} {words:3}`);
  const sessionOf = async (chat: number): Promise<SessionId | undefined> => {
    const { lanes } = valueOf(await client.readGateway());
    return lanes.find(({ lane }) => lane === `telegram:424242:p${chat}:0`)?.sessionId;
  };
  const found: (SessionId | undefined)[] = [];
  await until("a session for each chat", async () => {
    found.splice(0, 3, ...(await Promise.all([7, 8, 9].map(sessionOf))));
    return found.every((id) => id !== undefined);
  });
  await telegram.stop();

  const [chatAnswer, chatQuestion, chatUnknown] = found as [SessionId, SessionId, SessionId];
  await follow(chatAnswer, hasEnded);
  await follow(chatQuestion, ({ run }) => run?.state === "waiting");
  await follow(chatUnknown, hasEnded);
  const owes = async (sessionId: SessionId, chunk: Partial<OutboxView>): Promise<boolean> =>
    valueOf(await client.readGateway()).outbox.some(
      (candidate) =>
        candidate.sessionId === sessionId &&
        candidate.kind === chunk.kind &&
        candidate.state === chunk.state,
    );
  await until("an unsent answer", () => owes(chatAnswer, { kind: "answer", state: "pending" }));
  await until("an unsent question", () =>
    owes(chatQuestion, { kind: "approval", state: "pending" }),
  );
  await until("an unknown answer", () => owes(chatUnknown, { kind: "answer", state: "unknown" }));
  return {
    sessions: { chatAnswer, chatQuestion, chatUnknown },
    telegram: { nextUpdate: telegram.nextUpdate, messageId },
  };
}

/** Telegram takes what is sent to this chat and never answers. Resolves when something is sent. */
function holdSendsTo(telegram: FakeBotApi, chat: number): Promise<void> {
  const reached = Promise.withResolvers<void>();
  telegram.faults.before = async (method, payload) => {
    if (method !== "sendMessage" || Number(payload["chat_id"]) !== chat) return;
    reached.resolve();
    await new Promise(() => undefined);
  };
  return reached.promise;
}

interface WebhookPlace {
  readonly address: string;
  readonly receiver: Receiver;
  readonly ciSecret: string;
}

/** One program is owed an answer that its receiver took and did not acknowledge; another only speaks. */
export async function createWebhookSessions({ client, follow }: Driver, place: WebhookPlace) {
  const { address, receiver, ciSecret } = place;
  const params = { name: "home" };
  const homeSecret = valueOf(await client.putWebhook({ params, body: {} })).secret ?? "";
  const post = async (name: string, secret: string, text: string): Promise<SessionId> => {
    const message = { conversation: "deploys", text };
    const request = { address, name, secret, id: `${name}-1`, message, at: Date.now() };
    const response = await postSigned(request);
    return ((await response.json()) as { sessionId: SessionId }).sessionId;
  };
  const webhookHeard = await post("home", homeSecret, "The door is open {words:5}");
  await follow(webhookHeard, hasEnded);
  const webhookOwed = await post("ci", ciSecret, "The build has failed {words:5}");
  await receiver.until(1);
  const [sent] = receiver.taken;
  const unanswered = { id: String(sent!.headers["webhook-id"]), body: sent!.body };
  return {
    sessions: { webhookOwed, webhookHeard },
    webhooks: { homeSecret, ciSecret, unanswered },
  };
}
