import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ids } from "@holdfast/protocol";
import type { Locator, Page } from "playwright-core";
import { expect, test } from "vitest";
import { valueOf } from "../served-host.ts";
import { answers, createPageRig, send, sessionOf, untilDone } from "./page-rig.ts";

const rig = createPageRig({ HOLDFAST_TOOL_RULES: "allow terminal: printf *" });

const approvalCard = (tab: Page): Locator =>
  tab.getByRole("region", { name: /^(Run|Make|Allow) .*\?$/ });

/** Whether all of it is inside the visible part of the transcript. */
async function isWhollyShown(tab: Page, locator: Locator): Promise<boolean> {
  const [box, log] = [await locator.boundingBox(), await tab.getByRole("log").boundingBox()];
  if (box === null || log === null) return false;
  return box.y >= log.y && box.y + box.height <= log.y + log.height;
}

test("[safety] at 200 % zoom the command is in view together with the buttons that allow it", async () => {
  // What remains of a window of 1280 x 800.
  const { tab } = await rig.openTab({ viewport: { width: 640, height: 400 } });
  await send(tab, '{tool:terminal {"command":["git","commit","-m","It is done"]}}');
  const card = approvalCard(tab);
  const allow = card.getByRole("button", { name: "Allow once" });
  await expect.poll(() => isWhollyShown(tab, allow)).toBe(true);
  await expect.poll(() => isWhollyShown(tab, card.locator(".approval-shown"))).toBe(true);
  await expect.poll(() => allow.isEnabled()).toBe(true);
});

test("an approval shows a command as one line, and a change line by line in colours", async () => {
  const { tab } = await rig.openTab();
  await send(tab, '{tool:terminal {"command":["git","commit","-m","It is done"]}}');
  const card = approvalCard(tab);
  await card.getByText('git commit -m "It is done"').first().waitFor();
  await card.getByRole("button", { name: "Deny", exact: true }).click();
  await card.waitFor({ state: "detached" });
  await send(tab, '{tool:edit_file {"path":"a.ts","old":"let a = 1;","new":"let a = 2;"}}');
  const shown = card.locator(".approval-shown");
  await shown.locator(".removed", { hasText: "-let a = 1;" }).waitFor();
  expect(await shown.locator(".added").allInnerTexts()).toEqual(["+let a = 2;"]);
});

test("a call is denied with a reason, which the model gets and the page keeps", async () => {
  const { tab } = await rig.openTab();
  await send(tab, '{tool:terminal {"command":"rm -r build"}}');
  const card = approvalCard(tab);
  await card.getByRole("button", { name: "Give a reason" }).click();
  await card.getByRole("textbox", { name: "What should it do instead?" }).fill("Use make clean.");
  await card.getByRole("button", { name: "Deny and tell the agent" }).click();
  await answers(tab)
    .getByText(/They said: Use make clean\./)
    .waitFor();
  expect(await tab.locator(".tool-reason").innerText()).toBe("Reason: Use make clean.");
});

test("a question is drawn as Markdown, and its answer stays in view", async () => {
  const { tab } = await rig.openTab();
  const question = "Which **colour** shall it be?";
  await send(tab, `{tool:ask_user ${JSON.stringify({ question, choices: ["red", "blue"] })}}`);
  const card = tab.getByRole("region", { name: "Question", exact: true });
  await card.locator("strong", { hasText: "colour" }).waitFor();
  await card.getByRole("button", { name: "blue", exact: true }).click();
  const answered = tab.getByRole("region", { name: "Question answered" });
  await answered.locator("strong", { hasText: "colour" }).waitFor();
  expect(await answered.locator(".answered-reply").innerText()).toBe("Your answer: blue");
});

test("a delegated task has a title and a link while it runs", async () => {
  const { tab } = await rig.openTab();
  const task = { title: "Count the boats", task: "Count them {rate:20} {words:9000}" };
  await send(tab, `{tool:delegate ${JSON.stringify(task)}}`);
  const tool = tab.getByRole("region", { name: "delegate: Running" });
  await tool.locator(".tool-line", { hasText: "Count the boats" }).waitFor();
  await tool.getByRole("link", { name: "Open task" }).click();
  await tab.getByRole("article", { name: "Task from another conversation" }).waitFor();
  expect(await tab.getByRole("article", { name: "You" }).count()).toBe(0);
  await tab.getByRole("button", { name: "Stop", exact: true }).click();
});

test("the end of a background command is not shown as a message of the person, and has its output", async () => {
  const { tab } = await rig.openTab();
  const command = ["printf", "ready to go"];
  await send(tab, `{tool:terminal ${JSON.stringify({ command, background: true })}}`);
  const ended = tab.getByRole("article", { name: "Background command ended" });
  await ended.getByText(/ended with exit code 0/).waitFor();
  expect(await tab.getByRole("article", { name: "You" }).count()).toBe(1);
  expect(await ended.getByText("by no person").count()).toBe(0);
  await ended.getByText("Output", { exact: true }).click();
  await ended.locator("pre", { hasText: "ready to go" }).waitFor();
});

test("the output of a background command is followed in its card while it runs", async () => {
  const { tab } = await rig.openTab();
  const command = "until [ -e go-on ]; do sleep 0.1; done; echo went on; sleep 600";
  await send(tab, `{tool:terminal ${JSON.stringify({ command, background: true })}}`);
  await approvalCard(tab).getByRole("button", { name: "Allow once" }).click();
  await untilDone(tab);
  const tool = tab.getByRole("region", { name: "terminal: Done" });
  await tool.getByText("Output", { exact: true }).click();
  await tool.getByText("running", { exact: false }).waitFor();
  const output = tool.locator(".process-output pre");
  expect(await output.innerText()).toBe("");
  writeFileSync(join(rig.home(), "workspaces", sessionOf(tab), "go-on"), "");
  await output.getByText("went on").waitFor();
  const { processes } = valueOf(
    await rig.client().listProcesses({ params: { id: sessionOf(tab) } }),
  );
  for (const { id } of processes) await rig.client().stopProcess({ params: { id } });
  await tool.getByText("was stopped", { exact: false }).waitFor();
});

test("a scheduled prompt is not shown as a message of the person", async () => {
  const { tab } = await rig.openTab();
  await send(tab, "Hello {words:3}");
  await untilDone(tab);
  const client = rig.client();
  const { schedule } = valueOf(
    await client.createSchedule({
      body: {
        title: "Tides",
        prompt: "When is high water? {words:3}",
        times: { days: ["mon"], at: ["06:30"] },
        timeZone: "Europe/Berlin",
        target: { sessionId: sessionOf(tab) },
        missed: "skip",
      },
    }),
  );
  valueOf(
    await client.runSchedule({
      params: { id: schedule.id },
      headers: { "idempotency-key": ids.make("event") },
    }),
  );
  await tab
    .getByRole("article", { name: "Scheduled prompt" })
    .getByText("When is high water?", { exact: false })
    .waitFor();
  expect(await tab.getByRole("article", { name: "You" }).count()).toBe(1);
});
