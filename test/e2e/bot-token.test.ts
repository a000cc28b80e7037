import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

import { botToken } from "@holdfast/testing/telegram/fake-bot-api";
import { serveWithClient, valueOf } from "./served-host.ts";
import { untilShown, serveBot, showsText, startFakeBotApi } from "./telegram-rig.ts";

test("a bot connected through the API answers at once and after a restart, and its token can't be read back", async () => {
  const platform = await startFakeBotApi();
  const settings = {
    HOLDFAST_TELEGRAM_API_ROOT: platform.address,
    HOLDFAST_TELEGRAM_ALLOW: "7",
    HOLDFAST_LEASE_MS: "3000",
  };
  const first = await serveWithClient(settings);
  const refused = await first.client.connectBot({ body: { token: `${botToken}x` } });
  expect(refused).toMatchObject({ ok: false, error: { code: "bot_refused" } });
  expect(valueOf(await first.client.connectBot({ body: { token: botToken } })).bot.name).not.toBe(
    "",
  );
  platform.say(7, "hello {echo}");
  await untilShown(platform, showsText("hello"));
  expect(statSync(join(first.home, "secrets.key")).mode & 0o777).toBe(0o600);
  const filesWithToken = () =>
    readdirSync(first.home, { recursive: true, withFileTypes: true }).filter(
      (file) =>
        file.isFile() &&
        readFileSync(join(file.parentPath, file.name), "latin1").includes(botToken),
    );
  expect(filesWithToken()).toEqual([]);
  expect(JSON.stringify(await first.client.readGateway())).not.toContain(botToken);
  first.host.signal("SIGTERM");
  await first.host.exited;

  const second = await serveWithClient({ ...settings, HOLDFAST_HOME: first.home });
  platform.say(7, "again {echo}");
  await untilShown(platform, showsText("again"));
  expect(await second.client.disconnectBot()).toMatchObject({ ok: true });
  expect(await second.client.disconnectBot()).toMatchObject({ error: { code: "bot_not_found" } });
  expect(valueOf(await second.client.readGateway()).state).toBe("off");
});

test("a configured bot can't be replaced, and an unreachable platform is told apart from a wrong token", async () => {
  const platform = await startFakeBotApi();
  const configured = await serveBot(platform);
  for (const ask of [
    () => configured.client.connectBot({ body: { token: botToken } }),
    () => configured.client.disconnectBot(),
  ])
    expect(await ask()).toMatchObject({ ok: false, error: { code: "bot_configured" } });

  const alone = await serveWithClient({ HOLDFAST_TELEGRAM_API_ROOT: "http://127.0.0.1:9" });
  const unreachable = await alone.client.connectBot({ body: { token: botToken } });
  expect(unreachable).toMatchObject({ ok: false, error: { code: "bot_unreachable" } });
});
