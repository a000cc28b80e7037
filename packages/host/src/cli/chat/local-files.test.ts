import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { makePdf } from "@holdfast/testing/fixtures/make-pdf";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  findMentioned,
  listFiles,
  quoteFile,
  readPastedPicture,
  suggestFiles,
} from "./local-files.ts";
import { runShellCommand } from "./shell-command.ts";

const root = mkdtempSync(join(tmpdir(), "holdfast-files-"));
const folder = join(root, "project");
const picture = join(root, "a shot.png");

beforeAll(() => {
  mkdirSync(join(folder, "src"), { recursive: true });
  mkdirSync(join(folder, "node_modules"));
  writeFileSync(join(folder, "src", "main.ts"), "const a = 1;\n");
  writeFileSync(join(folder, "with blank.md"), "Has ``` in it.\n");
  writeFileSync(join(folder, "data.bin"), new Uint8Array([0, 255, 1]));
  writeFileSync(join(folder, "long.txt"), "x".repeat(30_000));
  writeFileSync(join(folder, "bill.pdf"), makePdf([["Total"]]));
  writeFileSync(join(folder, "node_modules", "skipped.js"), "");
  writeFileSync(join(root, "secret.txt"), "not yours");
  writeFileSync(picture, new Uint8Array([137, 80, 78, 71]));
  symlinkSync(join(root, "secret.txt"), join(folder, "link.txt"));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

test("a short text is quoted, anything else is attached, and a name of no file is only a word", async () => {
  const text =
    'Hi @alice, compare @src/main.ts, @"with blank.md" and (@data.bin) to @long.txt. @src';
  const found = await findMentioned(text, folder);
  expect(found).toMatchObject({
    ok: true,
    files: [
      { kind: "quote", path: "src/main.ts", text: "const a = 1;\n" },
      { kind: "quote", path: "with blank.md" },
      { kind: "attach", name: "data.bin" },
      { kind: "attach", name: "long.txt" },
    ],
  });
  const quotes = found.ok ? found.files.flatMap(quoteFile) : [];
  expect(quotes).toEqual([
    "The file src/main.ts:\n```ts\nconst a = 1;\n```",
    "The file with blank.md:\n````md\nHas ``` in it.\n````",
  ]);
});

test("a PDF is attached as one, though its bytes could pass for text", async () => {
  expect(await findMentioned("@bill.pdf @long.txt", folder)).toMatchObject({
    files: [
      { kind: "attach", name: "bill.pdf", mediaType: "application/pdf" },
      { kind: "attach", name: "long.txt", mediaType: "text/plain" },
    ],
  });
});

test.each(["@../secret.txt", "@link.txt", `@${join(root, "secret.txt")}`])(
  "[safety] %s is outside the folder, so nothing is sent",
  async (mention) => {
    const found = await findMentioned(`@src/main.ts ${mention}`, folder);
    expect(found.ok ? "" : found.sentence).toContain("is outside the folder");
  },
);

test("files are suggested for a mention, the best match first, without what build tools keep", async () => {
  const files = await listFiles(folder);
  expect(files).not.toContain("node_modules/skipped.js");
  expect(suggestFiles("look at @ma", files)[0]).toMatchObject({
    label: "src/main.ts",
    text: "look at @src/main.ts ",
  });
  expect(suggestFiles("@with", files)[0]?.text).toBe('@"with blank.md" ');
  expect(suggestFiles("mail me@with", files)).toEqual([]);
});

test.each([picture, `'${picture}'`, picture.replace(" ", "\\ "), pathToFileURL(picture).href])(
  "the pasted path %s is a picture",
  async (pasted) => {
    const read = await readPastedPicture(`${pasted} `);
    expect(read).toMatchObject({ kind: "attach", name: "a shot.png", mediaType: "image/png" });
  },
);

test.each([join(root, "secret.txt"), join(root, "none.png"), "a shot.png", `${picture}\nmore`])(
  "the pasted text %j is no picture",
  async (pasted) => expect(await readPastedPicture(pasted)).toBeUndefined(),
);

test("a person's own command runs in their folder, and its output is quoted with how it ended", async () => {
  let output = "";
  const run = await runShellCommand("cat src/main.ts; echo '```'; exit 3", {
    folder,
    signal: new AbortController().signal,
    onOutput: (text) => void (output += text),
  });
  expect(output).toBe("const a = 1;\n```\n");
  expect(run).toMatchObject({ summary: "exit code 3", succeeded: false });
  expect(run.quote).toContain("(exit code 3):\n````\nconst a = 1;\n```\n````");
});

test("files can be named in a folder that was reached through a link, and none beside it", async () => {
  const link = join(root, "link-to-project");
  symlinkSync(folder, link);
  expect(await findMentioned("See @src/main.ts", link)).toMatchObject({
    ok: true,
    files: [{ kind: "quote", path: "src/main.ts" }],
  });
  expect(await findMentioned("See @../secret.txt", link)).toMatchObject({ ok: false });
});
