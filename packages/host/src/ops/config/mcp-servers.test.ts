import { expect, test } from "vitest";

import { mcpServers } from "./mcp-servers.ts";

const program = { command: "mcp-files", args: ["/srv"] };
const web = { url: "https://wiki.example/mcp" };

test("servers are an object in the file and its JSON text elsewhere", () => {
  const servers = { files: program, wiki: { ...web, headers: { "X-Key": { env: "KEY" } } } };
  expect(mcpServers.parse(servers)).toEqual(servers);
  expect(mcpServers.parse(JSON.stringify(servers))).toEqual(servers);
});

test.each([
  ["a name with an underscore", { a_b: program }],
  ["a name of nothing", { "": program }],
  ["a long name", { ["x".repeat(25)]: program }],
  ["an unknown field", { a: { ...program, shell: true } }],
  ["both kinds at once", { a: { ...program, ...web } }],
  ["neither kind", { a: {} }],
  ["another scheme", { a: { url: "file:///etc/passwd" } }],
  ["a password in the address", { a: { url: "https://me:secret@wiki.example/mcp" } }],
  ["a header that is the connection's own", { a: { ...web, headers: { Host: "other.example" } } }],
  ["a header that is the protocol's own", { a: { ...web, headers: { "Mcp-Session-Id": "1" } } }],
  ["a header with a line in its name", { a: { ...web, headers: { "X\r\nY": "1" } } }],
  ["a stored key for a program", { a: { ...program, env: { KEY: { secret: "wiki" } } } }],
  ["a folder that is not absolute", { a: { ...program, cwd: "here" } }],
  ["a text that is no JSON", "{"],
])("%s is refused", (_, servers) => {
  expect(mcpServers.safeParse(servers).success).toBe(false);
});
