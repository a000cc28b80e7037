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

test("a sign-in outlives the host, and a sign-out does too", () => {
  const home = makeHome();
  const secret = signedIn(home);
  expect(start(home).authenticate(shown(secret))).toMatchObject({ by: "sign-in" });
  start(home).signOut(secret);
  expect(start(home).authenticate(shown(secret))).toBeUndefined();
});

test("[safety] a sign-in that was ended while the disk took nothing does not come back with the next start", () => {
  const home = makeHome();
  const secret = signedIn(home);
  const host = start(home);
  // Nothing can be written where the file is made ready.
  mkdirSync(join(home, `sign-ins.json.${process.pid}`));
  const [found] = host.signIns();
  expect(host.revoke(found?.id ?? "")).toBe("revoked");
  expect(host.authenticate(shown(secret))).toBeUndefined();
  expect(start(home).authenticate(shown(secret))).toBeUndefined();
});

test("[safety] a sign-in that was ended while the disk took nothing is good no more at another host on the same home", () => {
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
  // Who ended one knows of the others, and keeps them for as long as it runs.
  expect(one.authenticate(shown(kept))).toMatchObject({ by: "sign-in" });
});

test("a sign-in holds under its own token only", () => {
  const home = makeHome();
  const secret = signedIn(home);
  expect(start(home, "another token").authenticate(shown(secret))).toBeUndefined();
});

test("the file is for its owner's eyes, and holds no secret", () => {
  const home = makeHome();
  const secret = signedIn(home);
  const file = join(home, "sign-ins.json");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const text = readFileSync(file, "utf8");
  expect([text.includes(secret), text.includes("the token")]).toEqual([false, false]);
});

test("a file that cannot be read signs nobody in, and nobody out of starting", () => {
  const home = makeHome();
  const secret = signedIn(home);
  writeFileSync(join(home, "sign-ins.json"), "{ torn");
  expect(start(home).authenticate(shown(secret))).toBeUndefined();
});

test("what one host revokes is good no more at another on the same home, and what hangs on it ends", () => {
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

test("who signs in at one host does not bring back what another has revoked in the same moment", () => {
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
