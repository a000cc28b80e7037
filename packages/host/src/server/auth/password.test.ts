import { expect, test } from "vitest";
import { memoryRows } from "../../../test/support/providers/models.ts";
import { createPasswords } from "./password.ts";

test("a password is valid until another is set, and without one nothing matches", async () => {
  const rows = memoryRows();
  const passwords = createPasswords(rows);
  expect([passwords.isSet(), await passwords.matches("")]).toEqual([false, "no"]);
  await passwords.set("correct horse");
  expect(passwords.isSet()).toBe(true);
  expect(await passwords.matches("correct horse")).toBe("yes");
  expect(await createPasswords(rows).matches("correct horse")).toBe("yes");
  expect(await passwords.matches("correct hors")).toBe("no");
  await passwords.set("battery staple");
  expect(await passwords.matches("correct horse")).toBe("no");
  await passwords.remove();
  expect([passwords.isSet(), await passwords.matches("battery staple")]).toEqual([false, "no"]);
});

test("what is stored is a slow hash", async () => {
  const rows = memoryRows();
  await createPasswords(rows).set("correct horse");
  expect(rows.read("password")).toMatch(/^\$(argon2id|scrypt)\$[\w-]+\$[\w-]{43}$/);
});

test("different Unicode compositions of the same letters are the same password", async () => {
  const passwords = createPasswords(memoryRows());
  await passwords.set("caf\u00e9 au lait");
  expect(await passwords.matches("cafe\u0301 au lait")).toBe("yes");
});

test("a row without a valid hash matches nothing", async () => {
  const rows = memoryRows();
  for (const text of ["", "correct horse", "$argon2id$$", "$scrypt$c2FsdA$"]) {
    await rows.put("password", text);
    expect(await createPasswords(rows).matches("correct horse")).toBe("no");
    expect(await createPasswords(rows).matches("")).toBe("no");
  }
});

test("most of many concurrent guesses are turned away unverified", async () => {
  const passwords = createPasswords(memoryRows());
  const answers = await Promise.all(Array.from({ length: 40 }, () => passwords.matches("guess")));
  expect(answers.filter((answer) => answer === "busy")).toHaveLength(24);
});
