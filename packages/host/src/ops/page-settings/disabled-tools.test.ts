import { ids, laneKey, ownerId } from "@holdfast/protocol";
import { createTool, okResult } from "@holdfast/testing/rigs/run-rig";
import { expect, test } from "vitest";

import { withoutDisabled } from "./disabled-tools.ts";

test("an agent is rebuilt when a tool is switched off or on, and only then", async () => {
  let disabled: readonly string[] = [];
  const names = ["shell", "web_fetch", "web_search"];
  const tools = new Map(
    names.map((name) => [name, createTool(name, async () => okResult("done"))] as const),
  );
  const offered = withoutDisabled(
    async () => ({ tools, signature: "mcp=1" }),
    () => disabled,
  );
  const request = {
    owner: ownerId.parse("owner"),
    session: ids.make("session"),
    lane: laneKey.parse("web:page"),
  };
  const withOff = async (...patterns: readonly string[]) => {
    disabled = patterns;
    const available = await offered(request);
    return { names: [...available.tools.keys()], signature: available.signature };
  };
  const all = await withOff();
  expect(all).toEqual({ names, signature: "mcp=1" });
  const web = await withOff("web_*");
  expect(web.names).toEqual(["shell"]);
  const shell = await withOff("shell");
  expect(shell.names).toEqual(["web_fetch", "web_search"]);
  expect(new Set([all, web, shell].map(({ signature }) => signature)).size).toBe(3);
  expect(await withOff("web_*", "nothing")).toEqual(web);
  expect(await withOff("nothing")).toEqual(all);
});
