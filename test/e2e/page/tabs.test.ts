import { ids } from "@holdfast/protocol";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import {
  answers,
  createPageRig,
  expectShownIsStored,
  say,
  sessionOf,
  shown,
  untilDone,
} from "./page-rig.ts";
import { valueOf } from "../served-host.ts";

const rig = createPageRig();

/** Over HTTP/1.1 a browser gives a host six connections. */
const count = 8;

test("[P5] eight tabs of one browser: each speaks and shows its own, and goes on when the one that held the line is closed", async () => {
  const { tab: first, complaints, another } = await rig.openTab();
  const tabs: Page[] = [first];
  while (tabs.length < count) tabs.push(await another());
  for (const [index, tab] of tabs.entries()) await say(tab, `tab ${index} {words:4}`);
  for (const tab of tabs) await untilDone(tab);
  for (const tab of tabs) await expectShownIsStored(tab, rig.client());
  // The same conversation in two of them.
  const [leads, second, twin, ...others] = tabs;
  if (leads === undefined || second === undefined || twin === undefined) throw new Error("no tabs");
  await twin.goto(second.url());
  await leads.close();
  for (const tab of [second, ...others])
    valueOf(
      await rig.client().sendMessage({
        params: { id: sessionOf(tab) },
        body: { clientId: ids.make("message"), text: "from elsewhere {words:4}" },
      }),
    );
  for (const tab of [second, twin, ...others]) {
    await untilDone(tab, 2);
    await expectShownIsStored(tab, rig.client());
  }
  expect(await answers(second).count()).toBe(2);
  expect(await shown(twin)).toEqual(await shown(second));
  expect(complaints).toEqual([]);
});
