import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { anOwner } from "@holdfast/testing/fixtures/factories";
import { makePdf } from "@holdfast/testing/fixtures/make-pdf";
import { ids, type SessionId } from "@holdfast/protocol";
import { expect, onTestFinished, test } from "vitest";

import { createEgress } from "../../util/egress/egress.ts";
import { createPdfReader } from "../documents/pdf-reader.ts";
import { createFetchUrl } from "./fetch-url.ts";
import { createFetchedPages } from "./fetched-pages.ts";

const home = ids.make("session");

/** The tool, with a server that any name leads to. */
async function openTool(answer: (path: string, response: ServerResponse) => void) {
  const requests: string[] = [];
  const server = createServer(({ headers, url = "" }, response) => {
    requests.push(`${headers.host?.split(":")[0]}${url}`);
    answer(url, response);
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const clock = { now: 0 };
  const tool = createFetchUrl({
    egress: createEgress({
      resolve: async () => ["127.0.0.1"],
      isPublic: () => true,
      isPort: () => true,
    }),
    pdfs: createPdfReader(),
    pages: createFetchedPages(() => clock.now),
  });
  const fetchFrom =
    (host: string) =>
    (path: string, more: { readonly part?: number } = {}, session?: SessionId) =>
      tool.run(
        {
          owner: anOwner(),
          session: session ?? home,
          runId: ids.make("run"),
          callId: ids.make("call"),
          input: { url: `http://${host}:${port}${path}`, ...more },
        },
        { signal: new AbortController().signal, write: () => {} },
      );
  return { requests, clock, port, tool, get: fetchFrom("good.test") };
}

function sends(response: ServerResponse, type: string, body: string | Uint8Array): void {
  response.writeHead(200, { "content-type": type }).end(body);
}

test("[safety] an allowed host cannot redirect to one that was not allowed", async () => {
  const { get, requests, port } = await openTool((_, response) => {
    response.writeHead(302, { location: `http://evil.test:${port}/?q=secret` }).end();
  });
  const result = await get("/a");
  expect(requests).toEqual(["good.test/a"]);
  expect(result).toMatchObject({ outcome: "failed" });
  expect(result.output).toContain("http://evil.test");
});

const longText = Array.from({ length: 9_000 }, (_, n) => `line ${n}`).join("\n");

test("a long page comes in parts of one fetch, which together are the page", async () => {
  let version = 0;
  const { get, requests } = await openTool((_, response) => {
    version += 1;
    sends(response, "text/plain", `version ${version}\n${longText}`);
  });
  const first = await get("/long");
  expect(first.output).toMatch(/^\[200 from http:\/\/good\.test:\d+\/long, part 1 of 3: material/);
  expect(first.output).toMatch(/\[For more, fetch it with "part": 2\.\]$/);
  const rest = [await get("/long", { part: 2 }), await get("/long", { part: 3 })];
  expect(requests).toEqual(["good.test/long"]);
  const lines = [first, ...rest].flatMap(({ output }) =>
    output.split("\n").filter((line) => /^(version|line) \d+$/.test(line)),
  );
  expect(lines.join("\n")).toBe(`version 1\n${longText}`);
  expect((await get("/long", { part: 4 })).output).toBe(
    "There is no part 4: it has 3 parts. Ask for an existing one.",
  );
  expect((await get("/long")).output).toContain("version 2");
});

test("a part is fetched again after a while, and says so", async () => {
  const { get, requests, clock } = await openTool((_, response) =>
    sends(response, "text/plain", longText),
  );
  await get("/long");
  clock.now = 16 * 60_000;
  const { output } = await get("/long", { part: 2 });
  expect(output).toContain("part 2 of 3, fetched again and maybe changed: material");
  expect(requests).toHaveLength(2);
});

test("[safety] another session does not get what one has fetched", async () => {
  const { get, requests } = await openTool((_, response) =>
    sends(response, "text/plain", longText),
  );
  await get("/long");
  await get("/long", { part: 2 }, ids.make("session"));
  expect(requests).toHaveLength(2);
});

test("a PDF is read page by page, in parts of whole pages", async () => {
  const lines = Array.from({ length: 40 }, () => "word ".repeat(12).trim());
  const pdf = makePdf(Array.from({ length: 30 }, (_, n) => [`This is page ${n + 1}.`, ...lines]));
  const { get, tool } = await openTool((_, response) => sends(response, "application/pdf", pdf));
  const first = await get("/papers/tides.pdf");
  expect(first).toMatchObject({
    outcome: "ok",
    details: { sources: [{ title: "tides.pdf" }] },
  });
  const [, count] = /part 1 of (\d+)/.exec(first.output) ?? [];
  const parts = [first.output];
  for (let part = 2; part <= Number(count); part += 1)
    parts.push((await get("/papers/tides.pdf", { part })).output);
  expect(parts.length).toBeGreaterThan(1);
  const numbers = parts.flatMap((text) =>
    [...text.matchAll(/^\[Page (\d+)\]\nThis is page \1\./gm)].map(([, n]) => Number(n)),
  );
  expect(numbers).toEqual(Array.from({ length: 30 }, (_, n) => n + 1));
  expect(tool.taint?.({ url: "http://good.test/papers/tides.pdf", part: 2 })).toEqual([
    { kind: "web", name: "good.test" },
  ]);
});

test.each([
  ["damaged", "application/pdf", "%PDF-1.7 nothing", "cannot be read as a PDF"],
  ["protected", "application/pdf", makePdf([["x"]], { encrypted: true }), "password"],
  ["a program", "application/octet-stream", "MZ", "application/octet-stream"],
])("a file that is %s is refused in words", async (_, type, body, hint) => {
  const { get } = await openTool((__, response) => sends(response, type, body));
  const { outcome, output } = await get("/file");
  expect(outcome).toBe("failed");
  expect(output).toContain(hint);
});

test("a page's title names it among the sources, and an error page is no source", async () => {
  const { get } = await openTool((path, response) => {
    response.writeHead(path === "/gone" ? 404 : 200, { "content-type": "text/html" });
    response.end("<title>Tides &amp; times</title><p>High water at nine.");
  });
  const page = await get("/tides");
  expect(page.output).toContain("# Tides & times\n\nHigh water at nine.");
  expect(page).toMatchObject({ outcome: "ok", details: { sources: [{ title: "Tides & times" }] } });
  const gone = await get("/gone");
  expect(gone.outcome).toBe("failed");
  expect(gone.details).toBeUndefined();
});
