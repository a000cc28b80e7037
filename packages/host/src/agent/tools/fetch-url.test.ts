import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { anOwner } from "@holdfast/testing/fixtures/factories";
import { ids } from "@holdfast/protocol";
import { expect, onTestFinished, test } from "vitest";

import { createEgress } from "../../util/egress/egress.ts";
import { createFetchUrl } from "./fetch-url.ts";

test("[safety] an allowed host cannot redirect to one that was not allowed", async () => {
  const requests: string[] = [];
  const server = createServer(({ headers, url }, response) => {
    requests.push(`${headers.host?.split(":")[0]}${url}`);
    response.writeHead(302, { location: `http://evil.test:${port}/?q=secret` }).end();
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const egress = createEgress({
    resolve: async () => ["127.0.0.1"],
    isPublic: () => true,
    isPort: () => true,
  });
  const call = {
    owner: anOwner(),
    session: ids.make("session"),
    runId: ids.make("run"),
    callId: ids.make("call"),
    input: { url: `http://good.test:${port}/a` },
  };
  const context = { signal: new AbortController().signal, write: () => {} };
  const result = await createFetchUrl(egress).run(call, context);
  expect(requests).toEqual(["good.test/a"]);
  expect(result).toMatchObject({ outcome: "failed" });
  expect(result.output).toContain("http://evil.test");
});
