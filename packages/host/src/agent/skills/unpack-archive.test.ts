import { deflateRawSync, gzipSync } from "node:zlib";

import { strToU8, zipSync } from "fflate";
import { describe, expect, test } from "vitest";

import { unpackArchive } from "./unpack-archive.ts";

/** A header of ustar with its content. */
function tarEntry(name: string, content: string, type = "0", prefix = ""): Buffer {
  const body = Buffer.from(content);
  const header = Buffer.alloc(512);
  header.write(name, 0);
  header.write(body.length.toString(8).padStart(11, "0"), 124);
  header.write(type, 156);
  header.write("ustar\u000000", 257);
  header.write(prefix, 345);
  return Buffer.concat([header, body, Buffer.alloc((512 - (body.length % 512)) % 512)]);
}

const tarOf = (...entries: readonly Buffer[]) =>
  gzipSync(Buffer.concat([...entries, Buffer.alloc(1_024)]));

/** A zip with one content and several entries that all point to it. */
function zipWithSharedBytes({
  copies,
  method,
  packed,
  size,
}: {
  readonly copies: number;
  readonly method: number;
  readonly packed: Buffer;
  readonly size: number;
}): Buffer {
  const local = Buffer.alloc(30);
  local.write("PK\u0003\u0004", 0, "latin1");
  const entries = Array.from({ length: copies }, (_, index) => {
    const name = Buffer.from(`f${index}`);
    const entry = Buffer.alloc(46);
    entry.write("PK\u0001\u0002", 0, "latin1");
    entry.writeUInt16LE(method, 10);
    entry.writeUInt32LE(packed.length, 20);
    entry.writeUInt32LE(size, 24);
    entry.writeUInt16LE(name.length, 28);
    return Buffer.concat([entry, name]);
  });
  const end = Buffer.alloc(22);
  end.write("PK\u0005\u0006", 0, "latin1");
  end.writeUInt16LE(copies, 8);
  end.writeUInt16LE(copies, 10);
  end.writeUInt32LE(Buffer.concat(entries).length, 12);
  end.writeUInt32LE(local.length + packed.length, 16);
  return Buffer.concat([local, packed, ...entries, end]);
}

async function namesIn(archive: Uint8Array) {
  const unpacked = await unpackArchive(archive);
  return unpacked.ok
    ? [...unpacked.files].map(([name, bytes]) => [name, Buffer.from(bytes).toString()])
    : unpacked.reason;
}

test("the files of a zip and of a tar.gz are read, without folders and what systems leave in them", async () => {
  const zip = zipSync({
    "deploy/SKILL.md": strToU8("Do it."),
    "deploy/": new Uint8Array(),
    "deploy/.git/config": strToU8("x"),
    "__MACOSX/x": strToU8("x"),
  });
  expect(await namesIn(zip)).toEqual([["deploy/SKILL.md", "Do it."]]);
  const long = "long/".repeat(8);
  const pax = "27 path=./deploy/pax-name\n";
  const tar = tarOf(
    tarEntry("deploy/", "", "5"),
    tarEntry("./deploy/SKILL.md", "Do it."),
    tarEntry("a.md", "a", "0", `${long}x`),
    tarEntry("pax", pax, "x"),
    tarEntry("ignored", "p"),
    tarEntry("././@LongLink", `${long}gnu.md\0`, "L"),
    tarEntry("ignored", "g"),
  );
  expect(await namesIn(tar)).toEqual([
    ["deploy/SKILL.md", "Do it."],
    [`${long}x/a.md`, "a"],
    ["deploy/pax-name", "p"],
    [`${long}gnu.md`, "g"],
  ]);
});

describe("an archive is refused with the reason", () => {
  const names = [
    "../outside",
    "/etc/passwd",
    "a/../../b",
    "a\\..\\b",
    "C:x",
    "a//b",
    "a\u0001b",
    "x/".repeat(13) + "y",
    "n".repeat(500),
  ];
  test.each(names)("with the name %j, in a zip or a tar.gz", async (name) => {
    expect(await namesIn(zipSync({ [name]: strToU8("x") }))).toContain("not a valid file name");
    const long = tarOf(tarEntry("x", `${name}\0`, "L"), tarEntry("x", "x"));
    expect(await namesIn(long)).toContain("not a valid file name");
  });

  test.each([
    ["a symbolic link", "2"],
    ["a hard link", "1"],
    ["a device", "3"],
    ["a pipe", "6"],
  ])("with %s", async (_, type) => {
    expect(await namesIn(tarOf(tarEntry("a", "", type)))).toContain("is a link or a device");
  });

  test("with two names that differ in their case", async () => {
    const zip = zipSync({ "a/SKILL.md": strToU8("1"), "A/skill.md": strToU8("2") });
    expect(await namesIn(zip)).toContain("is there twice");
  });

  test("with too many files, too large a file, or too much in all", async () => {
    const many = Object.fromEntries(
      Array.from({ length: 10_000 }, (_, index) => [`f${index}`, new Uint8Array()]),
    );
    expect(await namesIn(zipSync(many, { level: 0 }))).toContain("more than 2000 files");
    expect(await namesIn(zipSync({ bomb: new Uint8Array(5_000_000) }))).toContain("too large");
    expect(await namesIn(gzipSync(Buffer.alloc(60_000_000)))).toContain("damaged or too large");
  });

  test("with entries that share their bytes, or hold more than they say", async () => {
    const shared = { copies: 20, method: 0, packed: Buffer.alloc(1_000_000), size: 1_000_000 };
    expect(await namesIn(zipWithSharedBytes(shared))).toContain("damaged");
    const unlisted = { copies: 1, method: 0, packed: Buffer.alloc(1_000_000), size: 0 };
    expect(await namesIn(zipWithSharedBytes(unlisted))).toContain("damaged");
    const bomb = { copies: 1, method: 8, packed: deflateRawSync(Buffer.alloc(1_000_000)) };
    expect(await namesIn(zipWithSharedBytes({ ...bomb, size: 10 }))).toContain("damaged");
    expect(await namesIn(zipWithSharedBytes({ ...bomb, size: 1_000_000 }))).toHaveLength(1);
  });

  test("that is damaged, or no archive", async () => {
    // The bytes of this time are those of an archive without entries.
    const mtime = new Date(2026, 10, 18, 8, 0, 0);
    const zip = zipSync({ "a.md": [strToU8("Do it. ".repeat(100)), { mtime }] });
    const broken = zip.slice();
    broken.fill(255, 35, 50);
    expect(await namesIn(zip.subarray(0, 60))).toContain("damaged");
    expect(typeof (await namesIn(broken))).toBe("string");
    expect(await namesIn(gzipSync(tarEntry("a", "x".repeat(2_000)).subarray(0, 900)))).toContain(
      "ends early",
    );
    expect(await namesIn(strToU8("nothing"))).toContain("neither a zip nor a tar.gz");
  });
});
