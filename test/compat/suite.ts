import { readdirSync } from "node:fs";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import type { OnCleanup } from "@holdfast/testing/process/start-process";
import { followUntil, serveWithClient, textIn, valueOf } from "../e2e/served-host.ts";
import type { Backend } from "./archive.ts";
import { testGateway } from "./gateway-tests.ts";
import { endsOf, type OpenedHome, openHome, resultsIn } from "./open-home.ts";
import { restoreHome } from "./restore.ts";
import { testSessions } from "./session-tests.ts";
import { liveText, type SpillSnapshot } from "./snapshot.ts";

const minuteMs = 60_000;
const tenMinutesMs = 10 * minuteMs;
const sixtyDaysMs = 60 * 24 * 60 * minuteMs;

/** Opens the fixtures of a backend with today's host. */
export function testOldHomes(backend: Backend): void {
  const ends: Parameters<OnCleanup>[0][] = [];
  const onCleanup: OnCleanup = (end) => void ends.push(end);
  const open = () =>
    Promise.all([
      openHome({ backend, laterMs: tenMinutesMs, onCleanup }),
      openHome({ backend, laterMs: sixtyDaysMs, onCleanup }),
      openSpill(backend, onCleanup),
    ]);
  let homes: Awaited<ReturnType<typeof open>>;

  // All at once: they mostly wait for leases and streams.
  beforeAll(async () => {
    homes = await open();
  });
  afterAll(async () => {
    for (const end of ends.toReversed()) await end();
  });

  const opened = (): OpenedHome => homes[0];
  testSessions(opened);
  testGateway(opened);

  test("[P14] doctor finds nothing bad, the host stops without a word, and fsck is clean", async () => {
    const { command, host } = opened();
    const doctor = await command("doctor", "--json");
    const findings = JSON.parse(doctor.output) as { what: string; state: string }[];
    expect([doctor.code, findings.filter(({ state }) => state === "bad")]).toEqual([0, []]);
    host.signal("SIGTERM");
    expect(await host.exited).toEqual({ code: 0, signal: null });
    expect(host.stderr()).toBe("");
    const fsck = await command("fsck");
    expect([fsck.code, fsck.output]).toEqual([0, expect.stringMatching(/: clean\.\n$/)]);
  });

  test("after sixty days runs still end once, approvals and sign-ins have expired, and no stale answer is sent", async () => {
    const { client, ended, log, telegram, snapshot, command } = homes[1];
    for (const name of ["approval", "question", "chatQuestion"] as const) {
      const { entries } = await ended(name);
      const output = expect.stringContaining("Nobody answered") as string;
      expect(resultsIn(entries)).toMatchObject([{ outcome: "cancelled", output }]);
      expect(endsOf(await log(name), snapshot.sessions[name].run!.id)).toEqual(["completed"]);
    }
    // A run may take an hour by the store's clock.
    await ended("live");
    expect(endsOf(await log("live"), snapshot.sessions.live.run!.id)).toEqual(["limit"]);
    const pending = async () =>
      valueOf(await client.readGateway()).outbox.filter(({ state }) => state === "pending");
    await expect.poll(pending).toEqual([]);
    expect(telegram.shownIn(7)).toEqual([]);
    expect(valueOf(await client.listSignIns()).signIns).toEqual([]);
    expect((await command("fsck")).code).toBe(0);
  });

  test("[P5] output in a spill file is added to what was shown, and the file is removed", async () => {
    const { snapshot, client, spills } = homes[2];
    const { session, run } = snapshot.session;
    const state = await followUntil(
      client,
      session.id,
      (reached) => reached.run !== null && reached.run.endedAt !== null,
    );
    expect(state.run).toMatchObject({ id: run?.id, state: "interrupted" });
    const text = state.entries
      .map((entry) => (entry.type === "message" && entry.role !== "user" ? textIn(entry) : ""))
      .join("");
    const shown = liveText(snapshot.session);
    expect(text.slice(0, shown.length)).toBe(shown);
    expect(text.length).toBeGreaterThan(shown.length + 100);
    const notices = state.entries.flatMap((entry) => (entry.type === "notice" ? [entry.kind] : []));
    expect(notices).toEqual(["recovered"]);
    await expect.poll(spills).toEqual([]);
  });
}

async function openSpill(backend: Backend, onCleanup: OnCleanup) {
  const options = { kind: "spill", backend, laterMs: tenMinutesMs, onCleanup } as const;
  const restored = await restoreHome<SpillSnapshot>(options);
  const spills = (): readonly string[] =>
    readdirSync(join(restored.home, "spill")).filter((name) => name.endsWith(".spill"));
  if (spills().length !== 1) throw new Error("The fixture has no spill.");
  // The run ends with what the file holds, instead of asking the model again.
  const { client } = await serveWithClient(
    { ...restored.settings, HOLDFAST_RESUME: "off" },
    onCleanup,
  );
  return { ...restored, client, spills };
}
