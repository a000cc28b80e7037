import { expect, test } from "vitest";
import {
  createHostClient,
  type HostClient,
  type SignInAnswer,
  createHostStore,
} from "./host-store.ts";

/** A host whose answers the test decides, one moment at a time. */
function pretendHost() {
  const host = {
    reachable: true,
    signedIn: false,
    trouble: undefined as string | undefined,
    answer: "signed-in" as SignInAnswer,
    hold: Promise.resolve(),
  };
  const client: HostClient = {
    async health() {
      await host.hold;
      if (!host.reachable) return { kind: "unreachable" };
      return {
        kind: "answers",
        version: "1.2.3",
        ...(host.trouble !== undefined && { trouble: host.trouble }),
      };
    },
    async principal() {
      if (!host.reachable) return "unreachable";
      return host.signedIn ? "signed-in" : "signed-out";
    },
    async signIn() {
      if (host.answer === "signed-in") host.signedIn = true;
      return host.answer;
    },
    async signOut() {
      host.signedIn = false;
    },
  };
  return { host, store: createHostStore(client) };
}

const signedIn = { kind: "signed-in", version: "1.2.3", answering: true };
const signedOut = { kind: "signed-out", version: "1.2.3" };

test("the page begins by loading and then shows who is asked to sign in", async () => {
  const { store } = pretendHost();
  expect(store.read()).toEqual({ kind: "loading" });
  await store.check();
  expect(store.read()).toEqual(signedOut);
});

test("a code or a token signs in, and signing out asks again", async () => {
  const { store } = pretendHost();
  await store.signInWithCode("code");
  expect(store.read()).toEqual(signedIn);
  await store.signOut();
  expect(store.read()).toEqual(signedOut);
  await store.signInWithToken("token");
  expect(store.read()).toEqual(signedIn);
});

test("a refusal says which of the two was refused, and stays until the next try", async () => {
  const { host, store } = pretendHost();
  host.answer = "refused";
  await store.signInWithCode("used");
  expect(store.read()).toEqual({ ...signedOut, trouble: "link-refused" });
  await store.signInWithToken("wrong");
  expect(store.read()).toEqual({ ...signedOut, trouble: "token-refused" });
  await store.check();
  expect(store.read()).toEqual({ ...signedOut, trouble: "token-refused" });
});

test("a used link in a browser that is signed in changes nothing", async () => {
  const { host, store } = pretendHost();
  host.signedIn = true;
  host.answer = "refused";
  await store.signInWithCode("used");
  expect(store.read()).toEqual(signedIn);
});

test("a silent host keeps the page of who is signed in, and is told to who is not", async () => {
  const { host, store } = pretendHost();
  host.reachable = false;
  await store.check();
  expect(store.read()).toEqual({ kind: "unreachable" });
  host.reachable = true;
  await store.signInWithToken("token");
  host.reachable = false;
  await store.check();
  expect(store.read()).toEqual({ ...signedIn, answering: false });
  host.reachable = true;
  await store.check();
  expect(store.read()).toEqual(signedIn);
});

test("a host that answers and lacks something says what, until it has it again", async () => {
  const { host, store } = pretendHost();
  await store.signInWithToken("token");
  host.trouble = "The disk is full.";
  await store.check();
  expect(store.read()).toEqual({ ...signedIn, trouble: "The disk is full." });
  host.trouble = undefined;
  await store.check();
  expect(store.read()).toEqual(signedIn);
});

test("what a host says of its health is read whole, and of an older one as far as it goes", async () => {
  const healthOf = (body: unknown) =>
    createHostClient("http://host/", async () => Response.json(body)).health();
  const version = "1.2.3";
  const reasons = ["The disk is full.", "The host is stopping."];
  expect(await healthOf({ version, reasons })).toEqual({
    kind: "answers",
    version,
    trouble: "The disk is full.",
  });
  expect(await healthOf({ version })).toEqual({ kind: "answers", version });
  expect(await healthOf({ name: "another program" })).toEqual({ kind: "unreachable" });
});

test("the late answer to an earlier check does not undo a sign-in", async () => {
  const { host, store } = pretendHost();
  const gate = Promise.withResolvers<void>();
  host.hold = gate.promise;
  const late = store.check();
  host.hold = Promise.resolve();
  await store.signInWithToken("token");
  host.signedIn = false;
  gate.resolve();
  await late;
  expect(store.read()).toEqual(signedIn);
});
