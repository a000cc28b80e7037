import { rmSync } from "node:fs";
import { join } from "node:path";
import type { SessionId } from "@holdfast/protocol";
import type { Page } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { shownMessages, storedMessages } from "./compare-messages.ts";
import {
  answers,
  createPageRig,
  expectShownIsStored,
  messageField,
  send,
  sessionOf,
  stopButton,
  untilDone,
} from "./page-rig.ts";
import { startPostgresProxy } from "@holdfast/testing/postgres/postgres-proxy";
import { readLog, valueOf } from "../served-host.ts";

const rig = createPageRig();

/** Streams longer than any of these tests, so it has to be stopped. */
const longAnswer = "{words:9000} {rate:150}";

async function untilAnswering(tab: Page, answer = 0): Promise<void> {
  await answers(tab).nth(answer).getByText("holdfast").first().waitFor();
}

async function stopAnswer(tab: Page): Promise<void> {
  await stopButton(tab).click();
  await tab.getByText("Stopped here.").waitFor();
}

async function logOf(id: SessionId) {
  const read = await rig.client().readSession({ params: { id } });
  if (!read.ok) throw new Error(JSON.stringify(read.error));
  return readLog(rig.client(), id, read.value.seq);
}

test("[P5] the page keeps what it shows when the host is killed, says so, and catches up by itself", async () => {
  const { tab, consoleErrors } = await rig.openTab();
  await send(tab, longAnswer);
  await untilAnswering(tab);
  const seen = (await shownMessages(tab))[1] ?? "";
  await rig.kill();
  await tab.getByText(/^(Reconnecting|Offline)$/).waitFor();
  expect((await shownMessages(tab))[1]?.startsWith(seen)).toBe(true);
  await rig.restart();
  await tab.getByText("Live", { exact: true }).waitFor();
  // The run resumes below a notice that says why it broke off; the first attempt stays above it.
  await tab.getByRole("note").waitFor();
  // An answer that is stopped before it says anything leaves nothing to mark as stopped.
  await untilAnswering(tab, 1);
  await stopAnswer(tab);
  expect((await shownMessages(tab))[1]?.startsWith(seen)).toBe(true);
  await expectShownIsStored(tab, rig.client());
  expect(consoleErrors).toEqual([]);
});

test("[S4.12] a notice that waits for lost output has a button to stop waiting", async () => {
  const { tab, consoleErrors } = await rig.openTab();
  await send(tab, longAnswer);
  await untilAnswering(tab);
  await rig.kill();
  // As if the rest of the answer were on the disk of another host.
  rmSync(join(rig.home(), "spill"), { recursive: true });
  await rig.restart();
  const notice = tab.getByRole("note");
  const stopWaiting = notice.getByRole("button", { name: "Stop waiting" });
  await stopWaiting.waitFor();
  await stopWaiting.click();
  await stopWaiting.waitFor({ state: "detached" });
  expect(await notice.getAttribute("class")).toContain("nothing_recovered");
  await untilAnswering(tab, 1);
  await stopAnswer(tab);
  expect(consoleErrors).toEqual([]);
});

test("a host that answers but cannot write is shown in trouble, with what to do", async () => {
  const { tab } = await rig.openTab();
  await tab.getByText("Host is running").waitFor({ state: "attached" });
  const reason = "The store's disk is full: make room.";
  const json = { version: "0.1.0", status: "degraded", ready: false, reasons: [reason] };
  await tab.route("**/health", (route) => route.fulfill({ json }));
  await tab.reload();
  await tab.getByText(reason).waitFor();
  expect(await tab.getByText("Host is running").count()).toBe(0);
  await tab.unroute("**/health");
  // A host in trouble is checked more often than a healthy one.
  await tab.getByText("Host is running").waitFor({ state: "attached" });
});

test("[P6] an answer goes on after the only tab is closed, and a new tab shows all of it and can stop it", async () => {
  const { tab, openAnother } = await rig.openTab();
  await send(tab, longAnswer);
  await untilAnswering(tab);
  const [id, address] = [sessionOf(tab), tab.url()];
  const seen = (await shownMessages(tab))[1] ?? "";
  await tab.close();
  const liveText = async (): Promise<string> => {
    const { live, run } = valueOf(await rig.client().readSession({ params: { id } }));
    expect(run?.state).toBe("running");
    return live?.messages[0]?.parts.map(({ text }) => text).join("") ?? "";
  };
  const liveLength = async (): Promise<number> => (await liveText()).length;
  await expect.poll(liveLength).toBeGreaterThan(2 * seen.length);
  const later = await openAnother(address);
  await untilAnswering(later);
  expect((await shownMessages(later))[1]?.startsWith(seen)).toBe(true);
  await stopAnswer(later);
  await expectShownIsStored(later, rig.client());
});

test("a conversation whose files cannot be loaded says so beside the list, and opens after a reload", async () => {
  const { tab } = await rig.openTab({ serviceWorkers: "block" });
  const { session } = valueOf(await rig.client().createSession({ body: { title: "Harbour" } }));
  const files = "**/assets/conversation-*.js";
  await tab.route(files, (route) => route.abort());
  await tab.goto(new URL(`?session=${session.id}`, rig.address()).href);
  const reload = tab.getByRole("alert").getByRole("button", { name: "Reload" });
  await reload.waitFor();
  await tab.getByRole("link", { name: "Harbour" }).waitFor();
  await tab.unroute(files);
  await reload.click();
  await messageField(tab).waitFor();
  expect(await reload.count()).toBe(0);
});

test("an approval survives a host that is killed, and the call runs once when it is allowed", async () => {
  const { tab } = await rig.openTab();
  await send(tab, '{tool:terminal {"command":"echo once"}} {words:4}');
  const allow = tab.getByRole("button", { name: "Allow once" });
  await allow.waitFor();
  await rig.kill();
  await rig.restart();
  await tab.getByText("Live", { exact: true }).waitFor();
  await allow.click();
  await untilDone(tab, 2);
  const started = (await logOf(sessionOf(tab))).filter(({ type }) => type === "tool.started");
  expect(started.length).toBe(1);
});

test("a message that cannot reach the host stays visible, is sent when the host is back, and is stored once", async () => {
  const { tab } = await rig.openTab();
  await send(tab, "first {words:3}");
  await untilDone(tab);
  await rig.kill();
  await send(tab, "said into the dark {words:3}");
  await tab.getByText("said into the dark").waitFor();
  await tab.getByText("Not sent yet").waitFor();
  await rig.restart();
  await untilDone(tab, 2);
  await expectShownIsStored(tab, rig.client());
  const messages = await storedMessages(rig.client(), sessionOf(tab));
  expect(messages.filter((text) => text.startsWith("said into")).length).toBe(1);
});

test("a first message that the host does not take comes back above what was typed since, also after a reload", async () => {
  const { tab } = await rig.openTab();
  const isOver = Promise.withResolvers<void>();
  // As behind a proxy whose host is gone: nothing for long, and then its own error.
  await tab.route("**/api/sessions", async (route) => {
    if (route.request().method() !== "POST") return route.continue();
    await isOver.promise;
    return route.fulfill({ status: 504 });
  });
  await send(tab, "first of all {words:3}");
  await tab.locator(".message").getByText("first of all").waitFor();
  await messageField(tab).fill("typed since");
  const both = "first of all {words:3}\n\ntyped since";
  await tab.reload();
  await expect.poll(() => messageField(tab).inputValue()).toBe(both);
  await tab.getByRole("button", { name: "Send", exact: true }).click();
  await tab.locator(".message").getByText("typed since").waitFor();
  await messageField(tab).fill("and more");
  isOver.resolve();
  await expect.poll(() => messageField(tab).inputValue()).toBe(`${both}\n\nand more`);
  await tab.unrouteAll({ behavior: "wait" });
  await tab.getByRole("button", { name: "Send", exact: true }).click();
  await untilDone(tab);
  const [stored] = await storedMessages(rig.client(), sessionOf(tab));
  expect(stored).toBe("first of all {words:3} typed since and more");
});

test("a lost acknowledgement and a reload leave one message, not two", async () => {
  const { tab } = await rig.openTab();
  await send(tab, "begin {words:3}");
  await untilDone(tab);
  // The request reaches the host; the response never reaches the page.
  await tab.route("**/messages", async (route) => {
    await route.fetch();
    await route.abort();
  });
  await send(tab, "twice over the wire {words:3}");
  await untilDone(tab, 2);
  await tab.unrouteAll({ behavior: "wait" });
  await tab.reload();
  await untilDone(tab, 2);
  const messages = await storedMessages(rig.client(), sessionOf(tab));
  expect(messages.filter((text) => text.startsWith("twice")).length).toBe(1);
  await tab.getByText("Sending…").waitFor({ state: "detached" });
  await expectShownIsStored(tab, rig.client());
});

test("the page reports a connection that is cut while text streams, and gets the missing text when it is back", async () => {
  const proxy = await startPostgresProxy(rig.address());
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  const { tab, consoleErrors } = await rig.openTab({ through: proxy.url });
  await send(tab, longAnswer);
  await untilAnswering(tab);
  proxy.set("refuse");
  await tab.getByText(/^(Reconnecting|Offline)$/).waitFor();
  const seen = (await shownMessages(tab))[1] ?? "";
  proxy.set("pass");
  await tab.getByText("Live", { exact: true }).waitFor();
  await stopAnswer(tab);
  expect((await shownMessages(tab))[1]?.startsWith(seen)).toBe(true);
  await expectShownIsStored(tab, rig.client());
  expect(consoleErrors).toEqual([]);
});

test("two tabs agree: each shows what the other sends, stops, renames and takes back", async () => {
  const { tab, openAnother } = await rig.openTab();
  await send(tab, "shared {words:3000} {rate:150}");
  await untilAnswering(tab);
  const other = await openAnother(tab.url());
  await untilAnswering(other);
  await send(other, "queued from the other");
  await tab.getByRole("list", { name: "Waiting" }).getByText("queued from the other").waitFor();
  await tab.getByRole("button", { name: "Cancel" }).click();
  await other.getByText("queued from the other").waitFor({ state: "detached" });
  await stopButton(other).click();
  await tab.getByText("Stopped here.").waitFor();
  await tab.locator(".talk-title button").click();
  await tab.getByRole("textbox", { name: "Title" }).fill("A shared title");
  await tab.keyboard.press("Enter");
  await other.locator(".talk-title").getByText("A shared title").waitFor();
  await other.getByRole("link", { name: /A shared title/ }).waitFor();
  expect(await shownMessages(other)).toEqual(await shownMessages(tab));
});

test("[S2.9] a new conversation records the previous one, whose memory is then committed", async () => {
  const { tab } = await rig.openTab();
  await send(tab, "My name is Ada and I live in Turin. {words:5}");
  await untilDone(tab);
  const previousId = sessionOf(tab);
  const eventTypes = async () => (await logOf(previousId)).map(({ type }) => type);
  expect(await eventTypes()).toContain("memory.marked");
  expect(await eventTypes()).not.toContain("memory.committed");
  await tab.getByRole("button", { name: "New conversation" }).click();
  await tab.getByRole("heading", { name: "What can I help with?" }).waitFor();
  await messageField(tab).fill("something else {words:3}");
  await tab.keyboard.press("Enter");
  await untilDone(tab);
  expect(sessionOf(tab)).not.toBe(previousId);
  await expect.poll(eventTypes).toContain("memory.committed");
});

test("with resume set to ask, the page shows what survived a crash and resumes on request", async () => {
  const { tab } = await rig.openTab();
  await send(tab, longAnswer);
  await untilAnswering(tab);
  const seen = (await shownMessages(tab))[1] ?? "";
  await rig.kill();
  await rig.restart({ HOLDFAST_RESUME: "ask" });
  const card = tab.getByRole("region", { name: "Interrupted" });
  await card.waitFor();
  expect((await shownMessages(tab))[1]?.startsWith(seen)).toBe(true);
  await card.getByRole("button", { name: "Resume" }).click();
  await untilAnswering(tab, 1);
  await stopAnswer(tab);
  await expectShownIsStored(tab, rig.client());
});

test("a part of the page that cannot be loaded says so and leaves the rest usable", async () => {
  const { tab } = await rig.openTab();
  await send(tab, "Hello {words:5}");
  await untilDone(tab);
  await rig.kill();
  const reload = tab.getByRole("button", { name: "Reload the page" });
  await tab.getByRole("button", { name: "Show context" }).click();
  await reload.waitFor();
  await messageField(tab).fill("A draft");
  expect(await messageField(tab).inputValue()).toBe("A draft");
  await tab.getByRole("button", { name: "Settings" }).click();
  await tab.getByRole("main").getByText("This part of the page could not be loaded.").waitFor();
  await rig.restart();
  await reload.click();
  await tab.getByRole("heading", { name: "Settings" }).first().waitFor();
});
