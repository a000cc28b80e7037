import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";

import { chatGptConversation, said } from "../../../packages/host/test/support/exports/chatgpt.ts";
import { zipOf } from "../../../packages/host/test/support/exports/zip.ts";
import { writeHermesHome } from "../../../packages/host/test/support/hermes/cases.ts";
import { HermesHome, user } from "../../../packages/host/test/support/hermes/home.ts";
import { valueOf } from "../served-host.ts";
import { expectNoViolations } from "./accessibility.ts";
import { createPageRig } from "./page-rig.ts";

const rig = createPageRig();

const pathField = (tab: Page) => tab.getByLabel("Folder on the host", { exact: false });
const card = (tab: Page, name: string | RegExp) => tab.getByRole("region", { name });

async function preview(tab: Page, path: string): Promise<void> {
  await pathField(tab).fill(path);
  await tab.getByRole("button", { name: "Preview", exact: true }).click();
}

async function titles(): Promise<(string | null)[]> {
  const { sessions } = valueOf(await rig.client().listSessions({}));
  return sessions.map(({ title }) => title);
}

test("a hermes home is previewed, imported and proven, and its report is searched and saved", async () => {
  const path = join(dirname(rig.home()), "hermes");
  writeHermesHome(path);
  const { tab, consoleErrors } = await rig.openTab({ at: "?settings=import" });
  await preview(tab, join(path, "gone"));
  await tab.getByText("There is nothing to import at this path.", { exact: false }).waitFor();
  await preview(tab, path);
  const before = card(tab, "Preview: nothing has been imported yet");
  await before.getByText("Conversations", { exact: true }).waitFor();
  expect(await titles()).toEqual([]);
  await expectNoViolations(tab);

  await before.getByRole("button", { name: "Import now" }).click();
  const done = card(tab, "Imported");
  await done.getByText(/^Proven by hash: all [\d,]+ texts are identical here and there/).waitFor();
  expect(await titles()).toContain("Beds #spring");
  await done.getByText("The file is empty.", { exact: false }).waitFor();
  await done.getByLabel("Show").selectOption("Recovered");
  await done.getByRole("link", { name: "Only here" }).waitFor();
  await done.getByText("The file is empty.", { exact: false }).waitFor({ state: "detached" });
  await done.getByLabel("Show").selectOption("Everything");
  await done.getByLabel("Search the report").fill("six BEDS");
  await done.getByRole("button", { name: "Search" }).click();
  await done.getByRole("list", { name: "Report" }).getByText("Six beds.").waitFor();
  await done.getByRole("link", { name: "Only here" }).waitFor({ state: "detached" });
  const [download] = await Promise.all([
    tab.waitForEvent("download"),
    done.getByRole("button", { name: "Download report" }).click(),
  ]);
  const report = readFileSync(await download.path(), "utf8");
  expect(JSON.parse(report)).toMatchObject({ format: "holdfast.import-report", path });
  await expectNoViolations(tab);

  await done.getByLabel("Search the report").fill("greenhouse #2");
  await done.getByRole("button", { name: "Search" }).click();
  await done.getByRole("link", { name: "Greenhouse #2" }).click();
  await tab.getByText("a wide one").waitFor();
  expect(consoleErrors).toEqual([]);
});

test("an import is stopped on the page, and what it took stays", async () => {
  const path = join(dirname(rig.home()), "large");
  const home = new HermesHome(path);
  home.inOneCommit(() => {
    for (let n = 0; n < 4_000; n += 1)
      home.session(`s${n}`, { title: `Number ${n}` }, [user("hi")]);
  });
  home.close();
  const { tab, consoleErrors } = await rig.openTab({ at: "?settings=import" });
  await preview(tab, path);
  await card(tab, "Preview").getByRole("button", { name: "Import now" }).click();
  const progress = card(tab, "Progress of the import");
  await progress.getByText(/^[1-9][\d,]* of 4,000 conversations/).waitFor();
  await progress.getByRole("button", { name: "Stop" }).click();
  const ended = card(tab, "The import ended early");
  await ended.getByText("What was imported is kept.", { exact: false }).waitFor();
  await ended.getByRole("button", { name: "Import again" }).waitFor();
  expect(await titles()).toContainEqual(expect.stringMatching(/^Number \d+$/));
  expect(consoleErrors).toEqual([]);
});

test("an export on the person's machine is sent to the host in pieces, imported, and removed there", async () => {
  const { tab, consoleErrors } = await rig.openTab({ at: "?settings=import" });
  await tab.getByLabel("Import from", { exact: true }).selectOption("ChatGPT export");
  const exported = join(dirname(rig.home()), "my export.zip");
  const question = said("u", null, "user", "Where is the light?");
  const talk = chatGptConversation("light", [question, said("a", "u", "assistant", "East.")]);
  const content = zipOf({
    "conversations.json": JSON.stringify([talk]),
    // More than one piece takes, as pictures and recordings are.
    "recording.dat": randomBytes(9 * 1024 * 1024),
  });
  writeFileSync(exported, content);
  await tab.getByLabel("Upload a file").setInputFiles(exported);
  await tab.getByText("my export.zip is uploaded.", { exact: false }).waitFor();
  const path = await tab.getByLabel("File or folder on the host", { exact: false }).inputValue();
  const uploads = join(rig.home(), "imports", ".uploads");
  expect(readdirSync(uploads)).toEqual([basename(path)]);
  expect(readFileSync(path).equals(content)).toBe(true);
  await expectNoViolations(tab);
  await tab.getByRole("button", { name: "Preview", exact: true }).click();
  await card(tab, "Preview").getByRole("button", { name: "Import now" }).click();
  const done = card(tab, "Imported");
  await done.getByText(/^Proven by hash: all 2 texts/).waitFor();
  // The list begins with the thousands of conversations that the test before took.
  await done.getByLabel("Show").selectOption("Everything");
  await done.getByRole("link", { name: "Talk light" }).waitFor();
  await expect.poll(() => readdirSync(uploads)).toEqual([]);
  expect(consoleErrors).toEqual([]);
});
