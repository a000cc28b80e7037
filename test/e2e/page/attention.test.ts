import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { valueOf } from "../served-host.ts";
import { answers, createPageRig, messageField, send } from "./page-rig.ts";

const rig = createPageRig();

/** A browser without a screen shows no notifications, so the test records what it is asked to show. */
async function recordNotifications(tab: Page): Promise<() => Promise<unknown>> {
  await tab.evaluate(() => {
    const shown: unknown[] = [];
    Object.assign(globalThis, { shown });
    Object.defineProperty(Notification, "permission", { value: "granted" });
    ServiceWorkerRegistration.prototype.showNotification = async (title, options) =>
      void shown.push({ title, body: options?.body });
  });
  return () => tab.evaluate(() => (globalThis as { readonly shown?: unknown }).shown);
}

/** Chromium without a window manager gives every tab the focus, so the test says that this one has none. */
const lookElsewhere = (tab: Page): Promise<void> =>
  tab.evaluate(() => {
    document.hasFocus = () => false;
    window.dispatchEvent(new Event("blur"));
  });

test("a call that waits is counted in the title, and notified while the person looks elsewhere", async () => {
  const { tab, consoleErrors } = await rig.openTab({
    at: "?settings=appearance",
    permissions: ["notifications"],
  });
  await tab.getByLabel("Show notifications").click();
  await expect.poll(() => tab.getByLabel("Show notifications").isChecked()).toBe(true);
  expect(await tab.title()).toBe("Holdfast");
  await tab.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
  const notifications = await recordNotifications(tab);
  await lookElsewhere(tab);
  const client = rig.client();
  const { session } = valueOf(await client.createSession({ body: { title: "Deploy" } }));
  const text = 'go {tool:terminal {"command":"echo ahoy"}}';
  valueOf(await client.sendMessage({ params: { id: session.id }, body: { clientId: "1", text } }));
  await expect.poll(() => tab.title(), { timeout: 25_000 }).toBe("(1) Holdfast");
  await expect
    .poll(notifications, { timeout: 25_000 })
    .toEqual([{ title: "Needs your approval", body: "Deploy" }]);
  const { approvals } = valueOf(await client.listApprovals());
  const id = approvals[0]!.approvalId;
  valueOf(await client.answerApproval({ params: { id }, body: { decision: "deny" } }));
  await expect.poll(() => tab.title(), { timeout: 25_000 }).toBe("Holdfast");
  expect(consoleErrors).toEqual([]);
});

test("nothing is notified while a tab is in front", async () => {
  const { tab } = await rig.openTab({
    at: "?settings=appearance",
    permissions: ["notifications"],
  });
  await tab.getByLabel("Show notifications").click();
  await expect.poll(() => tab.getByLabel("Show notifications").isChecked()).toBe(true);
  await tab.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
  const notifications = await recordNotifications(tab);
  const client = rig.client();
  const { session } = valueOf(await client.createSession({ body: { title: "Look" } }));
  const text = 'go {tool:terminal {"command":"echo ahoy"}}';
  valueOf(await client.sendMessage({ params: { id: session.id }, body: { clientId: "1", text } }));
  await expect.poll(() => tab.title(), { timeout: 25_000 }).toBe("(1) Holdfast");
  expect(await notifications()).toEqual([]);
});

test("the page opens without its host, and keeps nothing that the API has answered", async () => {
  const { tab } = await rig.openTab();
  await send(tab, "A secret plan {words:5}");
  await answers(tab).first().waitFor();
  await tab.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
  const kept = await tab.evaluate(async () => {
    const paths: string[] = [];
    for (const name of await caches.keys())
      for (const { url } of await (await caches.open(name)).keys())
        paths.push(new URL(url).pathname);
    return paths;
  });
  expect(kept).toContain("/");
  expect(
    kept.filter((path) => !/^\/(assets\/.+|mark\.svg|holdfast\.webmanifest)?$/.test(path)),
  ).toEqual([]);
  await rig.kill();
  await tab.goto(rig.address());
  await tab.getByRole("heading", { name: "Can't reach the host" }).waitFor();
  await rig.restart();
  await messageField(tab).waitFor();
});

test("font size, send key and a hidden sidebar are kept in this browser", async () => {
  const { tab, consoleErrors } = await rig.openTab({ at: "?settings=appearance" });
  await tab.getByLabel("Font size").selectOption("larger");
  await tab.getByLabel("Send messages with").selectOption("ctrl-enter");
  await tab.getByRole("button", { name: "Hide sidebar" }).click();
  await tab.goto(rig.address());
  expect(await tab.evaluate(() => getComputedStyle(document.documentElement).fontSize)).toBe(
    "20px",
  );
  await messageField(tab).fill("one");
  await messageField(tab).press("Enter");
  await messageField(tab).pressSequentially("two");
  expect(await messageField(tab).inputValue()).toBe("one\ntwo");
  await messageField(tab).press("Control+Enter");
  await answers(tab).first().waitFor();
  expect(await tab.getByRole("button", { name: "New conversation" }).isVisible()).toBe(false);
  await tab.getByRole("button", { name: "Show conversations" }).click();
  await tab.getByRole("button", { name: "New conversation" }).waitFor();
  expect(consoleErrors).toEqual([]);
});
