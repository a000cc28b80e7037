import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { runHere, serveHere } from "../../../test/support/command-rig.ts";

function makeHome(): string {
  const home = mkdtempSync(join(tmpdir(), "holdfast-cli-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

test("sessions are listed, found, renamed, branched, deleted and restored by their titles", async () => {
  const { settings, close } = await serveHere(makeHome());
  onTestFinished(close);
  const runSessions = (...args: string[]) => runHere(["sessions", ...args], settings);
  expect(await runHere(["run", "tomatoes {words:3}"], settings)).toMatchObject({
    code: 0,
    said: "A holdfast is.\n",
  });
  expect((await runSessions("list")).said).toMatch(/^ses_\w{26}\t\S+\ttomatoes/);
  expect((await runSessions("rename", "tomatoes", "Garden", "plans")).said).toMatch(
    /^Renamed: Garden plans/,
  );
  expect((await runSessions("show", "garden")).said).toMatch(/› tomatoes[\s\S]+A holdfast is\./);
  expect((await runSessions("search", "tomatoes")).said).toMatch(/Garden plans\n +tomatoes/);
  expect((await runSessions("branch", "garden", "Kitchen")).said).toMatch(/^Branched: Kitchen/);
  expect((await runSessions("delete", "kitchen")).said).toMatch(/^In the trash: Kitchen/);
  expect(await runSessions("show", "kitchen")).toMatchObject({
    code: 1,
    told: 'No session matches "kitchen". holdfast sessions list shows them.\n',
  });
  expect((await runSessions("list", "--trash")).said).toMatch(/\tKitchen\n$/);
  expect((await runSessions("restore", "kitchen")).said).toMatch(/^Restored: Kitchen/);
  expect((await runSessions("list", "--json")).said.trim().split("\n")).toHaveLength(2);
  const chatOutput = await runHere(["chat"], settings, "/sessions zebra\n");
  expect(chatOutput.said + chatOutput.told).toContain("No session holds “zebra”.");
  expect(await runSessions("swim")).toMatchObject({ code: 2 });
  expect(await runSessions("delete")).toMatchObject({ code: 1, said: "" });
});

test("a session is deleted for good only from the trash, and only with --yes", async () => {
  const { settings, close } = await serveHere(makeHome());
  onTestFinished(close);
  const runSessions = (...args: string[]) => runHere(["sessions", ...args], settings);
  await runHere(["run", "tomatoes {words:3}"], settings);
  await runHere(["run", "cucumbers {words:3}"], settings);
  expect(await runSessions("purge", "tomatoes", "--yes")).toMatchObject({ code: 1, said: "" });
  await runSessions("delete", "tomatoes");
  await runSessions("delete", "cucumbers");
  expect(await runSessions("purge", "tomatoes")).toMatchObject({ code: 2, said: "" });
  expect((await runSessions("purge", "tomatoes", "--yes")).said).toMatch(
    /^Deleted for good: tomatoes/,
  );
  expect(await runSessions("empty-trash")).toMatchObject({ code: 2, said: "" });
  expect((await runSessions("list", "--trash")).said).toMatch(/\tcucumbers/);
  expect(await runSessions("empty-trash", "--yes")).toMatchObject({
    code: 0,
    said: "Deleted for good: 1 session.\n",
  });
  expect((await runSessions("list", "--trash")).said).toBe("");
});

test("the token of this home is not sent to another machine", async () => {
  const settings = { HOLDFAST_HOME: makeHome() };
  const remoteFlags = ["--url", "https://host.invalid"];
  expect(await runHere(["sessions", "list", ...remoteFlags], settings)).toEqual({
    code: 1,
    said: "",
    told: "The host at https://host.invalid needs its token. Set HOLDFAST_TOKEN, or give --token.\n",
  });
});
