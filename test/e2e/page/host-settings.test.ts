import { expect, test } from "vitest";
import { valueOf } from "../served-host.ts";
import { answers, createPageRig, send, untilDone } from "./page-rig.ts";

const rig = createPageRig({ HOLDFAST_SESSION_MODE: "ask" });

const settingNamed = async (name: string) =>
  valueOf(await rig.client().listSettings()).settings.find((setting) => setting.name === name);

test("policy, rules and tools are changed on the page, apply to the next message, and survive a restart", async () => {
  const { tab, consoleErrors } = await rig.openTab({ at: "?settings=tools" });
  await tab.getByLabel("Rules", { exact: true }).fill("allow terminal: echo *");
  await tab.getByRole("button", { name: "Save rules" }).click();
  await tab.getByText("Saved.", { exact: true }).first().waitFor();
  const talk = await rig.openTab();
  await send(talk.tab, 'say it {tool:terminal {"command":["echo","ahoy"]}}');
  await answers(talk.tab).getByText("The tool terminal answered “ahoy”.").waitFor();
  await untilDone(talk.tab);

  await tab.getByLabel("Rules", { exact: true }).fill("permit everything");
  await tab.getByRole("button", { name: "Save rules" }).click();
  await tab.getByText("it must be rules like", { exact: false }).waitFor();
  expect(await settingNamed("toolRules")).toMatchObject({ value: ["allow terminal: echo *"] });

  await tab.getByRole("checkbox", { name: "fetch_url" }).uncheck();
  await tab.getByRole("button", { name: "Reset Tools to default" }).waitFor();
  await tab.getByLabel("Tool policy").selectOption("deny");
  await tab.getByRole("button", { name: "Reset Tool policy to default" }).waitFor();
  await rig.kill();
  await rig.restart();
  expect(await settingNamed("toolPolicy")).toMatchObject({
    value: "deny",
    source: { from: "page" },
  });
  const { tools } = valueOf(await rig.client().listSettings());
  expect(tools.filter(({ enabled }) => !enabled).map(({ name }) => name)).toEqual(["fetch_url"]);
  await tab.reload();
  await tab.getByRole("button", { name: "Reset Tool policy to default" }).click();
  await tab.getByText("Saved.", { exact: true }).first().waitFor();
  expect(await settingNamed("toolPolicy")).toMatchObject({ source: { from: "default" } });
  expect(consoleErrors).toEqual([]);
});

test("the sandbox says that it waits for a restart, and what the environment sets cannot be changed", async () => {
  const { tab, consoleErrors } = await rig.openTab({ at: "?settings=tools" });
  await tab.getByLabel("Sandbox for commands").selectOption("off");
  await tab.getByText("It takes effect when the host restarts.", { exact: false }).waitFor();
  await tab.getByText("After a restart: Off.").waitFor();
  expect(await settingNamed("sandbox")).toMatchObject({ value: "preferred", afterRestart: "off" });
  await tab.getByRole("button", { name: "Reset Sandbox for commands to default" }).click();
  await tab.getByText("After a restart: Off.").waitFor({ state: "detached" });
  await tab
    .getByText("Set by HOLDFAST_SESSION_MODE, which takes precedence.", { exact: false })
    .waitFor();
  expect(await tab.getByLabel("Mode for new conversations").isDisabled()).toBe(true);
  const refused = await rig
    .client()
    .putSetting({ params: { name: "sessionMode" }, body: { value: "full" } });
  expect(refused).toMatchObject({ error: { code: "setting_configured" } });
  expect(consoleErrors).toEqual([]);
});

test("a program that was added on the page is allowed commands there", async () => {
  valueOf(await rig.client().putWebhook({ params: { name: "ci" }, body: {} }));
  const { tab, consoleErrors } = await rig.openTab({ at: "?settings=gateway" });
  const commands = tab.getByRole("group", { name: "Commands that ci may use" });
  await commands.getByRole("checkbox", { name: "/new" }).check();
  await tab.getByText("may use /new", { exact: false }).waitFor();
  expect(await settingNamed("webhookCommands")).toMatchObject({ value: { ci: ["new"] } });
  await commands.getByRole("checkbox", { name: "/new" }).uncheck();
  await tab.getByText("may use /new", { exact: false }).waitFor({ state: "detached" });
  expect(consoleErrors).toEqual([]);
});
