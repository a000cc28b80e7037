import { createHmac } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { runHere, serveHere } from "../../../test/support/command-rig.ts";

// Loaded up front, so that the test does not wait for it.
beforeAll(() => Promise.all([import("../../gateway/index.ts"), import("./gateway.ts")]));

async function serve() {
  const home = mkdtempSync(join(tmpdir(), "holdfast-cli-gateway-"));
  const served = await serveHere(home);
  onTestFinished(async () => {
    await served.close();
    rmSync(home, { recursive: true, force: true });
  });
  return served.settings;
}

test("a webhook is shown with its full address, and with why its answers don't arrive", async () => {
  const settings = await serve();
  const created = await runHere(["gateway", "webhook", "ci", "http://127.0.0.1:9/"], settings);
  const [, address = ""] = /^address: (.*)$/m.exec(created.said) ?? [];
  expect(address).toBe(`${settings.HOLDFAST_URL}/api/gateway/webhook/ci`);
  const again = await runHere(["gateway", "webhook", "ci"], settings);
  expect(again.said).toContain("secret: unchanged; holdfast gateway rotate ci makes a new one");

  const [, secret = ""] = /whsec_(\S+)/.exec(created.said) ?? [];
  const at = String(Math.floor(Date.now() / 1000));
  const body = JSON.stringify({ text: "Hello {words:3}" });
  const signed = createHmac("sha256", Buffer.from(secret, "base64")).update(`one.${at}.${body}`);
  const headers = {
    "webhook-id": "one",
    "webhook-timestamp": at,
    "webhook-signature": `v1,${signed.digest("base64")}`,
  };
  expect((await fetch(address, { method: "POST", body, headers })).status).toBe(202);

  await vi.waitFor(
    async () =>
      expect((await runHere(["gateway"], settings)).said).toMatch(
        /^pending: webhook:ci:main 127\.0\.0\.1 is not on the public internet\./m,
      ),
    { timeout: 30_000, interval: 100 },
  );
});
