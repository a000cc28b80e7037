import { expect, test } from "vitest";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { codeLifetimeMs, createAuthenticator, owner, signInLifetimeMs } from "./authenticator.ts";

const token = "a-token-for-this-test";

function makeDoorkeeper() {
  const clock = { now: 1_000_000 };
  const store = createReferenceStore();
  return { clock, store, door: createAuthenticator({ token, store, now: () => clock.now }) };
}

const bearer = (text: string) => ({ authorization: text, signIn: undefined });
const cookie = (signIn: string | undefined) => ({ authorization: undefined, signIn });

test("the bearer token authenticates the owner", async () => {
  const { door } = makeDoorkeeper();
  expect(await door.authenticate(bearer(`Bearer ${token}`))).toMatchObject({
    ownerId: "owner",
    by: "token",
  });
});

test.each(["Bearer", "Bearer ", "Bearer a-token-for-this-tes", `Basic ${token}`, token, ""])(
  "[safety] %j authenticates nobody",
  async (authorization) => {
    expect(await makeDoorkeeper().door.authenticate(bearer(authorization))).toBeUndefined();
  },
);

test("a code signs in once", async () => {
  const { door } = makeDoorkeeper();
  const code = (await door.issueSignInCode()).code;
  const signIn = await door.signIn({ code });
  expect(await door.authenticate(cookie(signIn))).toMatchObject({
    ownerId: "owner",
    by: "sign-in",
  });
  expect(await door.signIn({ code })).toBeUndefined();
});

test("a code is valid up to its last millisecond", async () => {
  const { door, clock } = makeDoorkeeper();
  const [first, second] = [
    (await door.issueSignInCode()).code,
    (await door.issueSignInCode()).code,
  ];
  clock.now += codeLifetimeMs - 1;
  expect(await door.signIn({ code: first })).toBeDefined();
  clock.now += 1;
  expect(await door.signIn({ code: second })).toBeUndefined();
});

test("a sign-in ends at sign-out or when it expires", async () => {
  const { door, clock } = makeDoorkeeper();
  const [one, other] = [await door.signIn({ token }), await door.signIn({ token })];
  await door.signOut(one ?? "");
  expect(await door.authenticate(cookie(one))).toBeUndefined();
  expect(await door.authenticate(cookie(other))).toBeDefined();
  clock.now += signInLifetimeMs;
  expect(await door.authenticate(cookie(other))).toBeUndefined();
});

test("[safety] a valid cookie does not make up for a wrong token", async () => {
  const { door } = makeDoorkeeper();
  const signIn = await door.signIn({ token });
  expect(await door.authenticate({ authorization: "Bearer wrong", signIn })).toBeUndefined();
});

test("neither a token nor a code is accepted as the other", async () => {
  const { door } = makeDoorkeeper();
  const code = (await door.issueSignInCode()).code;
  expect(await door.signIn({ token: code })).toBeUndefined();
  expect(await door.signIn({ code: token })).toBeUndefined();
  expect(await door.authenticate(bearer(`Bearer ${code}`))).toBeUndefined();
});

test("the 1001st sign-in evicts the oldest", async () => {
  const { door, store, clock } = makeDoorkeeper();
  const oldest = await door.signIn({ token });
  const [first] = await store.register.list(owner, "sign-in/", 1);
  for (let slot = 1; slot < 1_000; slot += 1) {
    const { digest, ...signIn } = JSON.parse(first?.value ?? "") as Record<string, string>;
    const createdAt = clock.now + slot;
    const value = JSON.stringify({
      ...signIn,
      id: `${slot}`,
      digest: `${digest}${slot}`,
      createdAt,
    });
    await store.register.put({ owner, key: `sign-in/${slot}`, value, expect: 0 });
  }
  clock.now += 1_000;
  expect(await door.authenticate(cookie(oldest))).toBeDefined();
  const newest = await door.signIn({ token });
  expect(await door.authenticate(cookie(oldest))).toBeUndefined();
  expect(await door.authenticate(cookie(newest))).toBeDefined();
  expect(await door.signIns()).toHaveLength(1_000);
});

test("a revoked sign-in is invalid, and its signal aborts at once", async () => {
  const { door } = makeDoorkeeper();
  const [one, other] = [
    await door.signIn({ token }, { about: "Firefox" }),
    await door.signIn({ token }, { about: "Safari" }),
  ];
  const [first, second] = [
    await door.authenticate(cookie(one)),
    await door.authenticate(cookie(other)),
  ];
  expect((await door.signIns()).map(({ about }) => about)).toEqual(["Safari", "Firefox"]);
  expect(await door.revoke(first?.signInId ?? "")).toBe("revoked");
  expect([first?.revoked.aborted, second?.revoked.aborted]).toEqual([true, false]);
  expect(await door.authenticate(cookie(one))).toBeUndefined();
  expect(await door.authenticate(cookie(other))).toBeDefined();
  expect(await door.revoke(first?.signInId ?? "")).toBe("not_found");
});

test("a sign-in is fresh for ten minutes, and the token always is", async () => {
  const { door, clock } = makeDoorkeeper();
  const signIn = await door.signIn({ token });
  expect((await door.authenticate(cookie(signIn)))?.isFresh).toBe(true);
  clock.now += codeLifetimeMs;
  expect((await door.authenticate(cookie(signIn)))?.isFresh).toBe(false);
  expect((await door.authenticate(bearer(`Bearer ${token}`)))?.isFresh).toBe(true);
});

const pageKey = "p".repeat(43);

test("[safety] the cookie of a page's sign-in is worth nothing without the page key", async () => {
  const { door } = makeDoorkeeper();
  const signIn = await door.signIn({ token }, { page: { key: pageKey } });
  const linkKey = (await door.authenticate({ ...cookie(signIn), pageKey }))?.linkKey;
  expect(linkKey).toBeDefined();
  expect(await door.authenticate({ ...cookie(signIn), linkKey })).toBeDefined();
  for (const more of [{}, { pageKey: "q".repeat(43) }, { pageKey: linkKey }, { linkKey: pageKey }])
    expect(await door.authenticate({ ...cookie(signIn), ...more })).toBeUndefined();
});

test("[safety] a sign-in without a page key is bound once, and is worth nothing before", async () => {
  const { door } = makeDoorkeeper();
  const signIn = (await door.signIn({ token }, { page: "later" })) ?? "";
  expect(await door.authenticate(cookie(signIn))).toBeUndefined();
  expect(await door.authenticate({ ...cookie(signIn), pageKey })).toBeUndefined();
  expect(await door.bindPage(signIn, pageKey)).toBe(true);
  expect(await door.bindPage(signIn, "q".repeat(43))).toBe(false);
  expect(await door.authenticate({ ...cookie(signIn), pageKey })).toBeDefined();
  expect(await door.authenticate({ ...cookie(signIn), pageKey: "q".repeat(43) })).toBeUndefined();
  const ofProgram = (await door.signIn({ token }, { page: "none" })) ?? "";
  expect(await door.bindPage(ofProgram, pageKey)).toBe(false);
  expect(await door.authenticate(cookie(ofProgram))).toBeDefined();
});
