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

test("sessions are listed, found, renamed, branched, deleted and brought back by what people call them", async () => {
  const { settings, close } = await serveHere(makeHome());
  onTestFinished(close);
  const on = (...args: string[]) => runHere(["sessions", ...args], settings);
  expect(await runHere(["run", "tomatoes {words:3}"], settings)).toMatchObject({
    code: 0,
    said: "A holdfast is.\n",
  });
  expect((await on("list")).said).toMatch(/^ses_\w{26}\t\S+\ttomatoes/);
  expect((await on("rename", "tomatoes", "Garden", "plans")).said).toMatch(
    /^Renamed: Garden plans/,
  );
  expect((await on("show", "garden")).said).toMatch(/› tomatoes[\s\S]+A holdfast is\./);
  expect((await on("search", "tomatoes")).said).toMatch(/Garden plans\n +tomatoes/);
  expect((await on("branch", "garden", "Kitchen")).said).toMatch(/^Branched: Kitchen/);
  expect((await on("delete", "kitchen")).said).toMatch(/^In the trash: Kitchen/);
  expect(await on("show", "kitchen")).toMatchObject({
    code: 1,
    told: 'No session fits "kitchen".\n',
  });
  expect((await on("list", "--trash")).said).toMatch(/\tKitchen\n$/);
  expect((await on("restore", "kitchen")).said).toMatch(/^Back: Kitchen/);
  expect((await on("list", "--json")).said.trim().split("\n")).toHaveLength(2);
  const asked = await runHere(["chat"], settings, "/sessions zebra\n");
  expect(asked.said + asked.told).toContain("No session holds “zebra”.");
  expect(await on("swim")).toMatchObject({ code: 2 });
  expect(await on("delete")).toMatchObject({ code: 1, said: "" });
});

test("a token of this home is not shown to another machine", async () => {
  const settings = { HOLDFAST_HOME: makeHome() };
  const there = ["--url", "https://host.invalid"];
  expect(await runHere(["sessions", "list", ...there], settings)).toEqual({
    code: 1,
    said: "",
    told: "The host at https://host.invalid wants its token: give it with HOLDFAST_TOKEN or --token.\n",
  });
});
