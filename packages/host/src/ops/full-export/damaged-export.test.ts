import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ownerId } from "@holdfast/protocol";
import { openSqliteStore } from "@holdfast/store/sqlite";
import { aFile, anInput, aUserMessage } from "@holdfast/testing/fixtures/factories";
import { openTestSession } from "@holdfast/testing/fixtures/open-session";
import { beforeAll, expect, onTestFinished, test } from "vitest";

import { contentsOf, owner } from "../../../test/support/full-export/fill-store.ts";
import { type AuditKey, lazyAuditKey } from "../audit/audit-key.ts";
import { checkExport } from "./check-export.ts";
import { copyExport } from "./copy-export.ts";
import { maxLineBytes, signedText } from "./format.ts";
import { unfinishedCopy } from "./unfinished-copy.ts";
import { writeExport } from "./write-export.ts";

function makeHome(): string {
  const home = mkdtempSync(join(tmpdir(), "holdfast-damaged-export-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

async function openStore() {
  const store = await openSqliteStore({ file: join(makeHome(), "holdfast.db") });
  onTestFinished(() => store.close());
  return store;
}

let lines: readonly string[] = [];
let key: AuditKey;

beforeAll(async () => {
  const home = mkdtempSync(join(tmpdir(), "holdfast-damaged-export-"));
  const store = await openSqliteStore({ file: join(home, "holdfast.db") });
  key = await lazyAuditKey(home)();
  const chat = await openTestSession(store, { title: "Garden" }, owner);
  const stored = await store.putBlob(owner, new TextEncoder().encode("a picture"), "image/png");
  if (stored.status !== "stored") throw new Error("not stored");
  await chat.commit([aUserMessage("tomatoes"), anInput({ attachments: [aFile(stored.id)] })]);
  await store.register.put({ owner, key: "fact/1", value: '"tea"', expect: 0 });
  let text = "";
  for await (const piece of writeExport({ store, home, key, exportedAt: 1, version: "test" }))
    text += piece;
  lines = text.trimEnd().split("\n");
  await store.close();
  rmSync(home, { recursive: true });
});

/** Someone who knows the format: the last line counts and hashes what is there, and is signed. */
function sealed(body: readonly string[]): string[] {
  const sha256 = createHash("sha256")
    .update(`${body.join("\n")}\n`)
    .digest("hex");
  const count = (kind: string) => body.filter((line) => line.includes(`"kind":"${kind}"`)).length;
  const counts = {
    logs: count("log"),
    events: count("event"),
    blobs: count("blob"),
    register: count("register"),
    files: count("file"),
  };
  const { publicKey, sign } = key;
  const end = { kind: "end", ...counts, sha256, publicKey, signature: sign(signedText(sha256)) };
  return [...body, JSON.stringify(end)];
}

const body = () => lines.slice(0, -1);
const changed = (from: string | RegExp, to: string) => body().map((line) => line.replace(from, to));
const at = (kind: string) => lines.findIndex((line) => line.includes(`"kind":"${kind}"`));
const without = (index: number) => body().filter((_, each) => each !== index);
const inserted = (index: number, line: string) => body().toSpliced(index, 0, line);

interface Damage {
  readonly what: string;
  readonly code: string;
  /** The line that is named, counted from 1. */
  readonly line: () => number;
  readonly file: () => string;
}

const file = (given: readonly string[]) => `${given.join("\n")}\n`;

const damages: readonly Damage[] = [
  { what: "nothing in it", code: "file_invalid", line: () => 1, file: () => "" },
  {
    what: "another kind of file",
    code: "file_invalid",
    line: () => 1,
    file: () => "PK\u0003\u0004\n",
  },
  {
    what: "a later version of the format",
    code: "version_unknown",
    line: () => 1,
    file: () => file(changed('"version":1', '"version":2')),
  },
  {
    what: "its last line missing",
    code: "file_cut",
    line: () => lines.length - 1,
    file: () => file(body()),
  },
  {
    what: "its end cut off within a line",
    code: "file_cut",
    line: () => lines.length,
    file: () => file(lines).slice(0, -5),
  },
  {
    what: "a changed word",
    code: "event_changed",
    line: () => lines.findIndex((line) => line.includes("tomatoes")) + 1,
    file: () => file([...changed("tomatoes", "potatoes"), lines.at(-1) ?? ""]),
  },
  {
    what: "a changed word and a new seal",
    code: "event_changed",
    line: () => lines.findIndex((line) => line.includes("tomatoes")) + 1,
    file: () => file(sealed(changed("tomatoes", "potatoes"))),
  },
  {
    what: "a changed setting",
    code: "file_changed",
    line: () => lines.length,
    file: () => file([...changed("tea", "tee"), lines.at(-1) ?? ""]),
  },
  {
    what: "an event removed",
    code: "event_changed",
    // The event after it, behind the blob that it names.
    line: () => at("bytes") + 1,
    file: () => file(sealed(without(at("event") + 1))),
  },
  {
    what: "a blob with other bytes",
    code: "blob_damaged",
    line: () => at("bytes") + 1,
    file: () => file(sealed(changed(/"base64":"."*/, '"base64":"Z'))),
  },
  {
    what: "fewer bytes than were announced",
    code: "file_invalid",
    line: () => at("bytes") + 1,
    file: () => file(sealed(without(at("bytes")))),
  },
  {
    what: "a file outside the home",
    code: "file_invalid",
    line: () => lines.length,
    file: () => file(sealed([...body(), '{"kind":"file","path":"skills/../../evil","size":0}'])),
  },
  {
    what: "a file that is no part of an export",
    code: "file_invalid",
    line: () => lines.length,
    file: () => file(sealed([...body(), '{"kind":"file","path":"secrets.key","size":0}'])),
  },
  {
    what: "the same log twice",
    code: "file_invalid",
    line: () => lines.length,
    file: () => file(sealed([...body(), lines[at("log")] ?? ""])),
  },
  {
    what: "a line of no known kind",
    code: "file_invalid",
    line: () => 3,
    file: () => file(sealed(inserted(2, '{"kind":"program","run":"rm"}'))),
  },
  {
    what: "a line that is not JSON",
    code: "file_invalid",
    line: () => 3,
    file: () => file(sealed(inserted(2, "{"))),
  },
  {
    what: "a line that never ends",
    code: "file_invalid",
    line: () => 2,
    file: () => `${lines[0] ?? ""}\n${"x".repeat(maxLineBytes + 1)}`,
  },
  {
    what: "lines behind its end",
    code: "file_invalid",
    line: () => lines.length + 1,
    file: () => file([...lines, lines[0] ?? ""]),
  },
  {
    what: "a signature of something else",
    code: "signature_invalid",
    line: () => lines.length,
    file: () => file([...body(), (lines.at(-1) ?? "").replace(/"signature":"./, '"signature":"_')]),
  },
];

async function* bytesOf(text: string) {
  const bytes = Buffer.from(text);
  for (let from = 0; from < bytes.length; from += 60_000) yield bytes.subarray(from, from + 60_000);
}

test.each(damages)(
  "[safety] a full export with $what is refused with its place, and nothing of it is kept",
  async ({ code, line, file: make }) => {
    const text = make();
    expect(await checkExport(bytesOf(text))).toMatchObject({ problem: { code, line: line() } });
    const store = await openStore();
    const before = await contentsOf(store);
    const copied = await copyExport({ store, home: makeHome(), open: () => bytesOf(text) });
    expect(copied).toMatchObject({ status: "fault", fault: { code, line: line() } });
    expect(await contentsOf(store)).toEqual(before);
    const rows = [];
    for await (const row of store.audit.register()) rows.push(row);
    expect(rows).toEqual([]);
  },
);

test("[safety] what opens a host or runs it is never taken from a file, whoever signed it", async () => {
  const store = await openStore();
  const forged = [
    { owner, key: "api-key/0011223344556677" },
    { owner, key: "sign-in/1" },
    { owner, key: "sign-in-code/0" },
    { owner, key: "secret/key/openai" },
    { owner: "holdfast:host", key: "import/other" },
  ];
  const rows = forged.map((row) => JSON.stringify({ kind: "register", ...row, value: '"theirs"' }));
  const text = file(sealed([...body(), ...rows]));
  const copied = await copyExport({ store, home: makeHome(), open: () => bytesOf(text) });
  expect(copied).toMatchObject({
    status: "copied",
    report: { settings: { taken: 1, kept: 0 }, leftOut: forged.map(({ key: name }) => name) },
  });
  for (const { owner: whose, key: name } of forged)
    expect(await store.register.read(ownerId.parse(whose), name)).toBeNull();
});

test("[safety] a forged session that the store refuses ends there, and the import ends all the same", async () => {
  const [store, home] = [await openStore(), makeHome()];
  const copyOf = (from: string, to: string) =>
    body()
      .filter((line) => /"kind":"(log|event|logEnd)"/.test(line))
      .map((line) => line.replaceAll(from, to).replace(/"link":"[^"]*"/, '"link":null'))
      .map((line) => line.replace(/"id":"evt_(...)..../, '"id":"evt_$10000'));
  const session = /ses_\w+/.exec(body().join("\n"))?.[0] ?? "";
  const other = session.replace(/....$/, "0000");
  // The same runs and messages once more, in another session.
  const text = file(sealed([...body(), ...copyOf(session, other)]));
  for (const _ of ["once", "again"]) {
    const copied = await copyExport({ store, home, open: () => bytesOf(text) });
    expect(copied).toMatchObject({
      status: "copied",
      report: { refused: [{ session: other, seq: 3 }], findings: [] },
    });
    expect(await unfinishedCopy(store)).toBeNull();
  }
});

test("a file whose name is taken by a folder, or the reverse, is left out and named", async () => {
  const [store, home] = [await openStore(), makeHome()];
  mkdirSync(join(home, "skills", "tea"), { recursive: true });
  mkdirSync(join(home, "memory"), { recursive: true });
  writeFileSync(join(home, "memory", "notes"), "a file here");
  const long = `skills/${"x".repeat(300)}`;
  const paths = ["skills/tea", "memory/notes/one.md", long];
  const files = paths.map((path) => JSON.stringify({ kind: "file", path, size: 0 }));
  const text = file(sealed([...body(), ...files]));
  for (const _ of ["once", "again"]) {
    const copied = await copyExport({ store, home, open: () => bytesOf(text) });
    expect(copied).toMatchObject({ status: "copied", report: { keptHere: paths } });
    expect(await unfinishedCopy(store)).toBeNull();
  }
  expect(readdirSync(join(home, "skills"))).toEqual(["tea"]);
  expect(readFileSync(join(home, "memory", "notes"), "utf8")).toBe("a file here");
});

test("an undamaged full export verifies, and only with the key that signed it", async () => {
  const text = file(lines);
  expect(await checkExport(bytesOf(text))).toMatchObject({
    logs: 1,
    blobs: 1,
    signature: { key: key.id },
    problem: null,
  });
  expect(await checkExport(bytesOf(text), "0000000000000000")).toMatchObject({
    problem: { code: "signature_missing" },
  });
});
