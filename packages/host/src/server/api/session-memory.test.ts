import { says } from "@holdfast/testing/fakes/scripted-model";
import { until } from "@holdfast/testing/rigs/run-rig";
import { expect, test } from "vitest";

import { openApi } from "../../../test/support/api-rig.ts";

test("a new session names its predecessor, whose memory is committed then and not before", async () => {
  const api = openApi(() => says("Noted."), { remembers: "everything" });
  const made = await api.ask("POST", "/api/sessions", {});
  const { session } = (await made.json()) as { session: { id: string } };
  await api.ask("POST", `/api/sessions/${session.id}/messages`, { clientId: "one", text: "Hello" });
  const backlog = () => api.store.reads.memory(api.owner);
  await until(async () => (await backlog()).turns === 1);
  expect(api.memory.batches).toEqual([]);
  const next = await api.ask("POST", "/api/sessions", { previousSessionId: session.id });
  expect(next.status).toBe(201);
  await until(async () => (await backlog()).turns === 0);
  expect(api.memory.batches).toMatchObject([{ session: session.id }]);
  expect([api.memory.spokenTexts, api.bugs]).toEqual([[["Hello"]], []]);
  await api.close();
});
