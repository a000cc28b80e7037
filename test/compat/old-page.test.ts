import { ids, type Seq, type SessionId } from "@holdfast/protocol";
import { expect, onTestFinished, test } from "vitest";

import * as rig from "../../packages/web/test/shared-stream-rig.ts";
import { base, createEventHost, pause } from "../../packages/web/test/shared-stream-rig.ts";
import { loadOldPage } from "./old-page.ts";

const oldPage = loadOldPage();

/** A tab of the page of 0.1.0 that follows a session. */
function openOldTab(host: rig.EventHost, baseUrl: string, id: SessionId) {
  const channel = new BroadcastChannel(`holdfast:line:1:${baseUrl}`);
  const shared = oldPage.createSharedFetch({
    fetch: (url, init) => host.fetch(url, init),
    baseUrl,
    locks: navigator.locks,
    channel,
    newId: () => crypto.randomUUID(),
  });
  const leaving = new AbortController();
  const close = (): void => {
    leaving.abort();
    shared.close();
    channel.close();
  };
  onTestFinished(close);
  const client = oldPage.createClient({ baseUrl: base, fetch: shared.fetch, sleep: pause });
  const seen: number[] = [];
  void (async () => {
    for await (const item of client.follow(id, 0 as Seq, { signal: leaving.signal }))
      if (item.kind === "event") seen.push(item.event.seq);
  })();
  return { seen, close };
}

function openNewTab(browser: ReturnType<typeof rig.createTestBrowser>, id: SessionId) {
  const tab = browser.open();
  return { ...tab, seen: rig.follow(tab.shared, id, 0, onTestFinished).seen };
}

test("[P5] tabs of the old and the new page share a browser, and each version has its own leader", async () => {
  const host = createEventHost();
  const browser = rig.createTestBrowser(host, onTestFinished);
  const id = ids.make("session");
  host.append(id);
  const tabs = [
    openOldTab(host, browser.baseUrl, id),
    openNewTab(browser, id),
    openOldTab(host, browser.baseUrl, id),
    openNewTab(browser, id),
  ] as const;
  const seen = () => tabs.map((tab) => tab.seen);
  await expect.poll(seen).toEqual([[1], [1], [1], [1]]);
  host.append(id);
  await expect.poll(seen).toEqual([1, 2, 3, 4].map(() => [1, 2]));
  expect(host.openStreams()).toBe(2);

  // The leaders close, and another tab of each version takes over.
  tabs[0].close();
  tabs[1].close();
  host.append(id);
  await expect
    .poll(() => seen().slice(2))
    .toEqual([
      [1, 2, 3],
      [1, 2, 3],
    ]);
  await expect.poll(() => host.openStreams()).toBe(2);
});
