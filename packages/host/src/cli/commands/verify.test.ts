import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { runHere, serveHere } from "../../../test/support/command-rig.ts";

test("[safety] an exported session is checked without its host, and a changed word is found", async () => {
  const home = mkdtempSync(join(tmpdir(), "holdfast-verify-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const { settings, close } = await serveHere(home);
  await runHere(["run", "tomatoes {words:3}"], settings);
  const file = join(home, "garden.jsonl");
  const exported = ["export", "tomatoes", "--format", "audit", "--to", file];
  expect(await runHere(exported, settings)).toMatchObject({ code: 0, told: "" });
  await close();

  const whole = await runHere(["verify", file], {});
  expect(whole).toMatchObject({ code: 0, told: "" });
  expect(whole.said).toMatch(/^ses_\w+: \d+ events, all unchanged\.\nSigned by [0-9a-f]{16} up/);
  const [, key = ""] = /Signed by (\w+)/.exec(whole.said) ?? [];
  expect(await runHere(["verify", file, "--key", key], {})).toMatchObject({ code: 0 });
  expect(await runHere(["verify", file, "--key", "0000000000000000"], {})).toMatchObject({
    code: 1,
  });

  writeFileSync(file, readFileSync(file, "utf8").replaceAll("tomatoes", "potatoes"));
  const changed = await runHere(["verify", file], {});
  expect(changed.code).toBe(1);
  expect(changed.said).toMatch(/^event_changed {2}Event \d+ of ses_\w+ was changed/);

  expect(await runHere(["verify", join(home, "none")], {})).toMatchObject({ code: 1, said: "" });
  expect(await runHere(["verify"], {})).toMatchObject({ code: 2, said: "" });
  writeFileSync(file, "{}\n");
  expect((await runHere(["verify", file, "--json"], {})).said).toContain("file_invalid");
});
