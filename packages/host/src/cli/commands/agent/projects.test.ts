import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@holdfast/client";
import { expect, onTestFinished, test } from "vitest";
import { valueOf } from "../../../../test/support/api-helpers.ts";
import { runHere, serveHere } from "../../../../test/support/command-rig.ts";

test("projects are added, edited, listed and deleted, and a folder that may not be used is refused", async () => {
  const parent = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-cli-")));
  onTestFinished(() => rmSync(parent, { recursive: true, force: true }));
  const folder = join(parent, "tides");
  mkdirSync(folder);
  const { settings, close } = await serveHere(join(parent, "home"));
  onTestFinished(close);
  const projects = (...args: string[]) => runHere(["projects", ...args], settings);
  expect((await projects()).told).toContain("No projects yet");
  expect(await projects("add")).toMatchObject({ code: 2 });
  expect(await projects("add", "Tides", "--text", "All times are UTC.")).toMatchObject({ code: 0 });
  expect(await projects("edit", "tides", "--folder", folder)).toMatchObject({ code: 1 });
  await runHere(["workspaces", "allow", folder], settings);
  expect(await projects("edit", "tides", "--folder", folder)).toMatchObject({ code: 0 });
  expect(await projects("edit", "tides", "--persona", "nobody")).toMatchObject({ code: 2 });
  expect(await projects("edit", "tides", "--persona", "default")).toMatchObject({ code: 0 });
  expect((await projects("list")).said).toBe(`Tides\t${folder}\tAll times are UTC.\n`);
  expect((await projects("show", "Tides")).said).toBe("All times are UTC.\n");
  expect(await projects("delete", "Tides")).toMatchObject({ code: 0 });
  expect(await projects("delete", "Tides")).toMatchObject({ code: 2 });
});

test("files are added to a project, and run begins in it with a persona; unknown names are refused", async () => {
  const parent = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-cli-")));
  onTestFinished(() => rmSync(parent, { recursive: true, force: true }));
  const { settings, close } = await serveHere(join(parent, "home"));
  onTestFinished(close);
  const cli = (...args: string[]) => runHere(args, settings);
  const file = join(parent, "tides.md");
  writeFileSync(file, "High water at noon.");
  await cli("projects", "add", "Tides", "--for-model", "rehearsal");
  await cli("personas", "add", "Pilot", "--text", "You are a pilot.");
  const addFile = (...flags: string[]) =>
    cli("projects", "add-file", "Tides", "--file", file, ...flags);
  expect(await addFile()).toMatchObject({ code: 0, said: "Added: tides.md\n" });
  writeFileSync(file, "High water at one.");
  expect((await addFile()).told).toContain("already has a file with this name");
  expect(await addFile("--replace")).toMatchObject({ code: 0 });
  expect((await cli("projects", "files", "tides")).said).toBe("tides.md\t18\n");
  expect(await cli("run", "--project", "Winds", "Hello")).toMatchObject({ code: 2 });
  expect(await cli("run", "--persona", "Cook", "Hello")).toMatchObject({ code: 2 });
  expect((await cli("sessions", "list")).said).toBe("");
  const begun = await cli("run", "--json", "--project", "tides", "--persona", "pilot", "Hello");
  expect(begun.code).toBe(0);
  const client = createClient({
    baseUrl: settings.HOLDFAST_URL,
    token: settings.HOLDFAST_TOKEN,
    fetch,
  });
  const { sessions } = valueOf(await client.listSessions({ query: { project: "Tides" } }));
  const [session] = sessions;
  if (session === undefined) throw new Error("no session in the project");
  const context = valueOf(await client.readContext({ params: { id: session.id }, query: {} }));
  const texts = new Map(context.prompt?.map(({ part, text }) => [part, text]));
  expect(texts.get("persona")).toBe("You are a pilot.");
  expect(texts.get("files")).toContain("High water at one.");
  const remove = ["projects", "delete-file", "Tides", "--file", "tides.md"];
  expect(await cli(...remove)).toMatchObject({ code: 0 });
  expect(await cli(...remove)).toMatchObject({ code: 2 });
});
