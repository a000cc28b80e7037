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

const troubles = {
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

/** A receiver that drops what it has had, and a program that says things. */
async function openBed(): Promise<AdapterRig> {
  const answers: ReceiverAnswer[] = [];
  const receiver = await openWebhookReceiver(answers);
  onTestFinished(() => receiver.close());
  const { adapter } = adapterFor([testWebhook(receiver.url)]);
  const said: unknown[] = [];
  const push = async (message: Readonly<Record<string, unknown>>): Promise<string> => {
    const id = `msg-${said.length + 1}`;
    said.push({ hook: "ci", id, message: { conversation: "deploys", ...message } });
    return id;
  };
  const shown = (): readonly Shown[] => {
    const taken = receiver.taken.filter(({ answer }) => answer === 204 || answer === "cut");
    const byId = new Map(taken.map(({ message }) => [message["id"], message]));
    return [...byId.values()] as unknown as readonly Shown[];
  };
  return {
    // Nothing is asked for here: what was pushed comes in by the same decoding.
    adapter: {
      ...adapter,
      receive: async (cursor) => ({
        status: "received",
        incoming: said.slice(cursor).flatMap((each) => adapter.decodePush(each) ?? []),
        next: said.length,
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
      const asked = shown().flatMap(({ answers: offered = [] }) => offered);
      await push({ answer: asked.find((each) => each.label === label)?.answer });
    },
    shown: () =>
      shown().map(({ id, text = "", answers: offered = [], file }) => ({
        id,
        // It is Markdown, for whoever shows it.
        text: text.replaceAll("**", ""),
        buttons: offered.map(({ label }) => label),
        file: file ? { name: file.name, bytes: Buffer.from(file.base64, "base64") } : null,
      })),
    meet: (trouble) => void answers.push(troubles[trouble]),
  };
}

describe("a webhook does what every platform's adapter does", () => {
  test.each(adapterCases)("$title", async ({ run }) => {
    await expect(run(await openBed())).resolves.toBeUndefined();
  });
});

const place = { chat: webhookChat("ci", "deploys"), thread: null, kind: "group" } as const;
const parcel = { id: "dlv_1_0", replyTo: "msg-1" };
const soon = () => AbortSignal.timeout(10_000);

test("what goes out is signed with every secret that counts, and says where it belongs", async () => {
  const receiver = await openWebhookReceiver();
  onTestFinished(() => receiver.close());
  const secrets = ["the-newer-one-of-the-two-secrets", webhookTestSecret];
  const { adapter } = adapterFor([testWebhook(receiver.url, { secrets })]);
  await adapter.send(place, { text: "Done." }, parcel, soon());
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

test("[safety] what is not on the public internet is posted to only where that is said of the very hook", async () => {
  const receiver = await openWebhookReceiver();
  onTestFinished(() => receiver.close());
  const { adapter } = adapterFor([testWebhook(receiver.url, { network: "public" })]);
  const sent = await adapter.send(place, { text: "Done." }, parcel, soon());
  expect(sent).toMatchObject({ status: "later", code: "egress_address" });
  expect(receiver.taken).toEqual([]);
});

test("a hook without an address wants no answers, and one that is gone is told as gone", async () => {
  const { adapter } = adapterFor([testWebhook(null)]);
  const sent = await adapter.send(place, { text: "Done." }, parcel, soon());
  expect(sent).toEqual({ status: "unwanted", code: "no_address" });
  const other = { ...place, chat: webhookChat("gone", "deploys") };
  expect(await adapter.send(other, { text: "Done." }, parcel, soon())).toMatchObject({
    status: "refused",
    code: "webhook_not_found",
  });
});

test.each([
  ["7", 7_000],
  ["Tue, 01 Jan 2030 00:00:00 GMT", 3_600_000],
  ["soon", 0],
])("a receiver that wants %s to pass is given so long, within bounds", async (asked, pause) => {
  const receiver = await openWebhookReceiver([503], { "retry-after": asked });
  onTestFinished(() => receiver.close());
  const { adapter } = adapterFor([testWebhook(receiver.url)]);
  const sent = await adapter.send(place, { text: "Done." }, parcel, soon());
  expect(sent).toMatchObject({ status: "later", afterMs: pause, code: "http_503" });
});
