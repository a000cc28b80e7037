import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

import { valueOf } from "../served-host.ts";
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
