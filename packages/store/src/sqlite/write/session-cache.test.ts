import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, onTestFinished, test } from "vitest";

import { connect, type Connection } from "../connection.ts";
import { SessionCache } from "./group-writer.ts";

function openFile(): () => Connection {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-cache-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const connections: Connection[] = [];
  onTestFinished(() => connections.forEach((connection) => connection.close()));
  return () => {
    const connection = connect({ file: join(folder, "holdfast.db"), access: "write" });
    connections.push(connection);
    return connection;
  };
}

test("a foreign write while the file is reopened is noticed, although the new connection has the same data version", () => {
  const open = openFile();
  const foreign = open();
  foreign.exec("CREATE TABLE notes (text)");
  const cache = new SessionCache();
  const before = open();
  expect([cache.validate(before), cache.validate(before)]).toEqual(["foreign write", "unchanged"]);
  foreign.exec("INSERT INTO notes VALUES ('one')");
  cache.clear();
  expect(cache.validate(open())).toBe("foreign write");
});
