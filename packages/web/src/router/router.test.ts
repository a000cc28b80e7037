import { ids } from "@holdfast/protocol";
import { expect, onTestFinished, test, vi } from "vitest";

import { createRouter } from "./router.ts";

/** A tab with its history: what the router needs of a browser. */
function openTab() {
  const entries = [{ search: "", state: null as unknown }];
  let at = 0;
  const entryOf = (state: unknown, href: string) => ({
    search: href.startsWith("?") ? href : "",
    state,
  });
  const page = new EventTarget();
  vi.stubGlobal("addEventListener", page.addEventListener.bind(page));
  vi.stubGlobal("location", {
    pathname: "/",
    get search() {
      return entries[at]?.search;
    },
  });
  vi.stubGlobal("history", {
    get state() {
      return entries[at]?.state;
    },
    pushState(state: unknown, _title: string, href: string) {
      entries.splice(++at, entries.length, entryOf(state, href));
    },
    replaceState: (state: unknown, _title: string, href: string) =>
      void (entries[at] = entryOf(state, href)),
  });
  onTestFinished(() => void vi.unstubAllGlobals());
  return {
    router: createRouter(),
    back: () => {
      at -= 1;
      page.dispatchEvent(new Event("popstate"));
    },
  };
}

test("only the browser's own Back leads to where the reader was; a link leads to the end", () => {
  const { router, back } = openTab();
  const [first, second] = [ids.make("session"), ids.make("session")];
  router.go({ kind: "session", id: first, at: null });
  router.go({ kind: "session", id: second, at: null });
  expect(router.isReturn()).toBe(false);
  back();
  expect([router.isReturn(), router.read()]).toMatchObject([true, { id: first }]);
  router.go({ kind: "session", id: second, at: null });
  expect([router.isReturn(), router.read()]).toMatchObject([false, { id: second }]);
  back();
  router.replace({ kind: "session", id: second, at: null });
  expect([router.isReturn(), router.read()]).toMatchObject([false, { id: second }]);
});

test("what was searched for in a conversation comes back with Back, and is in no address", () => {
  const { router, back } = openTab();
  const id = ids.make("session");
  router.go({ kind: "session", id, at: null, find: "tides" });
  expect(location.search).not.toContain("tides");
  router.go({ kind: "session", id: ids.make("session"), at: null });
  expect(router.read()).not.toHaveProperty("find");
  back();
  expect(router.read()).toMatchObject({ id, find: "tides" });
});
