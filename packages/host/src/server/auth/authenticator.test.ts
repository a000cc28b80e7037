import { expect, test } from "vitest";
import { codeLifetimeMs, createAuthenticator, signInLifetimeMs } from "./authenticator.ts";

const token = "a-token-for-this-test";

function makeDoorkeeper() {
  const clock = { now: 1_000_000 };
  return { clock, door: createAuthenticator(token, () => clock.now) };
}

const bearer = (text: string) => ({ authorization: text, signIn: undefined });
const cookie = (signIn: string | undefined) => ({ authorization: undefined, signIn });

test("the bearer token authenticates the owner", () => {
  const { door } = makeDoorkeeper();
  expect(door.authenticate(bearer(`Bearer ${token}`))).toMatchObject({
    ownerId: "owner",
    by: "token",
  });
});

test.each(["Bearer", "Bearer ", "Bearer a-token-for-this-tes", `Basic ${token}`, token, ""])(
  "[safety] %j authenticates nobody",
  (authorization) => {
    expect(makeDoorkeeper().door.authenticate(bearer(authorization))).toBeUndefined();
  },
);

test("a code signs in once", () => {
  const { door } = makeDoorkeeper();
  const code = door.issueSignInCode();
  const signIn = door.signIn({ code });
  expect(door.authenticate(cookie(signIn))).toMatchObject({ ownerId: "owner", by: "sign-in" });
  expect(door.signIn({ code })).toBeUndefined();
});

test("a code is valid up to its last millisecond", () => {
  const { door, clock } = makeDoorkeeper();
  const [first, second] = [door.issueSignInCode(), door.issueSignInCode()];
  clock.now += codeLifetimeMs - 1;
  expect(door.signIn({ code: first })).toBeDefined();
  clock.now += 1;
  expect(door.signIn({ code: second })).toBeUndefined();
});

test("a sign-in ends at sign-out or when it expires", () => {
  const { door, clock } = makeDoorkeeper();
  const [one, other] = [door.signIn({ token }), door.signIn({ token })];
  door.signOut(one ?? "");
  expect(door.authenticate(cookie(one))).toBeUndefined();
  expect(door.authenticate(cookie(other))).toBeDefined();
  clock.now += signInLifetimeMs;
  expect(door.authenticate(cookie(other))).toBeUndefined();
});

test("[safety] a valid cookie does not make up for a wrong token", () => {
  const { door } = makeDoorkeeper();
  const signIn = door.signIn({ token });
  expect(door.authenticate({ authorization: "Bearer wrong", signIn })).toBeUndefined();
});

test("neither a token nor a code is accepted as the other", () => {
  const { door } = makeDoorkeeper();
  const code = door.issueSignInCode();
  expect(door.signIn({ token: code })).toBeUndefined();
  expect(door.signIn({ code: token })).toBeUndefined();
  expect(door.authenticate(bearer(`Bearer ${code}`))).toBeUndefined();
});

test("the 1001st sign-in evicts the oldest", () => {
  const { door } = makeDoorkeeper();
  const all = Array.from({ length: 1_001 }, () => door.signIn({ token }));
  expect(door.authenticate(cookie(all[0]))).toBeUndefined();
  expect(door.authenticate(cookie(all[1]))).toBeDefined();
  expect(door.authenticate(cookie(all[1_000]))).toBeDefined();
});

test("a revoked sign-in is invalid, and its signal aborts at once", () => {
  const { door } = makeDoorkeeper();
  const [one, other] = [door.signIn({ token }, "Firefox"), door.signIn({ token }, "Safari")];
  const [first, second] = [door.authenticate(cookie(one)), door.authenticate(cookie(other))];
  expect(door.signIns().map(({ about }) => about)).toEqual(["Safari", "Firefox"]);
  expect(door.revoke(first?.signInId ?? "")).toBe("revoked");
  expect([first?.revoked.aborted, second?.revoked.aborted]).toEqual([true, false]);
  expect(door.authenticate(cookie(one))).toBeUndefined();
  expect(door.authenticate(cookie(other))).toBeDefined();
  expect(door.revoke(first?.signInId ?? "")).toBe("not_found");
});

test("a sign-in is fresh for ten minutes, and the token always is", () => {
  const { door, clock } = makeDoorkeeper();
  const signIn = door.signIn({ token });
  expect(door.authenticate(cookie(signIn))?.isFresh).toBe(true);
  clock.now += codeLifetimeMs;
  expect(door.authenticate(cookie(signIn))?.isFresh).toBe(false);
  expect(door.authenticate(bearer(`Bearer ${token}`))?.isFresh).toBe(true);
});
