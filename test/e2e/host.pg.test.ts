import { isSigned, openWebhookReceiver } from "@holdfast/testing/host/webhook-receiver";
import { openMcpHttpServer } from "@holdfast/testing/host/mcp-http-server";
import { runHere, serveHere } from "../../packages/host/test/support/command-rig.ts";
import { expect, onTestFinished, test } from "vitest";
import { createDatabase } from "@holdfast/testing/postgres/create-database";
import { makeFolder } from "./served-host.ts";

const secret = "known-to-both-of-us";

test("a host on PostgreSQL passes doctor, calls MCP tools, notifies its webhook, and passes fsck", async () => {
  await using database = await createDatabase();
  const [web, receiver] = [await openMcpHttpServer(), await openWebhookReceiver()];
  onTestFinished(() => web.close());
  onTestFinished(receiver.close);
  const home = makeFolder();
  const store = { HOLDFAST_STORE: database.url };
  const { settings, close } = await serveHere(home, {
    ...store,
    HOLDFAST_MCP: JSON.stringify({ web: { url: web.url } }),
    HOLDFAST_TOOL_POLICY: "trusted",
    HOLDFAST_NOTIFY_URL: receiver.url,
    HOLDFAST_NOTIFY_SECRET: secret,
  });
  try {
    const doctor = await runHere(["doctor", "--json"], {
      ...settings,
      ...store,
      HOLDFAST_PORT: "0",
    });
    const found = JSON.parse(doctor.said) as { what: string; state: string }[];
    expect([doctor.code, found.filter(({ state }) => state === "bad")]).toEqual([0, []]);
    const good = found.filter(({ state }) => state === "good").map(({ what }) => what);
    expect(good).toEqual(expect.arrayContaining(["PostgreSQL", "Store", "Clock", "MCP web"]));

    const called = await runHere(["run", "{tool:web__answer {}}"], settings);
    expect(called.code).toBe(0);
    expect(called.told).toContain("⚙ web__answer\n  ok\n");
    expect(web.calls).toEqual(["answer"]);

    expect(await runHere(["run", "{fail:401} Hello"], settings)).toMatchObject({ code: 1 });
    await receiver.until(1);
    expect(receiver.taken[0]?.message).toMatchObject({ type: "run_failed" });
    expect(receiver.taken.map((hook) => isSigned(hook, secret))).toEqual([true]);

    const fsck = await runHere(["fsck"], { HOLDFAST_HOME: home, ...store });
    expect(fsck.code).toBe(0);
    expect(fsck.said).toMatch(/^2 sessions, .*clean/);
  } finally {
    await close();
  }
});
