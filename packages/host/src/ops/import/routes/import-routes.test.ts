import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

import { openApi } from "../../../../test/support/api-rig.ts";

test("of two imports that are begun at once, one is refused, and the other is undisturbed", async () => {
  const home = mkdtempSync(join(tmpdir(), "holdfast-imports-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const { client, close } = openApi([], { home });
  onTestFinished(close);
  const path = join(home, "conversations.json");
  writeFileSync(path, "[]");
  const begin = () => client.startImport({ body: { source: "chatgpt", path, mode: "dry" } });
  const [first, second] = await Promise.all([begin(), begin()]);
  expect(first.ok).not.toBe(second.ok);
  const refused = first.ok ? second : first;
  expect(refused).toMatchObject({ error: { code: "import_running" } });
});
