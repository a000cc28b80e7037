import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openMcpHttpServer } from "@holdfast/testing/host/mcp-http-server";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { answers, createPageRig, messageField, send, sessionOf, untilDone } from "./page-rig.ts";
import { botToken, FakeBotApi } from "@holdfast/testing/telegram/fake-bot-api";
import { makeFolder, valueOf } from "../served-host.ts";

const platform = new FakeBotApi();
await platform.start();
afterAll(() => platform.stop());

const everything = join(
  import.meta.dirname,
  "../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js",
);
const rig = createPageRig({
  HOLDFAST_TELEGRAM_API_ROOT: platform.address,
  HOLDFAST_MCP: JSON.stringify({ everything: { command: process.execPath, args: [everything] } }),
});

test("the settings list open approvals and lasting rules with their author, and rules can be removed", async () => {
  const { tab, consoleErrors } = await rig.openTab();
  await send(tab, 'look {tool:terminal {"command":"echo ahoy"}}');
  await tab.getByRole("button", { name: "Always allow" }).waitFor();
  const settings = await rig.openTab({ at: "?settings=tools" });
  await settings.tab.locator("code").getByText("echo ahoy").waitFor();
  await tab.getByRole("button", { name: "Always allow" }).click();
  await answers(tab).getByText("The tool terminal answered “ahoy”.").waitFor();
  await tab.goto(new URL("?settings=tools", rig.address()).href);
  const takeBack = tab.getByRole("button", { name: /^Remove: / });
  await takeBack.waitFor();
  await tab.getByText("Always allowed, by", { exact: false }).waitFor();
  await takeBack.click();
  await tab.getByText("No always-allowed rules.").waitFor();
  expect(valueOf(await rig.client().listRules()).rules).toEqual([]);
  expect(consoleErrors).toEqual([]);
});

test("an API key is made with a profile on the page, its secret shown once, and it is revoked", async () => {
  const { tab, consoleErrors } = await rig.openTab({ at: "?settings=tools" });
  const form = tab.getByRole("form", { name: "A new API key" });
  await form.getByLabel("Program name").fill("backup-job");
  await form.getByLabel("Profile").selectOption("webhook");
  await form.getByRole("button", { name: "Create key" }).click();
  const secret = tab.getByRole("region", { name: "Key for backup-job" });
  const key = await secret.locator("code").textContent();
  const ask = async () => {
    const headers = { authorization: `Bearer ${key}` };
    return (await fetch(new URL("api/sessions", rig.address()), { headers })).status;
  };
  expect(await ask()).toBe(200);
  expect(valueOf(await rig.client().listKeys()).keys).toMatchObject([
    { name: "backup-job", profile: "webhook", revokedAt: null },
  ]);
  await secret.getByRole("button", { name: "I have saved it" }).click();
  await tab.getByRole("button", { name: "Revoke the key of backup-job" }).click();
  await tab.getByText("The key was revoked.").waitFor();
  expect(await ask()).toBe(401);
  expect(await tab.getByText(key ?? "none").count()).toBe(0);
  expect(consoleErrors).toEqual([]);
});

test("a rights profile is created, assigned and unassigned on the page", async () => {
  const { tab, consoleErrors } = await rig.openTab({ at: "?settings=tools" });
  const form = tab.getByRole("form", { name: "A rights profile" });
  await form.getByLabel("Profile name").fill("readers");
  await form.getByLabel("Tools, like read_file, wiki__*").fill("read_file, wiki__*");
  await form.getByLabel("Memory").selectOption("read");
  await form.getByLabel("Spending limit in dollars per 24 hours (optional)").fill("2.5");
  await form.getByRole("button", { name: "Save profile" }).click();
  await tab
    .getByText("read_file, wiki__*; own conversations; reads memory", { exact: false })
    .waitFor();
  const giving = tab.getByRole("form", { name: "Assign a profile" });
  await giving.getByLabel("Who:", { exact: false }).fill("everybody");
  await giving.getByRole("button", { name: "Assign" }).click();
  await tab.getByText("Name groups, webhooks, schedules", { exact: false }).waitFor();
  await giving.getByLabel("Who:", { exact: false }).fill("webhook:ci");
  await giving.getByLabel("Profile").selectOption("readers");
  await giving.getByRole("button", { name: "Assign" }).click();
  const takeBack = tab.getByRole("button", { name: "Use the default profile for webhook:ci" });
  await takeBack.waitFor();
  expect(valueOf(await rig.client().readRights()).assignments).toEqual([
    { subject: "webhook:ci", profile: "readers" },
  ]);
  await takeBack.click();
  await takeBack.waitFor({ state: "detached" });
  await tab.getByRole("button", { name: "Remove the profile readers" }).click();
  await tab.getByText("The profile was removed.").waitFor();
  expect(valueOf(await rig.client().readRights()).profiles).toHaveLength(5);
  expect(consoleErrors).toEqual([]);
});

test("the settings show how to connect an editor, and an allowed folder can be removed", async () => {
  const folder = realpathSync(makeFolder());
  valueOf(await rig.client().allowFolder({ body: { path: folder } }));
  const { tab, consoleErrors } = await rig.openTab({ at: "?settings=editors" });
  for (const editor of ["Zed", "JetBrains", "Neovim", "VS Code"])
    await tab.locator("figure").filter({ hasText: editor }).getByText("acp").first().waitFor();
  await tab.getByRole("button", { name: `Remove ${folder}` }).click();
  await tab.getByText("No folders allowed yet.").waitFor();
  expect(valueOf(await rig.client().listFolders()).folders).toEqual([]);
  expect(consoleErrors).toEqual([]);
});

test("an MCP server shows its state and tools, and restarts on request", async () => {
  const { tab } = await rig.openTab({ at: "?settings=mcp" });
  await tab.getByText("Ready, a program").waitFor();
  await tab.getByText(/^\d+ tools$/).click();
  await tab.getByText("everything__echo").waitFor();
  // Polling is held back, so the page shows the response to the restart itself.
  const gate = Promise.withResolvers<void>();
  await tab.route("**/api/mcp", async (route) => {
    await gate.promise;
    await route.continue();
  });
  await tab.getByRole("button", { name: "Restart everything" }).click();
  await tab.getByText("Restarting everything.").waitFor();
  await tab.getByText("Starting, a program").waitFor();
  gate.resolve();
  await tab.getByText("Ready, a program").waitFor();
  const { servers } = valueOf(await rig.client().listMcpServers());
  expect(servers).toMatchObject([{ name: "everything", state: "ready" }]);
});

test("an MCP server is added by its address on the page, switched off, and removed", async () => {
  const web = await openMcpHttpServer();
  onTestFinished(() => web.close());
  const { tab, consoleErrors } = await rig.openTab({ at: "?settings=mcp" });
  const form = tab.getByRole("form", { name: "Add a server" });
  await form.getByLabel("Name", { exact: true }).fill("wiki");
  await form.getByLabel("Address").fill(web.url);
  await form.getByLabel("Header name", { exact: false }).fill("Authorization");
  await form.getByLabel("Header value").fill("Bearer typed-on-the-page");
  await form.getByRole("button", { name: "Add" }).click();
  const card = tab.getByRole("listitem").filter({ hasText: web.url });
  await card.getByText("Ready, over HTTP").waitFor();
  await card.getByText("6 tools").waitFor();
  expect(web.heard.at(-1)?.authorization).toBe("Bearer typed-on-the-page");
  expect(await tab.content()).not.toContain("typed-on-the-page");
  await tab.getByRole("button", { name: "Switch off wiki" }).click();
  await card.getByText("Switched off, over HTTP").waitFor();
  await tab.getByRole("button", { name: "Remove wiki" }).click();
  await tab.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await card.waitFor({ state: "detached" });
  const { servers } = valueOf(await rig.client().listMcpServers());
  expect(servers.map(({ name }) => name)).toEqual(["everything"]);
  expect(consoleErrors).toEqual([]);
});

test("[safety] a program is added on the page only after it was shown what will run", async () => {
  const { tab, consoleErrors } = await rig.openTab({ at: "?settings=mcp" });
  const form = tab.getByRole("form", { name: "Add a server" });
  await form.getByLabel("Name", { exact: true }).fill("second");
  await form.getByLabel("Kind").selectOption("program");
  await form.getByLabel("Program", { exact: true }).fill(process.execPath);
  await form.getByLabel("Arguments, one per line").fill(`${everything}\nstdio`);
  await form.getByRole("button", { name: "Add" }).click();
  const dialog = tab.getByRole("dialog", { name: "Start a program for second?" });
  await dialog.getByText(`${process.execPath} ${everything} stdio; has no network`).waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  const named = async () =>
    valueOf(await rig.client().listMcpServers()).servers.map(({ name }) => name);
  expect(await named()).toEqual(["everything"]);
  await form.getByRole("button", { name: "Add" }).click();
  await dialog.getByRole("button", { name: "Start it" }).click();
  const card = tab.getByRole("listitem").filter({ hasText: "second" });
  await card.getByText("Ready, a program").waitFor();
  expect(await named()).toEqual(["everything", "second"]);
  await tab.getByRole("button", { name: "Remove second" }).click();
  await tab.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await card.waitFor({ state: "detached" });
  expect(consoleErrors).toEqual([]);
});

test("a bot is connected by its token, a person who writes to it waits for approval, and both can be removed", async () => {
  const { tab } = await rig.openTab({ at: "?settings=gateway" });
  const token = tab.getByLabel("Bot token");
  await token.fill("not a token");
  await tab.getByRole("button", { name: "Connect", exact: true }).click();
  await tab.getByText("expected a token like 123456:ABC…", { exact: false }).waitFor();
  await token.fill(`${botToken}x`);
  await tab.getByRole("button", { name: "Connect", exact: true }).click();
  await tab.getByText("Copy the whole token from @BotFather again.", { exact: false }).waitFor();
  expect(valueOf(await rig.client().readGateway()).state).toBe("off");
  await token.fill(botToken);
  await tab.getByRole("button", { name: "Connect", exact: true }).click();
  await tab.getByText("Receiving", { exact: true }).waitFor();
  await tab.getByText("No requests.").waitFor();
  platform.say(55, "hello");
  await tab.getByRole("button", { name: "Allow Person 55" }).click();
  await tab.getByText("Person 55 can now talk to the bot.").waitFor();
  const read = valueOf(await rig.client().readGateway());
  expect(read.people).toMatchObject([{ name: "Person 55", state: "allowed" }]);
  await tab.getByText(/^can talk to the bot, since /).waitFor();
  platform.say(55, "Where are you? {words:3}");
  await tab.getByText("Telegram: Person 55", { exact: true }).waitFor();
  await tab.getByText(/^opens “Where are you\?.*”/).waitFor();
  await tab.getByRole("button", { name: "Deny Person 55" }).click();
  await tab.getByText(/^denied, since /).waitFor();

  await tab.getByRole("button", { name: "Disconnect bot" }).click();
  await tab.getByText("No bot connected").waitFor();
  expect(valueOf(await rig.client().readGateway())).toMatchObject({ state: "off", people: [] });
});

test("a chunk of unknown delivery is resent or dropped only by a person", async () => {
  const { tab } = await rig.openTab({ at: "?settings=gateway" });
  await tab.getByLabel("Bot token").fill(botToken);
  await tab.getByRole("button", { name: "Connect", exact: true }).click();
  await tab.getByText("Receiving", { exact: true }).waitFor();
  platform.say(56, "hello");
  await tab.getByRole("button", { name: "Allow Person 56" }).click();
  await tab.getByText("Person 56 can now talk to the bot.").waitFor();
  const outbox = async () => valueOf(await rig.client().readGateway()).outbox;
  const arrivedCount = () => platform.shownIn(56).filter(({ from }) => from === "bot").length;
  for (const [decision, more] of [
    ["Resend", 1],
    ["Discard", 0],
  ] as const) {
    // The message reaches the platform; its response never reaches the host.
    platform.faults.add("sendMessage", { kind: "cut", when: "after" });
    platform.say(56, `${decision} {words:3}`);
    await tab.getByText("Delivery unknown", { exact: true }).waitFor();
    expect(await outbox()).toMatchObject([{ state: "unknown" }]);
    const earlierCount = arrivedCount();
    await tab.getByRole("button", { name: decision, exact: true }).click();
    await tab.getByText("Everything was delivered.").waitFor();
    expect(await outbox()).toEqual([]);
    expect(arrivedCount()).toBe(earlierCount + more);
  }
});

test("a schedule is created, run at once, paused, changed and deleted, and a refusal is explained", async () => {
  const { tab, consoleErrors } = await rig.openTab({
    at: "?settings=models",
    timezoneId: "Asia/Tokyo",
  });
  const schedules = async () => valueOf(await rig.client().listSchedules()).schedules;
  await tab.getByRole("button", { name: "Schedules" }).click();
  await tab.getByRole("button", { name: "New schedule" }).click();
  const form = tab.getByRole("form", { name: "New schedule" });
  await form.getByRole("button", { name: "Create schedule" }).click();
  await form.getByText("Enter a prompt.").waitFor();
  await form.getByLabel("Prompt").fill("Ring the bell {words:3}");
  await form.getByLabel("Time", { exact: true }).fill("06:30");
  await form.getByLabel("Saturday").check();
  await form.getByLabel("Time zone").fill("Europe/Atlantis");
  await form.getByRole("button", { name: "Create schedule" }).click();
  await form
    .getByRole("alert")
    .getByText("Time zone: expected a time zone like Europe/Berlin.")
    .waitFor();
  await form.getByLabel("Time zone").fill("Europe/Berlin");
  await form.getByRole("button", { name: "Create schedule" }).click();
  await tab
    .getByText(/^Every Mon, Tue, Wed, Thu, Fri, Sat at 0?6:30\sAM, Europe\/Berlin time$/)
    .waitFor();
  await tab.getByText(/ here, .* in Europe\/Berlin$/).waitFor();
  const [created] = await schedules();
  expect(created).toMatchObject({
    title: "Ring the bell {words:3}",
    times: { days: ["mon", "tue", "wed", "thu", "fri", "sat"], at: ["06:30"] },
    timeZone: "Europe/Berlin",
    missed: "skip",
  });

  await tab.getByRole("button", { name: "Run now: Ring the bell" }).click();
  await tab.getByText("run manually: sent", { exact: false }).waitFor();
  const more = tab.getByRole("button", { name: "More for Ring the bell" });
  await more.click();
  await tab.getByRole("menuitem", { name: "Pause" }).click();
  await tab.getByText("Paused", { exact: true }).waitFor();
  await more.click();
  await tab.getByRole("menuitem", { name: "Edit" }).click();
  const edit = tab.getByRole("form", { name: "Edit schedule" });
  await edit.getByLabel("Name").fill("Bell");
  await edit.getByLabel("Run once, as soon as a host is running").check();
  await edit.getByRole("button", { name: "Save" }).click();
  await tab.getByText("Bell", { exact: true }).waitFor();
  expect(await schedules()).toMatchObject([
    {
      title: "Bell",
      state: "off",
      missed: "once",
      target: created?.target,
      recent: [{ occurrence: "now" }],
    },
  ]);

  // The answer is in the conversation of the schedule.
  await tab.getByRole("link", { name: "Ring the bell {words:3}", exact: true }).last().click();
  await untilDone(tab);
  await tab.goBack();
  await tab.getByRole("button", { name: "More for Bell" }).click();
  await tab.getByRole("menuitem", { name: "Delete" }).click();
  await tab.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await tab.getByText("No schedules yet.", { exact: false }).waitFor();
  expect(await schedules()).toEqual([]);
  expect(consoleErrors).toEqual([]);
});

test("a schedule at intervals and one by a cron expression show when they run, or what is wrong", async () => {
  const { tab, consoleErrors } = await rig.openTab({
    at: "?settings=schedules",
    timezoneId: "Europe/Berlin",
  });
  const schedules = async () => valueOf(await rig.client().listSchedules()).schedules;
  await tab.getByRole("button", { name: "New schedule" }).click();
  const form = tab.getByRole("form", { name: "New schedule" });
  await form.getByLabel("Prompt").fill("Look for news {words:3}");
  await form.getByLabel("At intervals").check();
  await form.getByLabel("Every", { exact: true }).fill("1");
  await form.getByLabel("Unit").selectOption("minutes");
  await form.getByText(/^When: .*5/).waitFor();
  await form.getByLabel("Every", { exact: true }).fill("90");
  await form.getByText(/^Next: (?:.+ · ){4}.+/).waitFor();
  await form.getByLabel("Only if something changed").check();
  await form.getByRole("button", { name: "Create schedule" }).click();
  await tab.getByText("Every 90 minutes", { exact: true }).waitFor();
  await tab.getByText("Only if something changed", { exact: true }).waitFor();
  expect(await schedules()).toMatchObject([{ times: { everyMinutes: 90 }, report: "changes" }]);

  await tab.getByRole("button", { name: "New schedule" }).click();
  await form.getByLabel("Prompt").fill("Close the month");
  await form.getByLabel("Cron", { exact: true }).check();
  await form.getByLabel("Cron expression").fill("0 25 * * *");
  await form.getByText("When: the hour “25” is not valid", { exact: false }).waitFor();
  await form.getByLabel("Cron expression").fill("0 18 L * *");
  await form.getByText(/^Next: (?:.+ · ){4}.+/).waitFor();
  await form.getByRole("button", { name: "Create schedule" }).click();
  await tab.getByText("By cron: 0 18 L * *", { exact: true }).waitFor();
  for (const { id } of await schedules()) await rig.client().removeSchedule({ params: { id } });
  expect(consoleErrors).toEqual([]);
});

test("workspace instructions are asked about once and used only when trusted", async () => {
  const { session } = valueOf(await rig.client().createSession({ body: {} }));
  const folder = join(rig.home(), "workspaces", session.id);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "AGENTS.md"), "Speak like a pilot.");
  const { tab } = await rig.openTab({ at: `?session=${session.id}` });
  const question = tab.getByRole("region", { name: "AGENTS.md found in this folder" });
  await question.getByText("Show text").click();
  await question.getByText("Speak like a pilot.").waitFor();
  await question.getByRole("button", { name: "Trust this text" }).click();
  await question.waitFor({ state: "detached" });
  const params = { id: session.id };
  expect(valueOf(await rig.client().readWorkspace({ params })).trust).toBe("trusted");
  await tab.reload();
  await messageField(tab).waitFor();
  await tab.getByRole("button", { name: "Show context" }).click();
  await tab.getByRole("button", { name: "Don't use it" }).click();
  await tab.getByText("Rejected: the model does not see it", { exact: false }).waitFor();
});

test("the flight recorder shows the spans of a run and replays it by its stored times", async () => {
  const { tab, consoleErrors } = await rig.openTab();
  await send(tab, "tell me {think:5} {words:40} {rate:60}");
  await untilDone(tab);
  const id = sessionOf(tab);
  await answers(tab).hover();
  await answers(tab).getByRole("button", { name: "Message actions" }).click();
  await tab.getByRole("menuitem", { name: "Run details" }).click();
  const panel = tab.getByRole("complementary", { name: "Run details" });
  await panel.getByText("Model rehearsal").waitFor();
  const playback = panel.getByRole("region", { name: "State at this moment" });
  const fullText = await playback.locator("p").innerText();
  const { entries } = valueOf(await rig.client().readSession({ params: { id } }));
  const answer = entries.at(-1);
  const parts = answer?.type === "message" ? answer.parts : [];
  expect(collapseWhitespace(fullText)).toBe(
    collapseWhitespace(parts.map((part) => ("text" in part ? part.text : "")).join("")),
  );

  await panel.getByRole("slider", { name: "Position in the run" }).fill("0");
  await expect.poll(async () => (await playback.innerText()).includes(fullText)).toBe(false);
  await panel.getByRole("radio", { name: "16×" }).check();
  await panel.getByRole("button", { name: "Replay" }).click();
  await playback.getByText(fullText).waitFor();
  await panel.getByRole("button", { name: "Replay" }).waitFor();
  expect(consoleErrors).toEqual([]);
});

function collapseWhitespace(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}
