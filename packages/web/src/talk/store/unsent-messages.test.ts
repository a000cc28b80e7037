import { createClient } from "@holdfast/client";
import { ids } from "@holdfast/protocol";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { createUnsentStore, type MessageContent } from "./unsent-messages.ts";

const session = ids.make("session");
const hello: MessageContent = { text: "Hello", attachments: [], mode: "queue" };

beforeEach(() => {
  // Like localStorage, its own keys are the stored ones.
  const storage: Record<string, string> = {};
  Object.defineProperties(storage, {
    getItem: { value: (key: string) => storage[key] ?? null },
    setItem: { value: (key: string, value: string) => void (storage[key] = value) },
    removeItem: { value: (key: string) => void delete storage[key] },
  });
  vi.stubGlobal("localStorage", storage);
  onTestFinished(() => void vi.unstubAllGlobals());
});

interface Received {
  readonly clientId: string;
  readonly text: string;
  readonly session: string;
  readonly accept: () => void;
}

/** A host that accepts each message when the test says so, unless it cannot be reached. */
function createHost() {
  const received: Received[] = [];
  let down = Promise.withResolvers<Response>();
  let isDown = false;
  const client = createClient({
    baseUrl: "http://host",
    sleep: async () => {},
    async fetch(url, init) {
      if (isDown) return down.promise;
      const { clientId, text } = JSON.parse(init?.body as string) as Received;
      const accepted = Promise.withResolvers<Response>();
      const reply = { messageId: ids.make("message"), runId: ids.make("run"), seq: 9 };
      received.push({
        clientId,
        text,
        session: new URL(url).pathname.split("/")[3] ?? "",
        accept: () => accepted.resolve(Response.json(reply, { status: 202 })),
      });
      return Promise.race([accepted.promise, down.promise]);
    },
  });
  return {
    client,
    received,
    goDown() {
      isDown = true;
      down.reject(new TypeError("fetch failed"));
    },
    comeBack() {
      isDown = false;
      down = Promise.withResolvers();
    },
  };
}

const storedCount = (): number => Object.keys(localStorage).length;

test("[P1] a message that is being sent is still there after a reload, under the same id", async () => {
  const host = createHost();
  createUnsentStore(host.client).send(session, hello);
  await expect.poll(() => host.received.length).toBe(1);
  // The first page is gone before it gets an answer.
  const reloaded = createUnsentStore(host.client);
  await expect.poll(() => host.received.length).toBe(2);
  const [first, second] = host.received;
  expect(second).toMatchObject({ clientId: first?.clientId, text: "Hello", session });
  second?.accept();
  await expect.poll(() => reloaded.read()[0]).toMatchObject({ state: "accepted", seq: 9 });
  expect(storedCount()).toBe(0);
});

test("[P1] a message that got no answer is sent again under its id", async () => {
  const host = createHost();
  const store = createUnsentStore(host.client);
  store.send(session, hello);
  await expect.poll(() => host.received.length).toBe(1);
  host.goDown();
  await expect.poll(() => store.read()[0]?.trouble).toBe("network");
  expect(storedCount()).toBe(1);
  host.comeBack();
  store.retry(store.read()[0]?.clientId ?? "");
  await expect.poll(() => host.received.length).toBe(2);
  expect(host.received[1]?.clientId).toBe(host.received[0]?.clientId);
  expect(store.read()).toMatchObject([{ state: "sending", trouble: null }]);
});

test("messages are sent one after the other, and each keeps its own state", async () => {
  const host = createHost();
  const store = createUnsentStore(host.client);
  store.send(session, hello);
  store.send(session, { ...hello, text: "And then" });
  await expect.poll(() => host.received.length).toBe(1);
  expect(store.read().map(({ text }) => text)).toEqual(["Hello", "And then"]);
  host.received[0]?.accept();
  await expect.poll(() => host.received.map(({ text }) => text)).toEqual(["Hello", "And then"]);
  host.goDown();
  await expect.poll(() => store.read().map(({ state }) => state)).toEqual(["accepted", "failed"]);
});

test("a discarded message is neither shown nor sent after a reload", async () => {
  const host = createHost();
  const store = createUnsentStore(host.client);
  store.send(session, hello);
  await expect.poll(() => host.received.length).toBe(1);
  host.goDown();
  await expect.poll(() => store.read()[0]?.state).toBe("failed");
  store.discard(store.read()[0]?.clientId ?? "");
  expect([store.read(), storedCount()]).toEqual([[], 0]);
  expect(createUnsentStore(host.client).read()).toEqual([]);
});

test.each([
  [409, "refused"],
  [503, "network"],
])(
  "a message that the host answers with %i is shown as %s, with the host's reason",
  async (status, trouble) => {
    const body = {
      type: "about:blank",
      title: "No",
      status,
      code: "session_not_found",
      detail: "Why.",
    };
    const client = createClient({
      baseUrl: "http://host",
      sleep: async () => {},
      fetch: () =>
        Response.json(body, { status, headers: { "content-type": "application/problem+json" } }),
    });
    const store = createUnsentStore(client);
    store.send(session, hello);
    await expect.poll(() => store.read()[0]?.state).toBe("failed");
    expect(store.read()).toMatchObject([{ trouble }]);
    expect(store.read()[0]?.reason).toContain("Why.");
    expect(storedCount()).toBe(1);
  },
);
