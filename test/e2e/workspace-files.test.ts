import {
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { createClient } from "@holdfast/client";
import type { SessionId } from "@holdfast/protocol";
import { expect, test } from "vitest";
import { makeFolder, serveWithClient, valueOf } from "./served-host.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);

/** A host with a session that works in a folder beside which there is a secret. */
async function openProject() {
  const host = await serveWithClient();
  const outer = realpathSync(makeFolder());
  const project = join(outer, "project");
  mkdirSync(join(project, "charts"), { recursive: true });
  writeFileSync(join(outer, "secret.txt"), "kelp");
  writeFileSync(join(project, "notes.md"), "# Tides\n");
  valueOf(await host.client.allowFolder({ body: { path: project } }));
  const { session } = valueOf(await host.client.createSession({ body: { workspace: project } }));
  const { id } = session;
  const get = (query: string, headers: Record<string, string> = {}) =>
    fetch(`${host.address}api/sessions/${id}/file?${query}`, {
      headers: { authorization: `Bearer ${host.token}`, ...headers },
    });
  return { ...host, outer, project, id, params: { id }, get };
}

test("[safety] no path and no link leads out of the workspace, for reading, listing and writing", async () => {
  const { client, outer, project, params, token, home } = await openProject();
  symlinkSync(join(outer, "secret.txt"), join(project, "link.txt"));
  symlinkSync(outer, join(project, "up"));
  symlinkSync("../..", join(project, "charts", "up"));
  const outside = [
    "../secret.txt",
    "charts/../../secret.txt",
    join(outer, "secret.txt"),
    "link.txt",
    "up/secret.txt",
    "charts/up/secret.txt",
    "/etc/passwd",
    join(home, "token"),
    "notes.md\0.png",
  ];
  for (const path of outside) {
    for (const as of ["download", "text", "view"] as const) {
      const read = await client.readFile({ params, query: { path, as } });
      expect([path, read.ok || read.error.code]).toEqual([path, "file_refused"]);
    }
    const query = { path, existing: "replace" as const };
    const body = bytesOf("overwritten");
    const written = await client.writeFile({ params, query, body, mediaType: "text/plain" });
    expect([path, written.ok || written.error.code]).toEqual([path, "file_refused"]);
  }
  for (const path of ["..", "up", "charts/up", outer, "/"]) {
    const listed = await client.listFiles({ params, query: { path } });
    expect([path, listed.ok || listed.error.code]).toEqual([path, "file_refused"]);
  }
  expect(readFileSync(join(outer, "secret.txt"), "utf8")).toBe("kelp");
  expect(readFileSync(join(home, "token"), "utf8").trim()).toBe(token);
}, 240_000);

test("[safety] an API key and a stranger cannot list, read or write files", async () => {
  const { client, address, params, project } = await openProject();
  const key = valueOf(await client.createKey({ body: { name: "ci" } }));
  for (const [token, code] of [
    [key.secret, "forbidden"],
    ["wrong", "unauthorized"],
  ] as const) {
    const caller = createClient({ baseUrl: address, token });
    const query = { path: "notes.md" };
    const body = bytesOf("x");
    const results = [
      await caller.listFiles({ params, query: {} }),
      await caller.readFile({ params, query }),
      await caller.writeFile({ params, query, body, mediaType: "text/plain" }),
    ];
    expect(results.map((result) => result.ok || result.error.code)).toEqual([code, code, code]);
  }
  expect(readFileSync(join(project, "notes.md"), "utf8")).toBe("# Tides\n");
  const other = { id: `ses_${"0".repeat(26)}` as SessionId };
  const missing = await client.listFiles({ params: other, query: {} });
  expect(missing.ok || ["session_not_found", "invalid_request"].includes(missing.error.code)).toBe(
    true,
  );
}, 240_000);

test("[safety] what a browser shows of a file runs nothing and loads nothing", async () => {
  const { project, get } = await openProject();
  writeFileSync(join(project, "page.html"), "<script>top.hacked = 1</script><h1>Tides</h1>");
  writeFileSync(join(project, "drawing.svg"), "<svg xmlns='http://www.w3.org/2000/svg'/>");
  writeFileSync(join(project, "fake.pdf"), "<script>1</script>");
  writeFileSync(join(project, "real.pdf"), "%PDF-1.4\n");
  writeFileSync(join(project, "it's a «тест».js"), "1");
  for (const name of ["page.html", "drawing.svg"]) {
    const { headers } = await get(`path=${name}&as=view`);
    const policy = headers.get("content-security-policy") ?? "";
    expect(policy.split("; ")).toEqual(
      expect.arrayContaining(["default-src 'none'", "frame-ancestors 'self'", "sandbox"]),
    );
    expect(policy).not.toMatch(/script-src|connect-src|allow-/);
    expect(headers.get("x-content-type-options")).toBe("nosniff");
  }
  for (const query of ["path=page.html", "path=notes.md&as=view", "path=fake.pdf&as=view"]) {
    const { headers } = await get(query);
    expect(headers.get("content-disposition")).toMatch(/^attachment; filename\*=UTF-8''/);
    expect(headers.get("content-type")).toBe("application/octet-stream");
  }
  const pdf = await get("path=real.pdf&as=view");
  expect(pdf.headers.get("content-type")).toBe("application/pdf");
  const odd = await get(`path=${encodeURIComponent("it's a «тест».js")}`);
  expect(odd.headers.get("content-disposition")).toBe(
    "attachment; filename*=UTF-8''it%27s%20a%20%C2%AB%D1%82%D0%B5%D1%81%D1%82%C2%BB.js",
  );
  const text = await get("path=page.html&as=text");
  expect(text.headers.get("content-type")).toBe("text/plain; charset=utf-8");
}, 240_000);

test("files are listed, written once and read back; large ones are bounded", async () => {
  const { client, project, params } = await openProject();
  const listed = valueOf(await client.listFiles({ params, query: {} }));
  expect(listed).toMatchObject({ root: project, path: "", more: 0 });
  expect(listed.entries.map(({ name, kind, size }) => [name, kind, size])).toEqual([
    ["charts", "folder", undefined],
    ["notes.md", "file", 8],
  ]);
  const put = (text: string, existing?: "replace") =>
    client.writeFile({
      params,
      query: { path: "charts/high.txt", ...(existing && { existing }) },
      body: bytesOf(text),
      mediaType: "text/plain",
    });
  expect(valueOf(await put("one"))).toMatchObject({ path: "charts/high.txt", size: 3 });
  // The same request again, as after a lost answer.
  expect(valueOf(await put("one"))).toMatchObject({ path: "charts/high.txt" });
  const taken = await put("two");
  expect(taken.ok || taken.error.code).toBe("file_exists");
  expect(readFileSync(join(project, "charts/high.txt"), "utf8")).toBe("one");
  valueOf(await put("two", "replace"));
  expect(readFileSync(join(project, "charts/high.txt"), "utf8")).toBe("two");
  writeFileSync(join(project, "large.bin"), "");
  truncateSync(join(project, "large.bin"), 65 * 1024 * 1024);
  const query = { path: "large.bin" };
  const whole = await client.readFile({ params, query });
  expect(whole.ok || whole.error.code).toBe("file_too_large");
  const start = valueOf(await client.readFile({ params, query: { ...query, as: "text" } }));
  expect(start.length).toBe(512 * 1024);
  const missing = await client.readFile({ params, query: { path: "none.txt" } });
  expect(missing.ok || missing.error.code).toBe("file_not_found");
  expect(existsSync(join(project, "none.txt"))).toBe(false);
}, 240_000);
