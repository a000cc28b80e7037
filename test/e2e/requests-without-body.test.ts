import { readFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";

import { requirePage } from "./page/require-page.ts";
import { serveFreshHome } from "./served-host.ts";

beforeEach(requirePage);

/** Like curl: no body, and no header about one. */
function send(method: string, url: URL, token: string): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { method, headers: { authorization: `Bearer ${token}` } });
    asked.removeHeader("content-length");
    asked.removeHeader("transfer-encoding");
    asked.on("error", reject);
    asked.on("response", (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (text: string) => (body += text));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body }));
    });
    asked.end();
  });
}

test("requests without a body are accepted from any client", async () => {
  const { address, home } = await serveFreshHome();
  const token = readFileSync(join(home, "token"), "utf8").trim();
  const created = await fetch(new URL("api/sessions", address), {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: "{}",
  });
  const { session } = (await created.json()) as { session: { id: string } };
  const at = (path: string): URL => new URL(`api/sessions/${session.id}${path}`, address);

  expect(await send("DELETE", at(""), token)).toMatchObject({ status: 200 });
  expect(await send("POST", at("/restore"), token)).toMatchObject({ status: 200 });
  const missing = new URL("api/runs/run_01m7g573qvertbcw3y2yp90aqw/cancel", address);
  expect(await send("POST", missing, token)).toMatchObject({ status: 404 });
  const bodiless = await send("POST", new URL("api/sessions", address), token);
  expect(bodiless.status).toBeLessThan(500);

  const pieces = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('{"title":'));
      controller.enqueue(new TextEncoder().encode('"in pieces"}'));
      controller.close();
    },
  });
  const streamed = { body: pieces, duplex: "half" };
  const chunked = await fetch(new URL("api/sessions", address), {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...streamed,
  });
  expect(chunked.status).toBe(201);
});
