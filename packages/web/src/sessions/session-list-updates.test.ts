import { type Client, createClient, emptySessionRead } from "@holdfast/client";
import { ids, type OwnerId, type SessionView } from "@holdfast/protocol";
import { expect, onTestFinished, test, vi } from "vitest";
import { createSessionListStore } from "./session-list-store.ts";

function row(title: string, sortAt: number, more: Partial<SessionView> = {}): SessionView {
  const { session } = emptySessionRead(ids.make("session"), "own_1" as OwnerId);
  return { ...session, title, sortAt, revision: sortAt, ...more };
}

interface Page {
  readonly sessions: readonly SessionView[];
  readonly nextCursor: string | null;
}

type Hint = ReturnType<Client["watch"]> extends AsyncIterable<infer Item> ? Item : never;

/** A host whose lists the test answers, and whose hints it sends. */
function openList(answer: (query: URLSearchParams) => Page | Promise<Page>) {
  vi.stubGlobal("document", {
    visibilityState: "hidden",
    addEventListener() {},
    removeEventListener() {},
  });
  vi.stubGlobal("navigator", { locks: {} });
  vi.stubGlobal(
    "BroadcastChannel",
    class {
      postMessage() {}
      addEventListener() {}
      removeEventListener() {}
    },
  );
  onTestFinished(() => void vi.unstubAllGlobals());
  let hints: ReadableStreamDefaultController<Hint> | undefined;
  const client = createClient({
    baseUrl: "http://host",
    fetch: async (url) => Response.json(await answer(new URL(url).searchParams)),
  });
  const store = createSessionListStore({
    ...client,
    async *watch() {
      yield* new ReadableStream<Hint>({ start: (own) => void (hints = own) });
    },
  });
  onTestFinished(store.start());
  const titles = () => store.read().sessions?.map(({ title }) => title);
  const hint = (session: SessionView) =>
    hints?.enqueue({ kind: "list", hint: { sessionId: session.id, session } });
  return { store, titles, hint };
}

const onePage = (...sessions: SessionView[]): Page => ({ sessions, nextCursor: null });

test("a hint that is older than the row shown does not replace it, and a newer one does", async () => {
  const shown = row("shown", 5, { head: 8 as SessionView["head"] });
  const { store, titles, hint } = openList(({ size }) => (size > 0 ? onePage(shown) : onePage()));
  await store.refresh();
  hint({ ...shown, title: "older", head: 7 as SessionView["head"] });
  hint(row("another", 1));
  await expect.poll(titles).toEqual(["shown", "another"]);
  hint({ ...shown, title: "newer", head: 9 as SessionView["head"] });
  await expect.poll(titles).toEqual(["newer", "another"]);
});

test("a session that is archived or deleted leaves the list, and one that comes back returns", async () => {
  const [first, second] = [row("first", 2), row("second", 1)];
  const { store, titles } = openList(() => onePage(first, second));
  await store.refresh();
  store.put({ ...first, archived: true, revision: 3 });
  expect(titles()).toEqual(["second"]);
  store.put({ ...second, trashedAt: 9, revision: 3 });
  expect(titles()).toEqual([]);
  store.put({ ...first, revision: 4 });
  expect(titles()).toEqual(["first"]);
});

test("a page that arrives after another filter was chosen is not shown", async () => {
  const more = Promise.withResolvers<Page>();
  const { store, titles } = openList((query) => {
    if (query.has("cursor")) return more.promise;
    if (query.has("archived")) return onePage(row("archived", 3, { archived: true }));
    return query.has("pinned")
      ? onePage()
      : { sessions: [row("active", 5)], nextCursor: "the next page" };
  });
  await store.refresh();
  const loading = store.loadMore();
  store.choose({ shelf: "archived", project: null, tag: null });
  await expect.poll(titles).toEqual(["archived"]);
  more.resolve(onePage(row("late", 1)));
  await loading;
  expect([titles(), store.read().hasMore]).toEqual([["archived"], false]);
});
