import { expect, onTestFinished, test } from "vitest";
import { openProviderServer } from "@holdfast/testing/host/providers/provider-server";
import { valueOf } from "../served-host.ts";
import { answers, createPageRig, send, untilDone } from "./page-rig.ts";

const rig = createPageRig({ HOLDFAST_TOOL_RULES: "allow web_search" });

const results = [
  {
    url: "https://tides.example/table",
    title: "Tides & times",
    content: "High water at nine.",
    publishedDate: "2026-08-30T04:05:06",
  },
  { url: "javascript:alert(1)", title: "Trap", content: "" },
  { url: "https://moon.example/", title: "The moon", content: "Full." },
];

test("SearXNG is set up on the page, the agent searches with it, and the answer shows its sources", async () => {
  const server = await openProviderServer(() => ({ frames: [JSON.stringify({ results })] }));
  onTestFinished(() => server[Symbol.asyncDispose]());
  const { tab, consoleErrors } = await rig.openTab({ at: "?settings=tools" });
  await tab.getByText("No provider is set up, so the agent cannot search.").waitFor();
  await tab.getByLabel("Address of SearXNG").fill(server.url);
  const card = tab.getByRole("listitem").filter({ hasText: "Address of SearXNG" });
  await card.getByRole("button", { name: "Save" }).click();
  await tab.getByText("The agent searches with SearXNG.").waitFor();
  await card.getByRole("button", { name: "Check again: SearXNG" }).click();
  await card.getByText("works", { exact: true }).waitFor();
  const { tools } = valueOf(await rig.client().listSettings());
  expect(tools.map(({ name }) => name)).toContain("web_search");

  const talk = await rig.openTab();
  await send(talk.tab, 'look {tool:web_search {"query":"tides today"}}');
  await untilDone(talk.tab);
  await answers(talk.tab).first().waitFor();
  const sources = talk.tab.locator(".turn-sources");
  await sources.getByText("tides.example, moon.example").waitFor();
  await sources.getByText("2 sources").click();
  const links = sources.getByRole("link");
  expect(await links.allInnerTexts()).toEqual(["Tides & times", "The moon"]);
  expect(await links.first().getAttribute("href")).toBe("https://tides.example/table");
  expect(await links.first().getAttribute("rel")).toContain("noopener");
  const tool = talk.tab.getByRole("region", { name: "web_search: Done" });
  await tool.getByRole("button", { expanded: false }).click();
  await tool.locator(".sources").getByText("High water at nine.").waitFor();
  expect([...consoleErrors, ...talk.consoleErrors]).toEqual([]);
  expect(server.requests.at(-1)).toMatchObject({ path: "/search?q=tides+today&format=json" });
});

test("a search that fails says in its card what to do, and shows no sources", async () => {
  const server = await openProviderServer(() => ({ status: 403, frames: ["no"] }));
  onTestFinished(() => server[Symbol.asyncDispose]());
  valueOf(
    await rig.client().putSetting({ params: { name: "searxngUrl" }, body: { value: server.url } }),
  );
  const { tab } = await rig.openTab();
  await send(tab, 'look {tool:web_search {"query":"tides today"}}');
  const tool = tab.getByRole("region", { name: "web_search: Failed" });
  await tool
    .getByText("Add json to search.formats in its settings.yml", { exact: false })
    .waitFor();
  await untilDone(tab);
  expect(await tab.locator(".turn-sources").count()).toBe(0);
});
