import { expect, test } from "vitest";
import { codeLifetimeMs, createDoorkeeper, signInLifetimeMs } from "./doorkeeper.ts";

const token = "a-token-for-this-test";

function makeDoorkeeper() {
  const clock = { now: 1_000_000 };
  return { clock, door: createDoorkeeper(token, () => clock.now) };
}

const bearer = (text: string) => ({ authorization: text, signIn: undefined });
const cookie = (signIn: string | undefined) => ({ authorization: undefined, signIn });

test("the bearer token names the owner", () => {
  const { door } = makeDoorkeeper();
  expect(door.recognise(bearer(`Bearer ${token}`))).toMatchObject({
    ownerId: "owner",
    by: "token",
  });
});

test.each(["Bearer", "Bearer ", "Bearer a-token-for-this-tes", `Basic ${token}`, token, ""])(
  "[safety] %j names nobody",
  (authorization) => {
    expect(makeDoorkeeper().door.recognise(bearer(authorization))).toBeUndefined();
  },
);

test("a code signs in once", () => {
  const { door } = makeDoorkeeper();
  const code = door.issueCode();
  const signIn = door.signIn({ code });
  expect(door.recognise(cookie(signIn))).toMatchObject({ ownerId: "owner", by: "sign-in" });
  expect(door.signIn({ code })).toBeUndefined();
});

test("a code is good until its last millisecond and not after it", () => {
  const { door, clock } = makeDoorkeeper();
  const [first, second] = [door.issueCode(), door.issueCode()];
  clock.now += codeLifetimeMs - 1;
  expect(door.signIn({ code: first })).toBeDefined();
  clock.now += 1;
  expect(door.signIn({ code: second })).toBeUndefined();
});

test("a sign-in ends when it is signed out, and by itself after its time", () => {
  const { door, clock } = makeDoorkeeper();
  const [one, other] = [door.signIn({ token }), door.signIn({ token })];
  door.signOut(one ?? "");
  expect(door.recognise(cookie(one))).toBeUndefined();
  expect(door.recognise(cookie(other))).toBeDefined();
  clock.now += signInLifetimeMs;
  expect(door.recognise(cookie(other))).toBeUndefined();
});

test("[safety] a wrong token is not mended by a good cookie", () => {
  const { door } = makeDoorkeeper();
  const signIn = door.signIn({ token });
  expect(door.recognise({ authorization: "Bearer wrong", signIn })).toBeUndefined();
});

test("neither the token nor a code is taken for the other", () => {
  const { door } = makeDoorkeeper();
  const code = door.issueCode();
  expect(door.signIn({ token: code })).toBeUndefined();
  expect(door.signIn({ code: token })).toBeUndefined();
  expect(door.recognise(bearer(`Bearer ${code}`))).toBeUndefined();
});

test("the thousand-and-first sign-in takes the place of the oldest", () => {
  const { door } = makeDoorkeeper();
  const all = Array.from({ length: 1_001 }, () => door.signIn({ token }));
  expect(door.recognise(cookie(all[0]))).toBeUndefined();
  expect(door.recognise(cookie(all[1]))).toBeDefined();
  expect(door.recognise(cookie(all[1_000]))).toBeDefined();
});

test("a sign-in that is revoked is good no more, and whoever hangs on it is told at once", () => {
  const { door } = makeDoorkeeper();
  const [one, other] = [door.signIn({ token }, "Firefox"), door.signIn({ token }, "Safari")];
  const [first, second] = [door.recognise(cookie(one)), door.recognise(cookie(other))];
  expect(door.signIns().map(({ about }) => about)).toEqual(["Safari", "Firefox"]);
  expect(door.revoke(first?.signInId ?? "")).toBe("revoked");
  expect([first?.revoked.aborted, second?.revoked.aborted]).toEqual([true, false]);
  expect(door.recognise(cookie(one))).toBeUndefined();
  expect(door.recognise(cookie(other))).toBeDefined();
  expect(door.revoke(first?.signInId ?? "")).toBe("not_found");
});

test("a sign-in is fresh for ten minutes, and the token always is", () => {
  const { door, clock } = makeDoorkeeper();
  const signIn = door.signIn({ token });
  expect(door.recognise(cookie(signIn))?.isFresh).toBe(true);
  clock.now += codeLifetimeMs;
  expect(door.recognise(cookie(signIn))?.isFresh).toBe(false);
  expect(door.recognise(bearer(`Bearer ${token}`))?.isFresh).toBe(true);
});
