import { describe, expect, onTestFinished, test } from "vitest";

import { botToken, FakeBotApi } from "@holdfast/testing/telegram/fake-bot-api";
import { type AdapterRig, adapterCases } from "../../../../test/support/gateway/adapter-cases.ts";
import { createTelegramAdapter } from "./adapter.ts";

const person = 7;
const faults = {
  "rate limit": { kind: "limited", seconds: 3 },
  outage: { kind: "html", code: 502 },
  refusal: { kind: "error", code: 403, description: "Forbidden: bot was blocked by the user" },
  "cut before": { kind: "cut", when: "before" },
  "cut after": { kind: "cut", when: "after" },
} as const;

async function openRig(): Promise<AdapterRig> {
  const platform = new FakeBotApi();
  await platform.start();
  onTestFinished(() => platform.stop());
  const apiRoot = platform.address;
  return {
    adapter: await createTelegramAdapter({ token: botToken, apiRoot, pollSeconds: 1 }),
    place: { chat: String(person), thread: null, kind: "private" },
    person: String(person),
    say: async (text) => String(platform.say(person, text)),
    async sayWithFile(caption, file_name, bytes) {
      platform.files.set("file-1", Buffer.from(bytes));
      const document = { file_id: "file-1", file_name, file_size: bytes.length };
      platform.say(person, "", { text: undefined, caption, document });
    },
    async press(label) {
      const message = platform.shownIn(person).find(({ buttons }) => buttons.length > 0);
      if (message !== undefined) platform.press(person, message, label);
    },
    shown: () =>
      platform.shownIn(person).map(({ id, text, buttons, file }) => ({
        id: String(id),
        text,
        buttons: buttons.map((button) => button.text),
        file,
      })),
    previewed: () => platform.previewed,
    meet: (fault) => platform.faults.add("sendMessage", faults[fault]),
  };
}

describe("the Telegram adapter conforms to the platform contract", () => {
  test.each(adapterCases)("$title", async ({ run }) => {
    await expect(run(await openRig())).resolves.toBeUndefined();
  });
});
