import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createAuthenticator, openSignInFile } from "./authenticator.ts";

function makeHome(): string {
  const home = mkdtempSync(join(tmpdir(), "holdfast-sign-ins-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

const start = (home: string, token = "the token") =>
  createAuthenticator(token, Date.now, openSignInFile(home, token));

function signedIn(home: string): string {
  const secret = start(home).signIn({ token: "the token" });
  if (secret === undefined) throw new Error("The token was not good.");
  return secret;
}

const shown = (signIn: string) => ({ authorization: undefined, signIn });

test("sign-ins and sign-outs survive a restart", () => {
  const home = makeHome();
  const secret = signedIn(home);
  expect(start(home).authenticate(shown(secret))).toMatchObject({ by: "sign-in" });
  start(home).signOut(secret);
  expect(start(home).authenticate(shown(secret))).toBeUndefined();
});

test("[safety] a sign-in ended while the disk was full does not come back at the next start", () => {
  const home = makeHome();
  const secret = signedIn(home);
  const host = start(home);
  // A directory in place of the draft file makes writing fail.
  mkdirSync(join(home, `sign-ins.json.${process.pid}`));
  const [found] = host.signIns();
  expect(host.revoke(found?.id ?? "")).toBe("revoked");
  expect(host.authenticate(shown(secret))).toBeUndefined();
  expect(start(home).authenticate(shown(secret))).toBeUndefined();
});

test("[safety] a sign-in ended while the disk was full is invalid at another host on the same home", () => {
  const home = makeHome();
  const clock = { now: 1_000 };
  const file = () => openSignInFile(home, "the token", () => clock.now);
  const one = createAuthenticator("the token", () => clock.now, file());
  const [secret = "", kept = ""] = ["", ""].map(() => one.signIn({ token: "the token" }) ?? "");
  const other = createAuthenticator("the token", () => clock.now, file());
  const principal = other.authenticate(shown(secret));
  expect(principal).toMatchObject({ by: "sign-in" });
  mkdirSync(join(home, `sign-ins.json.${process.pid}`));
  expect(one.revoke(principal?.signInId ?? "")).toBe("revoked");
  clock.now += 1_000;
  expect(other.authenticate(shown(secret))).toBeUndefined();
  expect(principal?.revoked.aborted).toBe(true);
  // The host that ended one still knows the others, and keeps them while it runs.
  expect(one.authenticate(shown(kept))).toMatchObject({ by: "sign-in" });
});

test("a sign-in is valid under its own token only", () => {
  const home = makeHome();
  const secret = signedIn(home);
  expect(start(home, "another token").authenticate(shown(secret))).toBeUndefined();
});

test("the file is readable by its owner only and contains no secret", () => {
  const home = makeHome();
  const secret = signedIn(home);
  const file = join(home, "sign-ins.json");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const text = readFileSync(file, "utf8");
  expect([text.includes(secret), text.includes("the token")]).toEqual([false, false]);
});

test("an unreadable file signs nobody in and does not prevent a start", () => {
  const home = makeHome();
  const secret = signedIn(home);
  writeFileSync(join(home, "sign-ins.json"), "{ torn");
  expect(start(home).authenticate(shown(secret))).toBeUndefined();
});

test("a sign-in revoked by one host is invalid at another on the same home, and its signal aborts", () => {
  const home = makeHome();
  const clock = { now: 1_000 };
  const file = () => openSignInFile(home, "the token", () => clock.now);
  const one = createAuthenticator("the token", () => clock.now, file());
  const other = createAuthenticator("the token", () => clock.now, file());
  const secret = one.signIn({ token: "the token" }) ?? "";
  clock.now += 1_000;
  const principal = other.authenticate(shown(secret));
  expect(principal).toMatchObject({ by: "sign-in" });
  expect(one.revoke(principal?.signInId ?? "")).toBe("revoked");
  clock.now += 1_000;
  expect(other.authenticate(shown(secret))).toBeUndefined();
  expect(principal?.revoked.aborted).toBe(true);
});

test("a sign-in at one host does not restore what another revoked at the same moment", () => {
  const home = makeHome();
  const clock = { now: 1_000 };
  const file = () => openSignInFile(home, "the token", () => clock.now);
  const one = createAuthenticator("the token", () => clock.now, file());
  const secret = one.signIn({ token: "the token" }) ?? "";
  const other = createAuthenticator("the token", () => clock.now, file());
  const [signIn] = other.signIns();
  expect(one.revoke(signIn?.id ?? "")).toBe("revoked");
  expect(other.signIn({ token: "the token" })).toBeDefined();
  clock.now += 1_000;
  for (const each of [one, other, start(home)])
    expect(each.authenticate(shown(secret))).toBeUndefined();
});

test("a sign-in made at another host on the same home can be revoked here at once", () => {
  const home = makeHome();
  const clock = { now: 1_000 };
  const file = () => openSignInFile(home, "the token", () => clock.now);
  const here = createAuthenticator("the token", () => clock.now, file());
  const there = createAuthenticator("the token", () => clock.now, file());
  expect(here.signIns()).toEqual([]);
  const secret = there.signIn({ token: "the token" }) ?? "";
  const { signInId = "" } = there.authenticate(shown(secret)) ?? {};
  expect(here.revoke(signInId)).toBe("revoked");
  clock.now += 1_000;
  expect(there.authenticate(shown(secret))).toBeUndefined();
});
