import type { SessionId } from "@holdfast/protocol";
import type { Page } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import {
  answers,
  createPageRig,
  expectShownIsStored,
  messageField,
  say,
  sessionOf,
  shown,
  stopButton,
  stored,
  untilDone,
} from "./page-rig.ts";
import { startPostgresProxy } from "@holdfast/testing/postgres/postgres-proxy";
import { readLog, valueOf } from "../served-host.ts";

const rig = createPageRig();

/** Longer than any of these tests: somebody has to stop it. */
const longAnswer = "{words:9000} {rate:150}";

async function untilAnswering(tab: Page): Promise<void> {
  await answers(tab).getByText("holdfast").first().waitFor();
}

/** The one that goes on, whatever was broken off above it. */
async function stopAnswer(tab: Page): Promise<void> {
  await stopButton(tab).click();
  await tab.getByText("Stopped here.").waitFor();
}

async function logOf(id: SessionId) {
  const read = await rig.client().readSession({ params: { id } });
  if (!read.ok) throw new Error(JSON.stringify(read.error));
  return readLog(rig.client(), id, read.value.seq);
}

test("[P5] the host is killed while it answers: what was seen stays, the page says how the line is, and catches up by itself", async () => {
  const { tab, complaints } = await rig.openTab();
  await say(tab, longAnswer);
  await untilAnswering(tab);
  const seen = (await shown(tab))[1] ?? "";
  await rig.kill();
  await tab.getByText(/^(Reconnecting|Offline)$/).waitFor();
  expect((await shown(tab))[1]?.startsWith(seen)).toBe(true);
  await rig.serveAgain();
  await tab.getByText("Live", { exact: true }).waitFor();
  // The run goes on after a notice that says why it broke off; the first attempt stays above it.
  await tab.getByRole("note").waitFor();
  await stopAnswer(tab);
  expect((await shown(tab))[1]?.startsWith(seen)).toBe(true);
  await expectShownIsStored(tab, rig.client());
  expect(complaints).toEqual([]);
});

test("a host that answers and takes no writes is not called well, and the page says what to do", async () => {
  const { tab } = await rig.openTab();
  await tab.getByText("The host is well").waitFor({ state: "attached" });
  const reason = "The store's disk is full: make room.";
  const json = { version: "0.1.0", status: "degraded", ready: false, reasons: [reason] };
  await tab.route("**/health", (route) => route.fulfill({ json }));
  await tab.reload();
  await tab.getByText(reason).waitFor();
  expect(await tab.getByText("The host is well").count()).toBe(0);
  await tab.unroute("**/health");
  // It is looked after sooner than a well host is.
  await tab.getByText("The host is well").waitFor({ state: "attached" });
});

test("[P6] the only tab is closed while it is answered: the answer goes on, and another tab finds all of it and can stop it", async () => {
  const { tab, another } = await rig.openTab();
  await say(tab, longAnswer);
  await untilAnswering(tab);
  const [id, address] = [sessionOf(tab), tab.url()];
  const seen = (await shown(tab))[1] ?? "";
  await tab.close();
  const said = async (): Promise<string> => {
    const { live, run } = valueOf(await rig.client().readSession({ params: { id } }));
    expect(run?.state).toBe("running");
    return live?.messages[0]?.parts.map(({ text }) => text).join("") ?? "";
  };
  const goesOn = async (): Promise<number> => (await said()).length;
  await expect.poll(goesOn).toBeGreaterThan(2 * seen.length);
  const later = await another(address);
  await untilAnswering(later);
  expect((await shown(later))[1]?.startsWith(seen)).toBe(true);
  await stopAnswer(later);
  await expectShownIsStored(later, rig.client());
});

test("the host is killed while a tool waits for a word: the question is still there, and the answer counts", async () => {
  const { tab } = await rig.openTab();
  await say(tab, '{tool:terminal {"command":"echo once"}} {words:4}');
  const allow = tab.getByRole("button", { name: "Allow once" });
  await allow.waitFor();
  await rig.kill();
  await rig.serveAgain();
  await tab.getByText("Live", { exact: true }).waitFor();
  await allow.click();
  await untilDone(tab, 2);
  const started = (await logOf(sessionOf(tab))).filter(({ type }) => type === "tool.started");
  expect(started.length).toBe(1);
});

test("a message that the host cannot take is kept in sight, goes out when it can, and is there once", async () => {
  const { tab } = await rig.openTab();
  await say(tab, "first {words:3}");
  await untilDone(tab);
  await rig.kill();
  await say(tab, "said into the dark {words:3}");
  await tab.getByText("said into the dark").waitFor();
  await tab.getByText("Not accepted yet").waitFor();
  await rig.serveAgain();
  await untilDone(tab, 2);
  await expectShownIsStored(tab, rig.client());
  const said = await stored(rig.client(), sessionOf(tab));
  expect(said.filter((text) => text.startsWith("said into")).length).toBe(1);
});

test("an acknowledgement that is lost, and a reload before it, make one message and not two", async () => {
  const { tab } = await rig.openTab();
  await say(tab, "begin {words:3}");
  await untilDone(tab);
  // It reaches the host; the answer never reaches the page.
  await tab.route("**/messages", async (route) => {
    await route.fetch();
    await route.abort();
  });
  await say(tab, "twice over the wire {words:3}");
  await untilDone(tab, 2);
  await tab.unrouteAll({ behavior: "wait" });
  await tab.reload();
  await untilDone(tab, 2);
  const said = await stored(rig.client(), sessionOf(tab));
  expect(said.filter((text) => text.startsWith("twice")).length).toBe(1);
  await tab.getByText("Sending…").waitFor({ state: "detached" });
  await expectShownIsStored(tab, rig.client());
});

test("a line that is cut while text streams is told as it is, and the missing suffix comes when it is back", async () => {
  const line = await startPostgresProxy(rig.address());
  onTestFinished(() => line[Symbol.asyncDispose]());
  const { tab, complaints } = await rig.openTab({ through: line.url });
  await say(tab, longAnswer);
  await untilAnswering(tab);
  line.set("refuse");
  await tab.getByText(/^(Reconnecting|Offline)$/).waitFor();
  const seen = (await shown(tab))[1] ?? "";
  line.set("pass");
  await tab.getByText("Live", { exact: true }).waitFor();
  await stopAnswer(tab);
  expect((await shown(tab))[1]?.startsWith(seen)).toBe(true);
  await expectShownIsStored(tab, rig.client());
  expect(complaints).toEqual([]);
});

test("two tabs agree: what one says, stops, renames and takes back the other shows", async () => {
  const { tab, another } = await rig.openTab();
  await say(tab, "shared {words:3000} {rate:150}");
  await untilAnswering(tab);
  const other = await another(tab.url());
  await untilAnswering(other);
  await say(other, "queued from the other");
  await tab.getByRole("list", { name: "Waiting" }).getByText("queued from the other").waitFor();
  await tab.getByRole("button", { name: "Take back" }).click();
  await other.getByText("queued from the other").waitFor({ state: "detached" });
  await stopButton(other).click();
  await tab.getByText("Stopped here.").waitFor();
  await tab.locator(".talk-title button").click();
  await tab.getByRole("textbox", { name: "Title" }).fill("A shared title");
  await tab.keyboard.press("Enter");
  await other.locator(".talk-title").getByText("A shared title").waitFor();
  await other.getByRole("link", { name: /A shared title/ }).waitFor();
  expect(await shown(other)).toEqual(await shown(tab));
});

test("[S2.9] a new conversation names the one that it leaves, and that one's work is committed", async () => {
  const { tab } = await rig.openTab();
  await say(tab, "My name is Ada and I live in Turin. {words:5}");
  await untilDone(tab);
  const left = sessionOf(tab);
  const kinds = async () => (await logOf(left)).map(({ type }) => type);
  expect(await kinds()).toContain("memory.marked");
  expect(await kinds()).not.toContain("memory.committed");
  await tab.getByRole("button", { name: "New conversation" }).click();
  await tab.getByRole("heading", { name: "Conversations that hold" }).waitFor();
  await messageField(tab).fill("something else {words:3}");
  await tab.keyboard.press("Enter");
  await untilDone(tab);
  expect(sessionOf(tab)).not.toBe(left);
  await expect.poll(kinds).toContain("memory.committed");
});

test("a host that asks before it goes on: the page shows what survived and resumes on a word", async () => {
  const { tab } = await rig.openTab();
  await say(tab, longAnswer);
  await untilAnswering(tab);
  const seen = (await shown(tab))[1] ?? "";
  await rig.kill();
  await rig.serveAgain({ HOLDFAST_RESUME: "ask" });
  const card = tab.getByRole("region", { name: "The run was interrupted, and waits for you" });
  await card.waitFor();
  expect((await shown(tab))[1]?.startsWith(seen)).toBe(true);
  await card.getByRole("button", { name: "Resume" }).click();
  await answers(tab).nth(1).waitFor();
  await stopAnswer(tab);
  await expectShownIsStored(tab, rig.client());
});
