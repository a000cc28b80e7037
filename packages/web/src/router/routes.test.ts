import { ids, type Seq } from "@holdfast/protocol";
import { expect, test } from "vitest";
import { hrefOf, type Route, parseRoute } from "./routes.ts";

const id = ids.make("session");

test.each<Route>([
  { kind: "new", from: null },
  { kind: "new", from: id },
  { kind: "session", id, at: null },
  { kind: "session", id, at: 12 as Seq },
  { kind: "session", id, at: 12 as Seq, version: ids.make("message") },
  { kind: "settings", section: "system" },
])("a route round-trips through its address: %j", (route) => {
  expect(parseRoute(hrefOf(route))).toEqual(route);
});

test("an invalid address falls back to a new session", () => {
  for (const address of ["", "?session=nonsense", "?settings=nothing", "?from=x", "?at=3"])
    expect(parseRoute(address)).toEqual({ kind: "new", from: null });
  expect(parseRoute(`?session=${id}&at=1e9x`)).toEqual({ kind: "session", id, at: null });
});
