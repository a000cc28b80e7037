import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

import { openApi } from "../../../../test/support/api-rig.ts";
import { chatGptConversation, said } from "../../../../test/support/exports/chatgpt.ts";

function open() {
  const home = mkdtempSync(join(tmpdir(), "holdfast-imports-"));
  const { client, close } = openApi([], { home });
  onTestFinished(async () => {
    await close();
    rmSync(home, { recursive: true, force: true });
  });
  const folder = join(home, "imports", ".uploads");
  mkdirSync(folder, { recursive: true });
  const path = join(folder, "12345678.json");
  writeFileSync(
    path,
    JSON.stringify([chatGptConversation("light", [said("u", null, "user", "?")])]),
  );
  const begin = (mode: "dry" | "write") =>
    client.startImport({ body: { source: "chatgpt", path, mode } });
  const newest = async () => {
    const listed = await client.listImports({});
    return listed.ok ? listed.value.imports[0] : undefined;
  };
  return { client, begin, newest, uploads: () => readdirSync(folder) };
}

test("of two imports that are begun at once, one is refused, and the other is undisturbed", async () => {
  const { begin, newest } = open();
  const begun = await Promise.all([begin("dry"), begin("dry")]);
  expect(begun.filter(({ ok }) => ok)).toHaveLength(1);
  expect(begun.find(({ ok }) => !ok)).toMatchObject({ error: { code: "import_running" } });
  await expect.poll(async () => (await newest())?.state).toBe("done");
});

test("an upload is there until it was imported: a preview and an import that was stopped leave it", async () => {
  const { client, begin, newest, uploads } = open();
  await begin("dry");
  await expect.poll(async () => (await newest())?.state).toBe("done");
  expect(uploads()).toHaveLength(1);
  const begun = await begin("write");
  if (!begun.ok) throw new Error("It was not begun.");
  await client.stopImport({ params: { id: begun.value.import.id } });
  await expect.poll(async () => (await newest())?.state).toBe("failed");
  expect(await newest()).toMatchObject({ failure: "It was stopped." });
  expect(uploads()).toHaveLength(1);
  await begin("write");
  await expect.poll(async () => (await newest())?.state).toBe("done");
  expect(uploads()).toEqual([]);
});
