import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

import { createPageRig, send, sessionOf, untilDone } from "./page-rig.ts";

const rig = createPageRig();

function writeAgent(folder: string, name: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, `${name}.md`),
    `---\nname: ${name}\ndescription: About ${name}.\ntools: send_file\n---\nCount twice.\n`,
  );
}

test("an agent is read and switched on the page, and its task's card shows its name and the file it sent", async () => {
  writeAgent(join(rig.home(), "agents"), "heron-counter");
  const { tab, consoleErrors, openAnother } = await rig.openTab();
  const settings = await openAnother("?settings=agent");
  const list = settings.getByRole("list", { name: "Agents", exact: true });
  await list.getByText("on this host, on").waitFor();
  await list.getByText("only send_file").waitFor();
  await list.locator("summary").filter({ hasText: "Show prompt" }).click();
  await list.getByText("Count twice.").waitFor();

  await send(tab, "Hello {words:2}");
  await untilDone(tab);
  const workspace = join(rig.home(), "workspaces", sessionOf(tab));
  mkdirSync(workspace, { recursive: true });
  writeFileSync(join(workspace, "herons.csv"), "day,herons\n");
  const task = '{tool:send_file {"path":"herons.csv"}} {words:3}';
  const call = JSON.stringify({ task, agent: "heron-counter", title: "Count herons" });
  await send(tab, `{tool:delegate ${call}}`);
  await untilDone(tab, 2);
  const card = tab.getByRole("region", { name: "delegate: Done" });
  await card.getByText("heron-counter · Count herons").waitFor();
  await card.getByRole("button", { name: "Show herons.csv" }).waitFor();

  await list.getByRole("button", { name: "Switch off heron-counter" }).click();
  await list.getByText("on this host, off").waitFor();
  expect(consoleErrors).toEqual([]);
});

test("an agent of the workspace is asked about above the composer", async () => {
  const { tab, consoleErrors } = await rig.openTab();
  await send(tab, "Hello {words:2}");
  await untilDone(tab);
  writeAgent(join(rig.home(), "workspaces", sessionOf(tab), ".holdfast/agents"), "audit");
  await tab.reload();
  const question = tab.getByRole("region", { name: "An agent was found in this folder" });
  await question.getByText("About audit.").waitFor();
  await question.getByRole("button", { name: "Trust audit" }).click();
  await question.waitFor({ state: "detached" });
  expect(consoleErrors).toEqual([]);
});
