import type { Fetch } from "@holdfast/client";
import { expect, test } from "vitest";
import {
  createHostClient,
  type HostClient,
  type SignInAnswer,
  createHostStore,
} from "./host-store.ts";

/** A host whose answers the test controls. */
function createFakeHost() {
  const host = {
    reachable: true,
    signedIn: false,
    trouble: undefined as string | undefined,
    answer: "signed-in" as SignInAnswer,
    gate: Promise.resolve(),
  };
  const client: HostClient = {
    async health() {
      await host.gate;
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

const key = "k".repeat(64);

function depsOf(send: Fetch, linkKeys: (string | undefined)[] = []) {
  const pageKey = { value: () => key, forget: () => {} };
  return { send, pageKey, setLinkKey: (linkKey?: string) => void linkKeys.push(linkKey) };
}

const signedIn = { kind: "signed-in", version: "1.2.3", answering: true };
const signedOut = { kind: "signed-out", version: "1.2.3" };

test("the store starts as loading and then asks to sign in", async () => {
  const { store } = createFakeHost();
  expect(store.read()).toEqual({ kind: "loading" });
  await store.check();
  expect(store.read()).toEqual(signedOut);
});

test("a code or a token signs in, and signing out asks to sign in again", async () => {
  const { store } = createFakeHost();
  await store.signInWithCode("code");
  expect(store.read()).toEqual(signedIn);
  await store.signOut();
  expect(store.read()).toEqual(signedOut);
  await store.signInWithToken("token");
  expect(store.read()).toEqual(signedIn);
});

test("a refusal says whether the link or the token was refused, and stays until the next attempt", async () => {
  const { host, store } = createFakeHost();
  host.answer = "refused";
  await store.signInWithCode("used");
  expect(store.read()).toEqual({ ...signedOut, trouble: "link-refused" });
  await store.signInWithToken("wrong");
  expect(store.read()).toEqual({ ...signedOut, trouble: "token-refused" });
  await store.check();
  expect(store.read()).toEqual({ ...signedOut, trouble: "token-refused" });
});

test("a used link in a signed-in browser changes nothing", async () => {
  const { host, store } = createFakeHost();
  host.signedIn = true;
  host.answer = "refused";
  await store.signInWithCode("used");
  expect(store.read()).toEqual(signedIn);
});

test("an unreachable host keeps a signed-in page open and is reported otherwise", async () => {
  const { host, store } = createFakeHost();
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

test("a host in trouble reports the reason until it recovers", async () => {
  const { host, store } = createFakeHost();
  await store.signInWithToken("token");
  host.trouble = "The disk is full.";
  await store.check();
  expect(store.read()).toEqual({ ...signedIn, trouble: "The disk is full." });
  host.trouble = undefined;
  await store.check();
  expect(store.read()).toEqual(signedIn);
});

test("the health of a current host is read with its first reason, and that of an older host without", async () => {
  const healthOf = (body: unknown) =>
    createHostClient(
      "http://host/",
      depsOf(async () => Response.json(body)),
    ).health();
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

test("the late result of an earlier check does not undo a sign-in", async () => {
  const { host, store } = createFakeHost();
  const gate = Promise.withResolvers<void>();
  host.gate = gate.promise;
  const staleCheck = store.check();
  host.gate = Promise.resolve();
  await store.signInWithToken("token");
  host.signedIn = false;
  gate.resolve();
  await staleCheck;
  expect(store.read()).toEqual(signedIn);
});

test("a sign-in without a page key is bound to this page once, and then gives the key for links", async () => {
  const sent: string[] = [];
  const host = { isBound: false, hasSignIn: true };
  const send: Fetch = async (url, { method = "GET", body }) => {
    sent.push(`${method} ${new URL(url).pathname} ${typeof body === "string" ? body : ""}`.trim());
    if (url.endsWith("/api/login")) {
      host.isBound = host.hasSignIn;
      return new Response(null, { status: host.hasSignIn ? 204 : 401 });
    }
    return host.isBound ? Response.json({ linkKey: "link" }) : new Response(null, { status: 401 });
  };
  const linkKeys: (string | undefined)[] = [];
  const client = createHostClient("http://host/", depsOf(send, linkKeys));
  expect(await client.principal()).toBe("signed-in");
  expect(linkKeys).toEqual(["link"]);
  Object.assign(host, { isBound: false, hasSignIn: false });
  expect(await client.principal()).toBe("signed-out");
  expect(sent).toEqual([
    "GET /api/principal",
    `POST /api/login {"pageKey":"${key}"}`,
    "GET /api/principal",
    "GET /api/principal",
  ]);
});
