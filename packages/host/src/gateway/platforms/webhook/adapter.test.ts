import { describe, expect, onTestFinished, test } from "vitest";

import { adapterCases, type AdapterRig } from "../../../../test/support/gateway/adapter-cases.ts";
import {
  adapterFor,
  testWebhook,
  webhookTestSecret,
} from "../../../../test/support/gateway/webhook-rig.ts";
import {
  type ReceiverAnswer,
  isSigned,
  openWebhookReceiver,
} from "@holdfast/testing/host/webhook-receiver";
import { webhookChat } from "./webhook.ts";

const faults = {
  "rate limit": 429,
  outage: 502,
  refusal: 410,
  "cut before": "drop",
  "cut after": "cut",
} as const satisfies Record<string, ReceiverAnswer>;

interface Shown {
  readonly id: string;
  readonly text?: string;
  readonly answers?: readonly { readonly label: string; readonly answer: string }[];
  readonly file?: { readonly name: string; readonly base64: string };
}

/** A receiver that drops repeats, and a program that posts messages. */
async function openRig(): Promise<AdapterRig> {
  const answers: ReceiverAnswer[] = [];
  const receiver = await openWebhookReceiver(answers);
  onTestFinished(() => receiver.close());
  const { adapter } = adapterFor([testWebhook(receiver.url)]);
  const pushed: unknown[] = [];
  const push = async (message: Readonly<Record<string, unknown>>): Promise<string> => {
    const id = `msg-${pushed.length + 1}`;
    pushed.push({ hook: "ci", id, message: { conversation: "deploys", ...message } });
    return id;
  };
  const shown = (): readonly Shown[] => {
    const accepted = receiver.taken.filter(({ answer }) => answer === 204 || answer === "cut");
    const byId = new Map(accepted.map(({ message }) => [message["id"], message]));
    return [...byId.values()] as unknown as readonly Shown[];
  };
  return {
    // Webhooks are never polled: what was pushed goes through the same decoding.
    adapter: {
      ...adapter,
      receive: async (cursor) => ({
        status: "received",
        incoming: pushed.slice(cursor).flatMap((item) => adapter.decodePush(item) ?? []),
        next: pushed.length,
      }),
    },
    place: { chat: webhookChat("ci", "deploys"), thread: null, kind: "group" },
    person: "ci",
    say: (text) => push({ text }),
    async sayWithFile(text, name, bytes) {
      const base64 = Buffer.from(bytes).toString("base64");
      await push({ text, attachments: [{ name, mediaType: "application/zip", base64 }] });
    },
    async press(label) {
      const choices = shown().flatMap(({ answers: offered = [] }) => offered);
      await push({ answer: choices.find((choice) => choice.label === label)?.answer });
    },
    shown: () =>
      shown().map(({ id, text = "", answers: offered = [], file }) => ({
        id,
        // The text is Markdown for the receiver to render.
        text: text.replaceAll("**", ""),
        buttons: offered.map(({ label }) => label),
        file: file ? { name: file.name, bytes: Buffer.from(file.base64, "base64") } : null,
      })),
    // A program shows what it is posted as it likes; the header says that links are not to be previewed.
    previewed: () =>
      receiver.taken.flatMap(({ headers, body }) =>
        headers["holdfast-link-previews"] === "off" ? [] : (body.match(/https?:\/\/\S+/g) ?? []),
      ),
    meet: (fault) => void answers.push(faults[fault]),
  };
}

describe("the webhook adapter conforms to the platform contract", () => {
  test.each(adapterCases)("$title", async ({ run }) => {
    await expect(run(await openRig())).resolves.toBeUndefined();
  });
});

const address = { chat: webhookChat("ci", "deploys"), thread: null, kind: "group" } as const;
const meta = { id: "dlv_1_0", replyTo: "msg-1" };
const timeout = () => AbortSignal.timeout(10_000);

test("a post is signed with every valid secret and names its conversation", async () => {
  const receiver = await openWebhookReceiver();
  onTestFinished(() => receiver.close());
  const secrets = ["the-newer-one-of-the-two-secrets", webhookTestSecret];
  const { adapter } = adapterFor([testWebhook(receiver.url, { secrets })]);
  await adapter.send(address, { text: "Done." }, meta, timeout());
  const [taken] = receiver.taken;
  expect(secrets.map((secret) => isSigned(taken!, secret))).toEqual([true, true]);
  expect(taken?.headers["webhook-id"]).toBe("dlv_1_0");
  expect(taken?.message).toEqual({
    id: "dlv_1_0",
    conversation: "deploys",
    replyTo: "msg-1",
    type: "message",
    text: "Done.",
  });
});

test("[safety] a private address is posted to only if that webhook allows it", async () => {
  const receiver = await openWebhookReceiver();
  onTestFinished(() => receiver.close());
  const { adapter } = adapterFor([testWebhook(receiver.url, { network: "public" })]);
  const sent = await adapter.send(address, { text: "Done." }, meta, timeout());
  expect(sent).toMatchObject({ status: "later", code: "egress_address" });
  expect(receiver.taken).toEqual([]);
});

test("a webhook without an address wants no answers, and a removed one is refused", async () => {
  const { adapter } = adapterFor([testWebhook(null)]);
  const sent = await adapter.send(address, { text: "Done." }, meta, timeout());
  expect(sent).toEqual({ status: "unwanted", code: "no_address" });
  const other = { ...address, chat: webhookChat("gone", "deploys") };
  expect(await adapter.send(other, { text: "Done." }, meta, timeout())).toMatchObject({
    status: "refused",
    code: "webhook_not_found",
  });
});

test.each([
  ["7", 7_000],
  ["Tue, 01 Jan 2030 00:00:00 GMT", 3_600_000],
  ["soon", 0],
])("a Retry-After of %s is honoured within bounds", async (retryAfter, afterMs) => {
  const receiver = await openWebhookReceiver([503], { "retry-after": retryAfter });
  onTestFinished(() => receiver.close());
  const { adapter } = adapterFor([testWebhook(receiver.url)]);
  const sent = await adapter.send(address, { text: "Done." }, meta, timeout());
  expect(sent).toMatchObject({ status: "later", afterMs, code: "http_503" });
});
