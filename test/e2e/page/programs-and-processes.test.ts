import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { answers, createPageRig, messageField, send, untilDone } from "./page-rig.ts";
import { valueOf } from "../served-host.ts";

const rig = createPageRig({ HOLDFAST_TOOL_RULES: "allow terminal" });

/** Posts a signed message, as a program with this secret does. */
function postSigned(address: string, secret: string): Promise<Response> {
  const body = '{"text":"The build has failed. {words:3}"}';
  const [id, at] = ["build-1", String(Math.floor(Date.now() / 1_000))];
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const signature = createHmac("sha256", key).update(`${id}.${at}.${body}`).digest("base64");
  const headers = {
    "webhook-id": id,
    "webhook-timestamp": at,
    "webhook-signature": `v1,${signature}`,
  };
  return fetch(address, { method: "POST", body, headers });
}

test("a webhook is added on the page, its secret is shown once and works, and it is removed again", async () => {
  const { tab, consoleErrors } = await rig.openTab({ at: "?settings=gateway" });
  const webhooks = async () => valueOf(await rig.client().readGateway()).webhooks;
  const form = tab.getByRole("form", { name: "Add program" });
  await form.getByLabel("Program name").fill("Not a name");
  await form.getByRole("button", { name: "Add program" }).click();
  await tab.getByText("expected a name like build-server", { exact: false }).waitFor();
  await form.getByLabel("Program name").fill("build-server");
  await form.getByLabel("Reply address").fill("https://build.example.org/holdfast");
  await form.getByRole("button", { name: "Add program" }).click();
  const secretPanel = tab.getByRole("region", { name: "Secret for build-server" });
  await secretPanel.waitFor();
  const [secret = "", address = ""] = await secretPanel.locator("code").allTextContents();
  expect((await postSigned(address, secret)).status).toBe(202);
  await tab.getByText("replies go to build.example.org", { exact: true }).waitFor();
  await secretPanel.getByRole("button", { name: "I have saved it" }).click();
  await secretPanel.waitFor({ state: "detached" });
  expect(await tab.content()).not.toContain(secret);

  await form.getByLabel("Program name").fill("build-server");
  await form.getByRole("button", { name: "Add program" }).click();
  await tab.getByText("build-server already exists", { exact: false }).waitFor();
  await tab.getByText("replies go to build.example.org", { exact: true }).waitFor();

  await tab.getByRole("button", { name: "New secret for build-server" }).click();
  await secretPanel.waitFor();
  const [next] = await secretPanel.locator("code").allTextContents();
  expect(next).not.toBe(secret);
  expect(await webhooks()).toMatchObject([{ name: "build-server", rotating: true }]);
  await tab.getByRole("button", { name: "Remove build-server" }).click();
  await tab
    .getByRole("dialog", { name: "Remove build-server?" })
    .getByRole("button", { name: "Remove" })
    .click();
  await tab.getByText("build-server and its secrets were removed.").waitFor();
  expect(await webhooks()).toEqual([]);
  expect(consoleErrors).toEqual([]);
});

test("background processes are listed in their conversation and can be stopped there", async () => {
  const { tab, consoleErrors } = await rig.openTab();
  const input = { command: "sleep 600", background: true };
  await send(tab, `{tool:terminal ${JSON.stringify(input)}}`);
  await untilDone(tab);
  await tab
    .locator(".talk-bar")
    .getByRole("button", { name: /^Actions for/ })
    .click();
  await tab.getByRole("menuitem", { name: "Background commands" }).click();
  const dialog = tab.getByRole("dialog", { name: "Background commands" });
  await dialog.getByText("runs", { exact: true }).waitFor();
  await dialog.getByRole("button", { name: "Stop sleep 600" }).click();
  await dialog.getByText("was stopped", { exact: true }).waitFor();
  expect(await dialog.getByRole("button", { name: /^Stop / }).count()).toBe(0);
  expect(consoleErrors).toEqual([]);
});

test("the result of a delegated task links to its conversation, and back", async () => {
  const { tab } = await rig.openTab();
  await send(tab, `{tool:delegate ${JSON.stringify({ task: "Count the boats {words:5}" })}}`);
  await untilDone(tab);
  await tab.getByRole("link", { name: "Open task" }).click();
  await answers(tab).first().waitFor();
  await tab.getByText("Count the boats", { exact: false }).first().waitFor();
  await messageField(tab).waitFor();
  const { sessions } = valueOf(await rig.client().listSessions({ query: { archived: true } }));
  expect(tab.url()).toContain(sessions[0]!.id);
  await tab.getByRole("button", { name: /^Task delegated by/ }).click();
  await tab.getByRole("link", { name: "Open task" }).waitFor();
});
