import { expect, test } from "vitest";
import type { HostClient, SignInAnswer } from "./client.ts";
import { createHostStore } from "./state.ts";

/** A host whose answers the test decides, one moment at a time. */
function pretendHost() {
  const host = {
    reachable: true,
    signedIn: false,
    answer: "signed-in" as SignInAnswer,
    hold: Promise.resolve(),
  };
  const client: HostClient = {
    async health() {
      await host.hold;
      return host.reachable ? { kind: "well", version: "1.2.3" } : { kind: "unreachable" };
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
