import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { expect, onTestFinished, test, vi } from "vitest";

import { readConfig } from "./ops/config/read-config.ts";
import { done } from "./util/outcome.ts";
import { openApp } from "./app.ts";
import { reportOnly } from "./ops/telemetry/logger.ts";

const bot = { HOLDFAST_TELEGRAM_TOKEN: "123456:a-token-of-a-bot-that-nobody-has" };

test.each([
  [
    "a bot's webhook",
    { ...bot, HOLDFAST_TELEGRAM_WEBHOOK: "https://holdfast.example.org" },
    /^A webhook without a secret would take anything from anybody: set HOLDFAST_TELEGRAM_WEBHOOK_SECRET/,
  ],
  [
    "a program's webhook",
    { HOLDFAST_WEBHOOKS: '{"ci":{"url":"https://ci.example.org"}}' },
    /^The webhook ci has no secret, and would take anything from anybody/,
  ],
  [
    "a program's webhook whose variable is not set",
    { HOLDFAST_WEBHOOKS: '{"ci":{"secret":{"env":"NOBODY_HAS_SET_THIS"}}}' },
    /^The secret of the webhook ci is to stand in NOBODY_HAS_SET_THIS/,
  ],
  [
    // As a page shows it. Decoded, nothing is left of it, and anybody could sign with that.
    "a program's webhook whose variable holds a masked one",
    { HOLDFAST_WEBHOOKS: '{"ci":{"secret":{"env":"MASKED_SECRET"}}}' },
    /^The secret of the webhook ci is to stand in MASKED_SECRET/,
  ],
  [
    "a webhook that is told",
    { HOLDFAST_NOTIFY_URL: "https://hooks.example.org" },
    /^A webhook that is told without a signature would believe anybody: set HOLDFAST_NOTIFY_SECRET/,
  ],
])(
  "[safety] %s without a secret keeps the host from starting",
  async (_, environment, sentence) => {
    const home = mkdtempSync(join(tmpdir(), "holdfast-no-secret-"));
    onTestFinished(() => rmSync(home, { recursive: true, force: true }));
    vi.stubEnv("MASKED_SECRET", `whsec_${"*".repeat(40)}`);
    onTestFinished(() => void vi.unstubAllEnvs());
    const config = readConfig({ flags: { home }, environment, personFolder: home });
    if (!config.ok) throw new Error(config.failure.message);
    const opened = await openApp(
      config.value,
      reportOnly((bug) => {
        throw bug;
      }),
    );
    expect(opened).toMatchObject({ ok: false, failure: { code: "config.invalid" } });
    expect(opened.ok ? "" : opened.failure.message).toMatch(sentence);
    expect(existsSync(join(home, "running"))).toBe(false);
  },
);

test("a host that does not come to be lets go of the store that was opened meanwhile, and so ends", async () => {
  const home = mkdtempSync(join(tmpdir(), "holdfast-no-start-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const environment = { HOLDFAST_NOTIFY_URL: "https://hooks.example.org" };
  const config = readConfig({ flags: { home }, environment, personFolder: home });
  if (!config.ok) throw new Error(config.failure.message);
  const logger = reportOnly((bug) => {
    throw bug;
  });
  const store = createReferenceStore();
  const close = vi.spyOn(store, "close");
  const opening = Promise.resolve(done({ store, onWriteFailed: () => undefined }));
  const opened = await openApp(config.value, logger, undefined, opening);
  expect([opened.ok, close.mock.calls.length]).toEqual([false, 1]);
});

test("a stopping host ends its streams before it waits for its server", async () => {
  const home = mkdtempSync(join(tmpdir(), "holdfast-streams-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const config = readConfig({ flags: { home }, environment: {}, personFolder: home });
  if (!config.ok) throw new Error(config.failure.message);
  const logger = reportOnly((bug) => {
    throw bug;
  });
  const opened = await openApp(config.value, logger);
  if (!opened.ok) throw new Error(opened.failure.message);
  const { httpApp, token, stop } = opened.value;
  const answer = await httpApp.request("http://localhost/api/events", {
    headers: { authorization: `Bearer ${token}` },
  });
  expect(answer.status).toBe(200);
  const frames: string[] = [];
  await stop(async () => void frames.push(await answer.text()));
  expect(frames).toEqual([expect.stringContaining("retry:")]);
});
