import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";

import { connectRunningHost } from "./connect.ts";

/** A home with a token, and the requests that leave this process with the token of each. */
async function connectTo(url: string, token?: string) {
  const home = mkdtempSync(join(tmpdir(), "holdfast-connect-"));
  writeFileSync(join(home, "token"), "the-token-of-this-home\n");
  const sent: (string | null)[] = [];
  vi.stubGlobal("fetch", async (_url: string, init: RequestInit) => {
    sent.push(new Headers(init.headers).get("authorization"));
    return Response.json({}, { status: 401 });
  });
  onTestFinished(() => {
    vi.unstubAllGlobals();
    rmSync(home, { recursive: true });
  });
  const terminal = {
    environment: {
      HOLDFAST_HOME: home,
      HOLDFAST_URL: url,
      ...(token && { HOLDFAST_TOKEN: token }),
    },
    personFolder: "/",
    input: process.stdin,
    output: process.stdout,
    print: () => {},
    printError: () => {},
  };
  const connection = await connectRunningHost({}, terminal, 1_000);
  await connection?.client.listModels();
  return { isLocal: connection?.isLocal, sent };
}

test("[safety] the token of this home goes to a host of this machine, and never to another", async () => {
  expect(await connectTo("http://127.0.0.1:9")).toEqual({
    isLocal: true,
    sent: ["Bearer the-token-of-this-home"],
  });
  expect(await connectTo("https://tides.example")).toEqual({ isLocal: undefined, sent: [] });
  expect(await connectTo("https://tides.example", "given")).toEqual({
    isLocal: false,
    sent: ["Bearer given"],
  });
});
