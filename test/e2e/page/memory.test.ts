import { expect, test } from "vitest";
import { valueOf } from "../served-host.ts";
import { createPageRig, send, untilDone } from "./page-rig.ts";

const rig = createPageRig();

test("a person adds, finds, edits and deletes what the agent knows, and sees where it came from", async () => {
  const { tab, consoleErrors } = await rig.openTab();
  await send(tab, "Remember that the ferry leaves at nine. {words:3}");
  await untilDone(tab);
  // A new conversation commits the one that it leaves.
  const [left] = valueOf(await rig.client().listSessions()).sessions;
  await rig.client().createSession({ body: { ...(left && { previousSessionId: left.id }) } });
  await expect
    .poll(async () => valueOf(await rig.client().listFacts()).total, { timeout: 20_000 })
    .toBe(1);
  await tab.goto(new URL("?settings=memory", rig.address()).href);
  const list = tab.getByRole("list", { name: "What the agent knows about you" });
  const ferry = list.getByRole("listitem").filter({ hasText: "the ferry leaves at nine" });
  await ferry.getByText("you said it", { exact: false }).waitFor();
  await ferry.getByRole("link", { name: "Open the conversation" }).waitFor();

  const form = tab.getByRole("form", { name: "Add a fact" });
  await form.getByLabel("New fact").fill("I prefer short answers");
  await form.getByRole("button", { name: "Add a fact" }).click();
  await list.getByText("I prefer short answers").waitFor();
  await tab.getByRole("searchbox", { name: "Search", exact: true }).fill("FERRY");
  await list.getByText("I prefer short answers").waitFor({ state: "detached" });
  await ferry.getByRole("button", { name: /^Edit: / }).click();
  await tab.getByLabel("Fact", { exact: true }).fill("the ferry leaves at ten");
  await tab.getByRole("button", { name: "Save" }).click();
  const changed = list.getByRole("listitem").filter({ hasText: "the ferry leaves at ten" });
  await changed.getByText("1 earlier text").waitFor();
  await changed.getByRole("button", { name: /^Delete: / }).click();
  await tab.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await tab.getByText("No fact contains these words.").waitFor();
  const { facts } = valueOf(await rig.client().listFacts());
  expect(facts.map(({ text }) => text)).toEqual(["I prefer short answers"]);
  expect(consoleErrors).toEqual([]);
});

test("an edit of what was changed elsewhere in the meantime is refused, and the list shows the other text", async () => {
  const { fact } = valueOf(await rig.client().addFact({ body: { text: "My boat is red" } }));
  const { tab } = await rig.openTab({ at: "?settings=memory" });
  await tab.getByRole("button", { name: "Edit: My boat is red" }).click();
  const field = tab.getByLabel("Fact", { exact: true });
  await field.fill("My boat is green");
  const headers = { "if-match": fact.version };
  const body = { text: "My boat is blue" };
  await rig.client().changeFact({ params: { id: fact.id }, headers, body });
  await tab.getByRole("button", { name: "Save" }).click();
  await tab.getByText("It was changed elsewhere", { exact: false }).waitFor();
  // What was typed is not lost, and a second press saves it over the text that is now shown.
  expect(await field.inputValue()).toBe("My boat is green");
  expect(valueOf(await rig.client().readFact({ params: { id: fact.id } })).fact.text).toBe(
    "My boat is blue",
  );
  await tab.getByRole("button", { name: "Cancel" }).click();
  await tab.getByText("My boat is blue", { exact: true }).waitFor();
});

test("/memory lists, adds and forgets facts in a conversation", async () => {
  const { tab, consoleErrors } = await rig.openTab();
  await send(tab, "/memory add I live in Kiel");
  await tab.getByText("Remembered: I live in Kiel").waitFor();
  await send(tab, "/memory kiel");
  await tab.getByRole("dialog").getByText("I live in Kiel").waitFor();
  await tab.getByRole("dialog").getByRole("button", { name: "Close" }).click();
  await send(tab, "/memory forget kiel");
  await tab.getByText("Deleted: I live in Kiel").waitFor();
  expect(valueOf(await rig.client().listFacts({ query: { q: "Kiel" } })).total).toBe(0);
  expect(consoleErrors).toEqual([]);
});

test("on a phone the actions of a fact are on one line inside the screen", async () => {
  await rig.client().addFact({ body: { text: "My dog is called Argos" } });
  const viewport = { width: 360, height: 780 };
  const { tab } = await rig.openTab({ at: "?settings=memory", viewport });
  const boxOf = (name: string) => tab.getByRole("button", { name }).boundingBox();
  await tab.getByText("My dog is called Argos").waitFor();
  const edit = await boxOf("Edit: My dog is called Argos");
  const remove = await boxOf("Delete: My dog is called Argos");
  expect(remove?.y).toBe(edit?.y);
  expect((remove?.x ?? 0) + (remove?.width ?? 400)).toBeLessThanOrEqual(viewport.width);
  expect(await tab.getByText("Facts that need your approval").count()).toBe(0);
});
