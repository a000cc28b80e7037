import { PassThrough } from "node:stream";
import { createClient } from "@holdfast/client";
import { expect, test } from "vitest";
import { readConfig } from "../ops/config/read-config.ts";
import type { HostConnection } from "./connection/connect.ts";
import { chooseFolder } from "./workspace-flag.ts";

/** A host on another machine, which fails the test when it is asked anything. */
function remoteHost(): HostConnection {
  const config = readConfig({ flags: { home: "/nowhere" }, environment: {}, personFolder: "/" });
  if (!config.ok) throw new Error(config.failure.message);
  const client = createClient({
    baseUrl: "https://tides.example",
    fetch() {
      throw new Error("the host was asked");
    },
  });
  return {
    client,
    request: () => Response.error(),
    location: "server",
    address: "https://tides.example",
    isLocal: false,
    config: config.value,
    close: async () => {},
  };
}

const terminal = {
  environment: {},
  personFolder: "/",
  input: Object.assign(new PassThrough(), { isTTY: true }),
  output: { write: () => true, isTTY: true },
  print: () => {},
  printError: () => {},
};

const choose = (flags: Record<string, unknown>, session: "new" | "existing" = "new") =>
  chooseFolder({ words: [], flags }, terminal, remoteHost(), session);

test("with a host on another machine a new session works in a folder of that host, which is said", async () => {
  expect(await choose({})).toEqual({
    ok: true,
    workspace: null,
    note: "The session works in a folder of its own at https://tides.example, not in this one: that host is another machine.",
  });
  expect(await choose({}, "existing")).toEqual({ ok: true, workspace: undefined, note: null });
});

test("a folder of another machine is named by its absolute path there", async () => {
  expect(await choose({ workspace: "/srv/tides" })).toMatchObject({ workspace: "/srv/tides" });
  expect(await choose({ workspace: "tides" })).toMatchObject({ ok: false, exitCode: 2 });
});
