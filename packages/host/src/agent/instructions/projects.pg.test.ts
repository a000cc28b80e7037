import { ownerId } from "@holdfast/protocol";
import { databases } from "@holdfast/testing/databases/databases";
import { anOwner } from "@holdfast/testing/fixtures/factories";
import { describe, expect, onTestFinished, test } from "vitest";

import { openProjectStore } from "./project-store.ts";

const tides = { id: "t", name: " The  tides ", text: "All times are UTC." };

describe.each(databases)("projects on $name", (factory) => {
  async function open() {
    const database = await factory.create();
    onTestFinished(() => database.drop());
    const store = await database.open();
    onTestFinished(() => store.close());
    const owner = ownerId.parse("owner");
    /** As another process would. */
    const reopen = () => openProjectStore(store.register);
    return { owner, reopen, projects: reopen() };
  }

  test("a project is found by the name that sessions have, for its owner only, with its earlier texts", async () => {
    const { owner, reopen, projects } = await open();
    await projects.add(owner, tides);
    await projects.change(owner, { id: "t", version: 1 }, { text: "All times are local." });
    await projects.change(owner, { id: "t", version: 2 }, { workspace: "/tides" });
    const found = await reopen().named(owner, "The tides");
    expect(found).toMatchObject({ text: "All times are local.", workspace: "/tides", version: 3 });
    expect(found?.versions.map(({ text }) => text)).toEqual(["All times are UTC."]);
    expect(await projects.named(owner, "the tides")).toBeNull();
    expect(await projects.named(owner, null)).toBeNull();
    expect(await projects.list(anOwner())).toEqual([]);
  });

  test("a name that another has and a change from an old version are refused; a repeated request is not", async () => {
    const { owner, projects } = await open();
    await projects.add(owner, tides);
    expect(await projects.add(owner, tides)).toMatchObject({ id: "t", version: 1 });
    expect(await projects.add(owner, { id: "u", name: "THE TIDES" })).toBe("name_taken");
    const change = (text: string) => projects.change(owner, { id: "t", version: 1 }, { text });
    expect(await change("One.")).toMatchObject({ version: 2 });
    expect(await change("One.")).toMatchObject({ version: 2 });
    expect(await change("Two.")).toBe("changed");
  });

  test("a deleted project leaves nothing behind, and its name can be used again", async () => {
    const { owner, projects } = await open();
    await projects.add(owner, tides);
    expect(await projects.remove(owner, { id: "t", version: 7 })).toBe("changed");
    expect(await projects.remove(owner, { id: "t", version: 1 })).toBe("removed");
    expect(await projects.remove(owner, { id: "t" })).toBe("not_found");
    await projects.add(owner, { id: "u", name: "The tides" });
    expect(await projects.named(owner, "The tides")).toMatchObject({ text: "", versions: [] });
  });
});
