import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openPasswordFile } from "./password.ts";

function makeHome(): string {
  const home = mkdtempSync(join(tmpdir(), "holdfast-password-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

test("a password is valid until another is set, and without one nothing matches", async () => {
  const home = makeHome();
  const passwords = openPasswordFile(home);
  expect([passwords.isSet(), await passwords.matches("")]).toEqual([false, "no"]);
  await passwords.set("correct horse");
  expect(passwords.isSet()).toBe(true);
  expect(await passwords.matches("correct horse")).toBe("yes");
  expect(await openPasswordFile(home).matches("correct horse")).toBe("yes");
  expect(await passwords.matches("correct hors")).toBe("no");
  await passwords.set("battery staple");
  expect(await passwords.matches("correct horse")).toBe("no");
  passwords.remove();
  expect([passwords.isSet(), await passwords.matches("battery staple")]).toEqual([false, "no"]);
});

test("the file is readable by its owner only and does not contain the password", async () => {
  const home = makeHome();
  await openPasswordFile(home).set("correct horse");
  const file = join(home, "password");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readFileSync(file, "utf8")).toMatch(/^\$(argon2id|scrypt)\$[\w-]+\$[\w-]{43}\n$/);
});

test("different Unicode compositions of the same letters are the same password", async () => {
  const passwords = openPasswordFile(makeHome());
  await passwords.set("caf\u00e9 au lait");
  expect(await passwords.matches("cafe\u0301 au lait")).toBe("yes");
});

test("a file without a valid hash matches nothing", async () => {
  const home = makeHome();
  for (const text of ["", "correct horse", "$argon2id$$", "$scrypt$c2FsdA$"]) {
    writeFileSync(join(home, "password"), text);
    expect(await openPasswordFile(home).matches("correct horse")).toBe("no");
    expect(await openPasswordFile(home).matches("")).toBe("no");
  }
});

test("most of many concurrent guesses are turned away unverified", async () => {
  const passwords = openPasswordFile(makeHome());
  const answers = await Promise.all(Array.from({ length: 40 }, () => passwords.matches("guess")));
  expect(answers.filter((answer) => answer === "busy")).toHaveLength(24);
});
