import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { runHere, serveHere } from "../../../test/support/command-rig.ts";

test("a schedule can be added, listed, switched off and on, and removed", async () => {
  const home = mkdtempSync(join(tmpdir(), "holdfast-cli-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const { settings, close } = await serveHere(home);
  onTestFinished(close);
  const runSchedules = (...args: string[]) => runHere(["schedules", ...args], settings);
  await runHere(["run", "garden {words:3}"], settings);

  expect(await runSchedules()).toMatchObject({ code: 0, said: "" });
  const targetFlags = ["--session", "garden", "--zone", "Europe/Berlin"];
  const added = await runSchedules(
    "add",
    "Water the tomatoes",
    "--at",
    "08:00",
    "--days",
    "mon,fri",
    ...targetFlags,
  );
  expect(added).toMatchObject({ code: 0, told: "" });
  expect(added.said).toMatch(
    /^sch_\w+\tWater the tomatoes: mon fri 08:00 \(Europe\/Berlin\), next 20\S+Z\n$/,
  );
  expect((await runSchedules("list")).said).toBe(added.said);
  expect((await runSchedules("off", "tomatoes")).said).toMatch(/\(Europe\/Berlin\), off\n$/);
  expect((await runSchedules("on", "tomatoes")).said).toBe(added.said);
  const inThePast = await runSchedules(
    "add",
    "Too late",
    "--at",
    "08:00",
    "--date",
    "2020-01-01",
    ...targetFlags,
  );
  expect(inThePast.said).toBe("");
  expect(inThePast.told).toContain("this time has passed");
  expect((await runSchedules("list")).said).toBe(added.said);
  expect((await runSchedules("remove", "tomatoes")).said).toBe(
    "Removed: Water the tomatoes. Its answers stay.\n",
  );
  expect((await runSchedules("list")).said).toBe("");
});

test("a schedule without a target gets a session of its own, and none if it is refused", async () => {
  const home = mkdtempSync(join(tmpdir(), "holdfast-cli-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const { settings, close } = await serveHere(home);
  onTestFinished(close);
  const runSchedules = (...args: string[]) => runHere(["schedules", ...args], settings);
  const sessions = async () => (await runHere(["sessions", "--json"], settings)).said.trim();
  const invalidFlags = [
    ["--at", "8am"],
    ["--at", "08:00", "--date", "2020-01-01"],
  ];
  for (const flags of invalidFlags)
    expect((await runSchedules("add", "Hello", ...flags)).code).not.toBe(0);
  expect(await sessions()).toBe("");
  const added = await runSchedules("add", "Water the tomatoes", "--at", "08:00");
  expect(added.code).toBe(0);
  expect(added.said).toContain("Water the tomatoes");
  const [, shortSessionId = ""] = /own: holdfast chat --session (\w{6})\n$/.exec(added.told) ?? [];
  const session = JSON.parse(await sessions()) as { id: string; title: string };
  expect([session.id.slice(-6), session.title]).toEqual([shortSessionId, "Water the tomatoes"]);
  const listed = JSON.parse((await runSchedules("--json")).said) as { target: unknown };
  expect(listed.target).toEqual({ sessionId: session.id });
});

test("a missing or invalid field is reported before anything is stored", async () => {
  const home = mkdtempSync(join(tmpdir(), "holdfast-cli-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const { settings, close } = await serveHere(home);
  onTestFinished(close);
  const errorOf = async (...args: string[]) =>
    (await runHere(["schedules", ...args], settings)).told.trim();
  expect(await errorOf("swim")).toContain('There is no "holdfast schedules swim"');
  expect(await errorOf("add")).toContain("needs a prompt");
  expect(await errorOf("add", "Hello")).toContain("--at 08:00");
  const lane = ["--lane", "telegram:1:p7:0"];
  expect(await errorOf("add", "Hello", "--at", "8am", ...lane)).toContain("a time like 08:00");
  expect(await errorOf("add", "Hello", "--at", "08:00", "--zone", "Mars", ...lane)).toContain(
    "a time zone like Europe/Berlin",
  );
  expect(await errorOf("off", "nothing")).toContain('No schedule matches "nothing"');
  expect((await runHere(["schedules", "--json"], settings)).said).toBe("");
});
