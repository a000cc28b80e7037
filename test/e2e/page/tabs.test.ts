import { ids } from "@holdfast/protocol";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { shownMessages } from "./compare-messages.ts";
import {
  answers,
  createPageRig,
  expectShownIsStored,
  send,
  sessionOf,
  untilDone,
} from "./page-rig.ts";
import { valueOf } from "../served-host.ts";

const rig = createPageRig();

/** More than the six connections that a browser opens to a host over HTTP/1.1. */
const tabCount = 8;

test("[P5] eight tabs of one browser each show their own conversation, and go on when the leader is closed", async () => {
  const { tab: first, consoleErrors, openAnother } = await rig.openTab();
  const tabs: Page[] = [first];
  while (tabs.length < tabCount) tabs.push(await openAnother());
  for (const [index, tab] of tabs.entries()) await send(tab, `tab ${index} {words:4}`);
  for (const tab of tabs) await untilDone(tab);
  for (const tab of tabs) await expectShownIsStored(tab, rig.client());
  // Two of them show the same conversation.
  const [leader, second, twin, ...others] = tabs;
  if (leader === undefined || second === undefined || twin === undefined)
    throw new Error("no tabs");
  await twin.goto(second.url());
  await leader.close();
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
  expect(await shownMessages(twin)).toEqual(await shownMessages(second));
  expect(consoleErrors).toEqual([]);
});
