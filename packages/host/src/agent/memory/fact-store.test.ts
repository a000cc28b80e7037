import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync, existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { ids } from "@holdfast/protocol";
import { anOwner } from "@holdfast/testing/fixtures/factories";
import { assertPresent } from "@holdfast/testing/fixtures/open-session";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { expect, onTestFinished, test } from "vitest";

import { openFactStore } from "./fact-store.ts";
import { ownerFolder } from "./owner-folder.ts";

const said = { kind: "said", sessionId: ids.make("session") } as const;

function open() {
  const home = mkdtempSync(join(tmpdir(), "holdfast-facts-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const owner = anOwner();
  const { register } = createReferenceStore();
  const folder = ownerFolder(home, owner);
  mkdirSync(folder, { recursive: true });
  const file = (name: string) => join(folder, name);
  return {
    home,
    owner,
    register,
    /** Each is like a restart. */
    reopen: () => openFactStore({ register, home }),
    facts: openFactStore({ register, home }),
    readNotes: (name: string) => readFileSync(file(name), "utf8"),
    write: (name: string, text: string) => {
      mkdirSync(join(file(name), ".."), { recursive: true });
      writeFileSync(file(name), text);
    },
    exists: (name: string) => existsSync(file(name)),
    remove: (name: string) => rmSync(file(name)),
    texts: async () =>
      (await openFactStore({ register, home }).list(owner)).map(({ text }) => text),
  };
}

test("notes that were written by hand become facts once, in their order, and the file stays as it is", async () => {
  const { reopen, owner, write, readNotes, texts } = open();
  const text = "# About the boat\n\n- The mast is oak\n* Sails are red\nMoored in Kiel\n";
  write("MEMORY.md", text);
  write("USER.md", "- Call me Ishmael\n");
  const facts = await reopen().list(owner);
  expect(facts.map(({ text: note }) => note).toSorted()).toEqual([
    "Call me Ishmael",
    "Moored in Kiel",
    "Sails are red",
    "The mast is oak",
  ]);
  expect(facts.filter(({ about }) => about === "rest").map((fact) => fact.text)).toEqual([
    "The mast is oak",
    "Sails are red",
    "Moored in Kiel",
  ]);
  expect(facts[0]).toMatchObject({ use: "always", state: "kept", source: { kind: "file" } });
  expect(await texts()).toHaveLength(4);
  expect(readNotes("MEMORY.md")).toBe(text);
});

test("what was edited in a file since then wins, line by line, and for everything else the rows do", async () => {
  const { facts, owner, write, readNotes, texts } = open();
  write("MEMORY.md", "# Boat\n- oak mast\n- red sails\n- in Kiel\n");
  const [mast, sails] = await facts.list(owner);
  // By hand: one line is gone, one is new. On the page, without having seen that: one text is changed.
  write("MEMORY.md", "# Boat\n- oak mast\n- in Kiel\n- built 1912\n");
  expect(await facts.change(owner, assertPresent(sails), { text: "blue sails" })).toBe("not_found");
  expect(await facts.change(owner, assertPresent(mast), { text: "pine mast" })).toMatchObject({
    text: "pine mast",
    versions: [{ text: "oak mast" }],
  });
  expect(readNotes("MEMORY.md")).toBe("# Boat\n- pine mast\n- in Kiel\n- built 1912\n");
  expect(await texts()).toEqual(["pine mast", "in Kiel", "built 1912"]);
});

test("a missing or empty file is no edit, and is written again", async () => {
  const { owner, reopen, write, remove, readNotes, texts } = open();
  write("USER.md", "- I live in Kiel\n");
  write("MEMORY.md", "- The sea is near\n");
  await reopen().list(owner);
  remove("USER.md");
  write("MEMORY.md", "");
  expect(await texts()).toHaveLength(2);
  expect(readNotes("USER.md")).toBe("- I live in Kiel\n");
  expect(readNotes("MEMORY.md")).toBe("- The sea is near\n");
});

test("a deleted note leaves the file, its earlier texts are gone, and a crash before the file was written does not bring it back", async () => {
  const { facts, owner, write, readNotes, texts } = open();
  write("MEMORY.md", "- oak mast\n- red sails\n");
  const [mast] = await facts.list(owner);
  const changed = await facts.change(owner, assertPresent(mast), { text: "pine mast" });
  if (typeof changed === "string") throw new Error(changed);
  expect(await facts.withdrawals(owner)).toBe(1);
  expect(await facts.remove(owner, { id: changed.id })).toMatchObject({ text: "pine mast" });
  expect(await facts.withdrawals(owner)).toBe(2);
  expect(readNotes("MEMORY.md")).toBe("- red sails\n");
  expect(await texts()).toEqual(["red sails"]);
  expect(await facts.remove(owner, { id: changed.id })).toBe("not_found");
});

test("of two changes made from one version the second is refused, and a repeated one is not", async () => {
  const { facts, reopen, owner } = open();
  await facts.add(owner, [{ text: "I like tea", use: "when_it_fits", source: said, at: 1 }]);
  const [fact] = await facts.list(owner);
  const ref = assertPresent(fact);
  const other = reopen();
  const results = await Promise.all([
    facts.change(owner, ref, { text: "I like green tea" }),
    other.change(owner, ref, { text: "I like black tea" }),
  ]);
  expect(results.filter((result) => result === "changed")).toHaveLength(1);
  const [now] = await facts.list(owner);
  const again = await facts.change(owner, ref, { text: assertPresent(now).text });
  expect(again).toEqual(now);
  expect(await facts.remove(owner, ref)).toBe("changed");
});

test("a deleted fact comes back when a person says it again later, and not by a review of the old conversation", async () => {
  const { facts, owner, texts } = open();
  const fact = { text: "I like tea", use: "when_it_fits", source: said, at: 1 } as const;
  await facts.add(owner, [fact]);
  const [known] = await facts.list(owner);
  await facts.remove(owner, assertPresent(known));
  const later = Date.now() + 60_000;
  await facts.add(owner, [fact, { ...fact, source: { ...said, kind: "review" }, at: later }]);
  expect(await texts()).toEqual([]);
  await facts.add(owner, [{ ...fact, at: later }]);
  expect(await texts()).toEqual(["I like tea"]);
});

test("facts of earlier versions are read once, with those that wait, and their files go away", async () => {
  const { owner, reopen, write, exists, texts } = open();
  const session = ids.make("session");
  write(`facts/${session}.json`, '{"facts":[{"text":"I like tea","at":5}],"keys":["k"]}');
  write(`facts/${session}.review.json`, '{"facts":[{"text":"They sail.","at":6}],"keys":[]}');
  write("facts/ses_broken.json", "{");
  const after = [{ kind: "web", name: "evil.example" }];
  const waiting = { text: "My bank is evil", session, at: 7, after, provider: "notes", id: "x" };
  write("waiting.json", JSON.stringify({ facts: [waiting], decided: ["a".repeat(24)] }));
  const facts = await reopen().list(owner);
  expect(facts).toMatchObject([
    { text: "I like tea", use: "when_it_fits", source: { kind: "said", sessionId: session } },
    { text: "They sail.", source: { kind: "review" } },
    { text: "My bank is evil", use: "always", state: "waiting", after },
  ]);
  expect(await texts()).toHaveLength(3);
  expect(exists("waiting.json")).toBe(false);
  expect(exists(`facts/${session}.json`)).toBe(false);
  expect(exists("facts/ses_broken.json")).toBe(true);
});

test("a fact that a file cannot hold as one line is known and listed, and never written into it", async () => {
  const { facts, reopen, owner, readNotes, texts } = open();
  const added = ["# not a heading", "🎉", "two\nlines", "x".repeat(5_000), "- dash", "plain"];
  const fact = { use: "always", source: { kind: "person" }, about: "rest", at: 1 } as const;
  for (const text of added) await facts.create(owner, { ...fact, text, id: `id ${text.length}` });
  for (let restart = 0; restart < 3; restart += 1) await reopen().list(owner);
  expect((await texts()).toSorted()).toEqual(added.toSorted());
  expect(readNotes("MEMORY.md")).toBe("- - dash\n- plain\n");
});

test("a note on a line without a dash is changed to one that needs the dash", async () => {
  const { facts, owner, write, readNotes, texts } = open();
  write("MEMORY.md", "oak mast\n");
  const [mast] = await facts.list(owner);
  await facts.change(owner, assertPresent(mast), { text: "- pine mast" });
  expect(readNotes("MEMORY.md")).toBe("- - pine mast\n");
  expect(await texts()).toEqual(["- pine mast"]);
});

test("after thousands of deleted facts, others are still known and can be added", async () => {
  const { facts, owner, register, texts } = open();
  const removed = { owner, value: '{"removed":true,"withdrawn":0}', expect: 0 };
  for (let n = 0; n < 5_100; n += 1)
    await register.put({ ...removed, key: `fact/${n.toString(16).padStart(24, "0")}` });
  const fact = { use: "when_it_fits", source: { kind: "person" }, at: 1 } as const;
  const tea = { ...fact, id: "f".repeat(24), text: "I like tea" };
  await facts.create(owner, tea);
  expect(await facts.create(owner, tea)).toMatchObject({ text: "I like tea", version: 1 });
  expect(await texts()).toEqual(["I like tea"]);
});
