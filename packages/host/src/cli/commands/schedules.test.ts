import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { runHere, serveHere } from "../../../test/support/command-rig.ts";

test("a prompt is scheduled, listed, switched off and on, and removed from the terminal", async () => {
  const home = mkdtempSync(join(tmpdir(), "holdfast-cli-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const { settings, close } = await serveHere(home);
  onTestFinished(close);
  const on = (...args: string[]) => runHere(["schedules", ...args], settings);
  await runHere(["run", "garden {words:3}"], settings);

  expect(await on()).toMatchObject({ code: 0, said: "" });
  const where = ["--session", "garden", "--zone", "Europe/Berlin"];
  const added = await on(
    "add",
    "Water the tomatoes",
    "--at",
    "08:00",
    "--days",
    "mon,fri",
    ...where,
  );
  expect(added).toMatchObject({ code: 0, told: "" });
  expect(added.said).toMatch(
    /^sch_\w+\tWater the tomatoes: mon fri 08:00 \(Europe\/Berlin\), next 20\S+Z\n$/,
  );
  expect((await on("list")).said).toBe(added.said);
  expect((await on("off", "tomatoes")).said).toMatch(/\(Europe\/Berlin\), off\n$/);
  expect((await on("on", "tomatoes")).said).toBe(added.said);
  const past = await on("add", "Too late", "--at", "08:00", "--date", "2020-01-01", ...where);
  expect(past.said).toBe("");
  expect(past.told).toContain("this time has passed");
  expect((await on("list")).said).toBe(added.said);
  expect((await on("remove", "tomatoes")).said).toBe(
    "Removed: Water the tomatoes. What it has said stays.\n",
  );
  expect((await on("list")).said).toBe("");
});

test("a schedule that names no place gets a conversation of its own and says so, and none where it is refused", async () => {
  const home = mkdtempSync(join(tmpdir(), "holdfast-cli-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const { settings, close } = await serveHere(home);
  onTestFinished(close);
  const on = (...args: string[]) => runHere(["schedules", ...args], settings);
  const sessions = async () => (await runHere(["sessions", "--json"], settings)).said.trim();
  const wrong = [
    ["--at", "8am"],
    ["--at", "08:00", "--date", "2020-01-01"],
  ];
  for (const flags of wrong) expect((await on("add", "Hello", ...flags)).code).not.toBe(0);
  expect(await sessions()).toBe("");
  const added = await on("add", "Water the tomatoes", "--at", "08:00");
  expect(added.code).toBe(0);
  expect(added.said).toContain("Water the tomatoes");
  const [, end = ""] = /own: holdfast chat --session (\w{6})\n$/.exec(added.told) ?? [];
  const session = JSON.parse(await sessions()) as { id: string; title: string };
  expect([session.id.slice(-6), session.title]).toEqual([end, "Water the tomatoes"]);
  const listed = JSON.parse((await on("--json")).said) as { target: unknown };
  expect(listed.target).toEqual({ sessionId: session.id });
});

test("what is missing or wrong in a schedule is said before anything is kept", async () => {
  const home = mkdtempSync(join(tmpdir(), "holdfast-cli-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const { settings, close } = await serveHere(home);
  onTestFinished(close);
  const told = async (...args: string[]) =>
    (await runHere(["schedules", ...args], settings)).told.trim();
  expect(await told("swim")).toContain('"schedules swim" is not known');
  expect(await told("add")).toContain("needs a prompt");
  expect(await told("add", "Hello")).toContain("--at 08:00");
  const lane = ["--lane", "telegram:1:p7:0"];
  expect(await told("add", "Hello", "--at", "8am", ...lane)).toContain("a time like 08:00");
  expect(await told("add", "Hello", "--at", "08:00", "--zone", "Mars", ...lane)).toContain(
    "a time zone like Europe/Berlin",
  );
  expect(await told("off", "nothing")).toContain('No schedule fits "nothing"');
  expect((await runHere(["schedules", "--json"], settings)).said).toBe("");
});
