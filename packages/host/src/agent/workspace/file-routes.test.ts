import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

import { newSession, valueOf } from "../../../test/support/api-helpers.ts";
import { openApi } from "../../../test/support/api-rig.ts";

async function open() {
  const home = mkdtempSync(join(tmpdir(), "holdfast-files-"));
  const rig = openApi([], { home });
  onTestFinished(async () => {
    await rig.close();
    rmSync(home, { recursive: true, force: true });
    expect(rig.bugs).toEqual([]);
  });
  const id = await newSession(rig);
  const params = { id };
  const { root } = valueOf(await rig.client.listFiles({ params, query: {} }));
  const upload = async (text: string, existing?: "keep" | "replace") =>
    rig.client.writeFile({
      params,
      query: { path: "notes.txt", ...(existing && { existing }) },
      body: new TextEncoder().encode(text),
      mediaType: "text/plain",
    });
  const view = (path: string) => rig.ask("GET", `/api/sessions/${id}/file?path=${path}&as=view`);
  return { ...rig, root, params, upload, view };
}

test("an upload keeps a file of the same name unless it is told to replace it", async () => {
  const { client, params, root, upload } = await open();
  const stored = () => readFileSync(join(root, "notes.txt"), "utf8");
  expect(valueOf(await upload("ebb"))).toEqual({ path: "notes.txt", size: 3 });
  expect(await upload("flood")).toMatchObject({ error: { code: "file_exists" } });
  expect(stored()).toBe("ebb");
  // The same request, sent again.
  expect(valueOf(await upload("ebb"))).toEqual({ path: "notes.txt", size: 3 });
  valueOf(await upload("flood", "replace"));
  expect(stored()).toBe("flood");
  const { entries } = valueOf(await client.listFiles({ params, query: {} }));
  expect(entries).toMatchObject([{ name: "notes.txt", size: 5 }]);
});

test("[safety] only what is a PDF is shown outside of a sandbox; the rest is sandboxed or downloaded", async () => {
  const { root, view } = await open();
  const page = "<script>alert(1)</script>";
  writeFileSync(join(root, "real.pdf"), "%PDF-1.7\n");
  for (const name of ["false.pdf", "page.html", "page.js"]) writeFileSync(join(root, name), page);
  const headersOf = async (name: string) => {
    const { headers } = await view(name);
    const [policy = "", disposition = ""] = ["content-security-policy", "content-disposition"].map(
      (header) => headers.get(header) ?? "",
    );
    return [disposition.split(";")[0], policy.split("; ").includes("sandbox")];
  };
  expect(await headersOf("real.pdf")).toEqual(["inline", false]);
  expect(await headersOf("false.pdf")).toEqual(["attachment", true]);
  expect(await headersOf("page.html")).toEqual(["inline", true]);
  expect(await headersOf("page.js")).toEqual(["attachment", true]);
});

test("a long text is previewed by its beginning", async () => {
  const { client, root, params } = await open();
  writeFileSync(join(root, "long.txt"), "x".repeat(600 * 1024));
  const query = { path: "long.txt", as: "text" } as const;
  expect(valueOf(await client.readFile({ params, query }))).toHaveLength(512 * 1024);
});
