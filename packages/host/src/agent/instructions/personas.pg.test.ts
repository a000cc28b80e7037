import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { branch, createLog, duplicate } from "@holdfast/engine";
import { ids, ownerId } from "@holdfast/protocol";
import { fsckFindings } from "@holdfast/testing/conformance/harness";
import { databases } from "@holdfast/testing/databases/databases";
import { assertPresent, openTestSession } from "@holdfast/testing/fixtures/open-session";
import { describe, expect, onTestFinished, test } from "vitest";

import { builtInPersonaText } from "../guidance.ts";
import { openPersonaStore } from "./persona-store.ts";

const pilot = { id: "pilot", name: "Pilot", text: "You are a pilot." };
const sailor = { id: "sailor", name: "Sailor", text: "You are a sailor.", model: "rehearsal" };

describe.each(databases)("personas on $name", (factory) => {
  async function open() {
    const database = await factory.create();
    onTestFinished(() => database.drop());
    const store = await database.open();
    onTestFinished(() => store.close());
    const home = mkdtempSync(join(tmpdir(), "holdfast-personas-"));
    onTestFinished(() => rmSync(home, { recursive: true }));
    /** As another process would. */
    const reopen = () => openPersonaStore({ register: store.register, home });
    return {
      store,
      reopen,
      personas: reopen(),
      writeFile: (text: string) => writeFileSync(join(home, "persona.md"), text),
      readFile: () => readFileSync(join(home, "persona.md"), "utf8"),
      removeFile: (name: string) => rmSync(join(home, name)),
    };
  }

  test("one persona always exists; others are added, changed with their earlier texts kept, and deleted", async () => {
    const { reopen, personas } = await open();
    expect(await personas.list()).toMatchObject([
      { id: "default", text: builtInPersonaText, isDefault: true, version: 0 },
    ]);
    await personas.add(sailor);
    await personas.add(pilot);
    expect((await reopen().list()).map(({ name }) => name)).toEqual(["Default", "Pilot", "Sailor"]);
    const changed = await personas.change({ id: "pilot", version: 1 }, { text: "You fly." });
    expect(changed).toMatchObject({ text: "You fly.", version: 2 });
    expect(await reopen().resolve("pilot")).toMatchObject({ versions: [{ text: pilot.text }] });
    expect(await personas.remove({ id: "default" })).toBe("built_in");
    expect(await personas.remove({ id: "pilot", version: 1 })).toBe("changed");
    expect(await personas.remove({ id: "pilot" })).toBe("removed");
    expect(await personas.remove({ id: "pilot" })).toBe("not_found");
  });

  test("a name that another has and a change from an old version are refused; a repeated request is not", async () => {
    const { personas } = await open();
    await personas.add(pilot);
    expect(await personas.add({ ...sailor, name: "PILOT" })).toBe("name_taken");
    expect(await personas.add(pilot)).toMatchObject({ version: 1 });
    await personas.change({ id: "pilot", version: 1 }, { text: "You fly." });
    expect(await personas.change({ id: "pilot", version: 1 }, { text: "You fall." })).toBe(
      "changed",
    );
    expect(await personas.change({ id: "pilot", version: 1 }, { text: "You fly." })).toMatchObject({
      version: 2,
    });
    expect(await personas.change({ id: "default", version: 0 }, { name: "pilot" })).toBe(
      "name_taken",
    );
  });

  test("a persona that is unknown or was deleted becomes the default one", async () => {
    const { personas } = await open();
    await personas.add(pilot);
    await personas.add(sailor);
    expect(await personas.setDefault("nobody")).toBe("not_found");
    expect(await personas.setDefault("pilot")).toBe("set");
    expect(await personas.resolve(null)).toMatchObject({ id: "pilot", isDefault: true });
    expect(await personas.resolve("sailor")).toMatchObject({ id: "sailor", isDefault: false });
    await personas.remove({ id: "sailor" });
    expect(await personas.resolve("sailor")).toMatchObject({ id: "pilot" });
    await personas.remove({ id: "pilot" });
    expect(await personas.resolve("sailor")).toMatchObject({ id: "default", isDefault: true });
  });

  test("persona.md is read once, also if the process dies before it has noted that", async () => {
    const { reopen, writeFile, readFile, removeFile } = await open();
    writeFile("You are a lighthouse.\r\n");
    expect(await reopen().resolve(null)).toMatchObject({
      text: "You are a lighthouse.",
      version: 1,
    });
    removeFile("persona-synced.json");
    expect(await reopen().resolve(null)).toMatchObject({ version: 1, versions: [] });
    expect(readFile()).toBe("You are a lighthouse.\r\n");
  });

  test("what was edited in persona.md wins, a change here is written to it, and a missing file is written again", async () => {
    const { personas, writeFile, readFile, removeFile } = await open();
    writeFile("You are a lighthouse.");
    await personas.list();
    await personas.change({ id: "default", version: 1 }, { text: "You are a beacon." });
    expect(readFile()).toBe("You are a beacon.\n");
    writeFile("You are a buoy.");
    expect(await personas.change({ id: "default", version: 2 }, { text: "You are a fog." })).toBe(
      "changed",
    );
    const [now] = await personas.list();
    expect(now).toMatchObject({ text: "You are a buoy.", version: 3 });
    expect(now?.versions.map(({ text }) => text)).toEqual([
      "You are a lighthouse.",
      "You are a beacon.",
    ]);
    removeFile("persona.md");
    await personas.list();
    expect(readFile()).toBe("You are a buoy.\n");
  });

  test("a persona.md that is too long for a row is used as it is, and not overwritten", async () => {
    const { personas, writeFile, readFile } = await open();
    writeFile("You are a buoy.");
    await personas.list();
    const long = "You are a very long text. ".repeat(300).trim();
    writeFile(long);
    expect(await personas.resolve(null)).toMatchObject({ text: long, isFileOnly: true });
    expect(await personas.change({ id: "default", version: 1 }, { text: "Short." })).toBe(
      "in_file",
    );
    expect(readFile()).toBe(long);
  });

  test("a session's persona survives a restart, a branch and a duplicate, and the store is sound", async () => {
    const { store } = await open();
    const owner = ownerId.parse("owner");
    const chat = await openTestSession(store, { persona: "pilot", project: "Tides" }, owner);
    const deps = { log: createLog(store), ids };
    const target = { owner, session: chat.session };
    const made = [await branch(deps, target), await duplicate(deps, target)];
    for (const result of made) {
      if (result.status !== "branched") throw new Error(result.status);
      const row = assertPresent(await store.reads.session(owner, result.session));
      expect(row).toMatchObject({ persona: "pilot", project: "Tides" });
    }
    await deps.log.changeSession(owner, chat.session, { persona: null }, null);
    expect(await store.reads.session(owner, chat.session)).toMatchObject({ persona: null });
    expect(await fsckFindings(store)).toEqual([]);
  });
});
