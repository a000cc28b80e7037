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
    note: "The session works in a folder of its own at https://tides.example, because that host is on another machine.",
  });
  expect(await choose({}, "existing")).toEqual({ ok: true, workspace: undefined, note: null });
});

test("a folder of another machine is named by its absolute path there", async () => {
  expect(await choose({ workspace: "/srv/tides" })).toMatchObject({ workspace: "/srv/tides" });
  expect(await choose({ workspace: "tides" })).toMatchObject({ ok: false, exitCode: 2 });
});

/** A host here, whose owner has not allowed the folder yet; it writes down what is allowed. */
function localHost(allowed: string[]): HostConnection {
  const client = createClient({
    baseUrl: "http://127.0.0.1",
    async fetch(url, init) {
      if (init?.method !== "PUT") {
        const path = new URL(url).searchParams.get("path");
        return Response.json({ path, state: "askable" });
      }
      const { path } = JSON.parse(init.body as string) as { path: string };
      allowed.push(path);
      return Response.json({ folder: { id: "1", path, allowedAt: 0 } });
    },
  });
  return { ...remoteHost(), client, isLocal: true };
}

test.each([
  ["yes\n", { ok: true, workspace: "/srv/tides" }, ["/srv/tides"]],
  ["no\n", { ok: false }, []],
  ["perhaps\n", { ok: false }, []],
  ["", { ok: false, message: "Nothing was sent or changed." }, []],
])("a folder is allowed by a yes alone: %j", async (reply, expected, folders) => {
  const allowed: string[] = [];
  const input = Object.assign(new PassThrough(), { isTTY: true });
  input.end(reply);
  const flags = { workspace: "/srv/tides" };
  const host = localHost(allowed);
  const chosen = await chooseFolder({ words: [], flags }, { ...terminal, input }, host, "new");
  expect(chosen).toMatchObject(expected);
  expect(allowed).toEqual(folders);
});
