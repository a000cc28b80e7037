import { ownerId } from "@holdfast/protocol";
import { databases } from "@holdfast/testing/databases/databases";
import { anOwner } from "@holdfast/testing/fixtures/factories";
import { describe, expect, onTestFinished, test } from "vitest";

import { openInstructionsStore } from "./instructions-store.ts";

describe.each(databases)("custom instructions on $name", (factory) => {
  async function open() {
    const database = await factory.create();
    onTestFinished(() => database.drop());
    const store = await database.open();
    onTestFinished(() => store.close());
    const owner = ownerId.parse("owner");
    /** As another process would. */
    const reopen = () => openInstructionsStore(store.register);
    return { owner, reopen, instructions: reopen() };
  }

  test("a text is kept with its earlier ones, for its owner only", async () => {
    const { owner, reopen, instructions } = await open();
    expect(await instructions.read(owner)).toMatchObject({ text: "", version: 0, versions: [] });
    await instructions.write(owner, { text: " Be brief.\r\n\u0000Always. ", version: 0 });
    await instructions.write(owner, { text: "Be thorough.", version: 1 });
    const read = await reopen().read(owner);
    expect(read).toMatchObject({ text: "Be thorough.", version: 2, deletions: 0 });
    expect(read.versions.map(({ text }) => text)).toEqual(["Be brief.\nAlways."]);
    expect(await instructions.read(anOwner())).toMatchObject({ text: "", version: 0 });
  });

  test("of two changes made from one version the second is refused, and a repeated one is not", async () => {
    const { owner, reopen, instructions } = await open();
    const results = await Promise.all([
      instructions.write(owner, { text: "Be brief.", version: 0 }),
      reopen().write(owner, { text: "Be thorough.", version: 0 }),
    ]);
    expect(results.filter((result) => result === "changed")).toHaveLength(1);
    const now = await instructions.read(owner);
    expect(await instructions.write(owner, { text: now.text, version: 0 })).toEqual(now);
  });

  test("deleting leaves nothing of any text, and is counted", async () => {
    const { owner, instructions } = await open();
    await instructions.write(owner, { text: "My number is 4711.", version: 0 });
    await instructions.write(owner, { text: "My number is 4712.", version: 1 });
    await instructions.write(owner, { text: "", version: 2 });
    const gone = await instructions.read(owner);
    expect(gone).toMatchObject({ text: "", versions: [], deletions: 1 });
    await instructions.write(owner, { text: "Be brief.", version: gone.version });
    expect(await instructions.read(owner)).toMatchObject({ versions: [], deletions: 1 });
  });

  test("the longest text is kept whole, with as many earlier ones as fit", async () => {
    const { owner, instructions } = await open();
    for (const [version, letter] of ["a", "b", "c", "d"].entries())
      await instructions.write(owner, { text: `"${letter}"`.repeat(1_333), version });
    const read = await instructions.read(owner);
    expect(read.text).toBe('"d"'.repeat(1_333));
    expect(read.versions.map(({ text }) => text[1])).toEqual(["c"]);
  });
});
