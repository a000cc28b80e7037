import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, onTestFinished, test } from "vitest";

import { connect, type Connection } from "../connection.ts";
import { SessionCache } from "./session-cache.ts";

function openFile(): () => Connection {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-cache-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const opened: Connection[] = [];
  onTestFinished(() => opened.forEach((connection) => connection.close()));
  return () => {
    const connection = connect({ file: join(folder, "holdfast.db"), access: "write" });
    opened.push(connection);
    return connection;
  };
}

test("what others wrote while a file was opened anew is told, though the new connection counts as the one before did", () => {
  const open = openFile();
  const others = open();
  others.exec("CREATE TABLE notes (text)");
  const cache = new SessionCache();
  const before = open();
  expect([cache.validate(before), cache.validate(before)]).toEqual([
    "others wrote",
    "nobody else wrote",
  ]);
  others.exec("INSERT INTO notes VALUES ('one')");
  cache.clear();
  expect(cache.validate(open())).toBe("others wrote");
});
