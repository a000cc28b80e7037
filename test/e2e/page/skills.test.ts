import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

import { expect, test } from "vitest";

import { valueOf } from "../served-host.ts";
import { expectNoViolations } from "./accessibility.ts";
import { createPageRig, messageField, send, sessionOf, untilDone } from "./page-rig.ts";

const rig = createPageRig();

function writeSkill(folder: string, name: string): void {
  mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(
    join(folder, name, "SKILL.md"),
    `---\nname: ${name}\ndescription: About ${name}.\n---\nKnock first.\n`,
  );
}

test("skills are read, switched off and on, and removed on the page, and /name uses one", async () => {
  writeSkill(join(rig.home(), "skills"), "heron-watch");
  writeFileSync(join(rig.home(), "skills/heron-watch/count.sh"), "#!/bin/sh\n");
  const { tab, consoleErrors, openAnother } = await rig.openTab();
  const settings = await openAnother("?settings=agent");
  const list = settings.getByRole("list", { name: "Skills", exact: true });
  await list.getByText("installed on this host, on").waitFor();
  await list.locator("summary").filter({ hasText: "Check this before you use it" }).click();
  await list.getByText("count.sh", { exact: false }).first().waitFor();
  await list.locator("summary").filter({ hasText: "Show instructions" }).click();
  await list.getByText("Knock first.").waitFor();

  await messageField(tab).fill("/her");
  await tab.getByRole("option", { name: /^\/heron-watch/ }).waitFor();
  await messageField(tab).press("Tab");
  expect(await messageField(tab).inputValue()).toBe("/heron-watch ");
  await send(tab, "/heron-watch at dawn {words:3}");
  await untilDone(tab);
  const { entries } = valueOf(await rig.client().readSession({ params: { id: sessionOf(tab) } }));
  const [message] = entries;
  const parts = message?.type === "message" ? message.parts : [];
  expect(parts.flatMap((part) => (part.type === "attached" ? [part.skill?.name] : []))).toContain(
    "heron-watch",
  );

  await list.getByRole("button", { name: "Switch off heron-watch" }).click();
  await list.getByText("installed on this host, off").waitFor();
  const { tab: other } = await rig.openTab();
  await messageField(other).fill("/heron-watch again");
  await messageField(other).press("Enter");
  await other.getByText("Unknown command /heron-watch", { exact: false }).waitFor();

  await list.getByRole("button", { name: "Remove heron-watch" }).click();
  await settings.getByRole("dialog").getByRole("button", { name: "Remove", exact: true }).click();
  await settings.getByText("No skills yet.", { exact: false }).waitFor();
  expect(existsSync(join(rig.home(), "skills/heron-watch"))).toBe(false);
  expect(consoleErrors).toEqual([]);
});

test("a skill of the workspace is asked about above the composer, and used once it is trusted", async () => {
  const { tab, consoleErrors } = await rig.openTab();
  await send(tab, "Hello {words:2}");
  await untilDone(tab);
  const id = sessionOf(tab);
  writeSkill(join(rig.home(), "workspaces", id, ".claude/skills"), "audit");
  await tab.reload();
  const question = tab.getByRole("region", { name: "A skill was found in this folder" });
  await question.getByText("About audit.").waitFor();
  const available = async () =>
    valueOf(await rig.client().listSessionSkills({ params: { id } })).available;
  expect(await available()).toEqual([]);
  await question.getByRole("button", { name: "Trust audit" }).click();
  await question.waitFor({ state: "detached" });
  expect(await available()).toEqual([{ name: "audit", description: "About audit." }]);
  await send(tab, "/audit the garden {words:2}");
  await untilDone(tab, 2);
  await tab.getByRole("button", { name: "Show context" }).click();
  const prompt = tab.getByRole("list", { name: "System prompt" });
  await prompt.locator("summary").filter({ hasText: "Skills" }).waitFor();
  expect(consoleErrors).toEqual([]);
});

/** A tar.gz archive of one text file. */
function packFile(name: string, text: string): Buffer {
  const header = Buffer.alloc(512);
  header.write(name);
  header.write(text.length.toString(8).padStart(11, "0"), 124);
  header.write("0", 156);
  const padding = Buffer.alloc(512 - (text.length % 512) + 1_024);
  return gzipSync(Buffer.concat([header, Buffer.from(text), padding]));
}

test("a skill is installed from a folder and an archive after a look at it, and a new version shows what it changes", async () => {
  const source = join(rig.home(), "elsewhere");
  writeSkill(source, "tide-table");
  const { tab: settings, consoleErrors } = await rig.openTab({ at: "?settings=agent" });
  const form = settings.getByRole("form", { name: "Install skills" });
  const dialog = settings.getByRole("dialog");
  const list = settings.getByRole("list", { name: "Skills", exact: true });
  const place = form.getByLabel("A folder on the host", { exact: false });
  await place.fill(join(source, "tide-table"));
  await form.getByRole("button", { name: "Preview" }).click();
  await dialog.getByText("About tide-table.").waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  expect(existsSync(join(rig.home(), "skills/tide-table"))).toBe(false);
  await place.press("Enter");
  await dialog.getByRole("button", { name: "Install", exact: true }).click();
  await list.getByText("tide-table").first().waitFor();

  const buffer = packFile(
    "tide-table/SKILL.md",
    "---\nname: tide-table\ndescription: About tides.\n---\nKnock twice.\n",
  );
  const archive = { name: "tides.tar.gz", mimeType: "application/gzip", buffer };
  await form.getByLabel("Upload an archive").setInputFiles(archive);
  await dialog.getByText("It replaces the installed one: 1 file is different").waitFor();
  await dialog.getByText("+Knock twice.", { exact: false }).waitFor();
  await expectNoViolations(settings);
  const folder = process.env["HOLDFAST_TEST_PICTURES"];
  if (folder !== undefined) await settings.screenshot({ path: join(folder, "install.png") });
  await dialog.getByRole("button", { name: "Install", exact: true }).click();
  await list.getByText("About tides.").waitFor();
  expect(readFileSync(join(rig.home(), "skills/tide-table/SKILL.md"), "utf8")).toContain("twice");
  await place.fill("/no/such/folder");
  await place.press("Enter");
  await settings.getByText("is not a folder of the host", { exact: false }).waitFor();
  expect(consoleErrors).toEqual([]);
});
