import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";

import { requirePage } from "./page/require-page.ts";
import { startHost } from "@holdfast/testing/process/start-process";
import {
  followUntil,
  hasEnded,
  serveWithClient,
  textIn,
  valueOf,
  settingsFor,
} from "./served-host.ts";

beforeEach(requirePage);

test("a message to the web process is answered by the runner process on the same store", async () => {
  const web = await serveWithClient({ HOLDFAST_ROLES: "web" });
  const { client, home, address, token } = web;
  const health = (await (await fetch(`${address}health`)).json()) as { roles: string[] };
  expect(health.roles).toEqual(["web"]);
  const { session } = valueOf(await client.createSession({ body: {} }));
  const params = { id: session.id };
  const body = { clientId: "one", text: "{words:20} Hello" };
  valueOf(await client.sendMessage({ params, body }));
  // Nobody works here: the message waits, durably.
  const waiting = valueOf(await client.readSession({ params }));
  expect([waiting.run, waiting.inbox.length]).toEqual([null, 1]);

  const runner = startHost(["serve", "--roles", "runner"], {
    env: settingsFor({
      HOLDFAST_HOME: home,
      HOLDFAST_STORE: join(home, "holdfast.db"),
      HOLDFAST_LEASE_MS: "600000",
    }),
  });
  const line = await runner.line((text) => text.includes("http://"));
  const own = /(http:\S+)health$/.exec(line)?.[1] ?? "";
  const state = await followUntil(client, session.id, hasEnded);
  expect(state.run?.state).toBe("completed");
  const answer = state.entries.findLast((entry) => entry.type === "message");
  expect(answer?.type === "message" ? textIn(answer) : "").not.toBe("");

  // It sweeps for messages of others far more often than its lease requires.
  valueOf(await client.sendMessage({ params, body: { clientId: "two", text: "{words:3}" } }));
  await followUntil(client, session.id, (next) => hasEnded(next) && next.run?.id !== state.run?.id);

  // The runner only has endpoints for monitoring.
  const headers = { authorization: `Bearer ${token}` };
  expect((await fetch(`${own}health?ready`)).status).toBe(200);
  expect((await fetch(`${own}api/sessions`, { headers })).status).toBe(404);
  expect((await fetch(own)).status).toBe(404);

  runner.signal("SIGTERM");
  expect(await runner.exited).toEqual({ code: 0, signal: null });
});
