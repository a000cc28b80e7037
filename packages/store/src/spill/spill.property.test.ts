import {
  linkSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";

import type { SpillHeader } from "@holdfast/engine";
import { type Fence, ids, newEvent, type NewEvent, ownerId } from "@holdfast/protocol";
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import {
  encodeEnd,
  encodeEvents,
  encodeHeader,
  decodeSpill,
  decodeRecords,
  encodeRecord,
} from "./format.ts";
import { openSpillFolder } from "./folder.ts";

const texts = fc.array(fc.string({ unit: "binary", maxLength: 60 }), {
  minLength: 1,
  maxLength: 12,
});

const fileOf = (payloads: readonly string[]) =>
  payloads.map((text, number) => encodeRecord(number, text));

describe("spill records", () => {
  test("round-trip, whatever reserved space follows them", () => {
    fc.assert(
      fc.property(texts, fc.nat(200), (payloads, reservedBytes) => {
        const decoded = decodeRecords(
          Buffer.concat([...fileOf(payloads), Buffer.alloc(reservedBytes)]),
        );
        expect(decoded.damage).toEqual([]);
        expect(decoded.records.map(({ text }) => text)).toEqual(
          payloads.map((text) => text.toWellFormed()),
        );
      }),
    );
  });

  test("[S4.8] a flipped bit costs the record that it is in, and is reported", () => {
    fc.assert(
      fc.property(texts, fc.nat(), fc.nat(7), (payloads, position, bit) => {
        const records = fileOf(payloads);
        const bytes = Buffer.concat(records);
        const at = position % bytes.length;
        bytes[at] = (bytes[at] ?? 0) ^ (1 << bit);
        let end = 0;
        const hit = records.findIndex((record) => at < (end += record.length));
        const { records: found, damage } = decodeRecords(bytes);
        expect(found.map(({ number }) => number)).toEqual(
          payloads.map((_, number) => number).filter((number) => number !== hit),
        );
        expect(damage).toHaveLength(1);
      }),
    );
  });

  test("[S4.8] a torn end costs the last record, and is reported unless the cut is between two records", () => {
    fc.assert(
      fc.property(texts, fc.nat(), (payloads, position) => {
        const records = fileOf(payloads);
        const bytes = Buffer.concat(records);
        const length = position % bytes.length;
        let end = 0;
        const whole = records.filter((record) => (end += record.length) <= length);
        const { records: found, damage } = decodeRecords(bytes.subarray(0, length));
        expect(found).toHaveLength(whole.length);
        const isClean = Buffer.concat(whole).length === length;
        expect(damage.map(({ kind }) => kind)).toEqual(isClean ? [] : ["torn"]);
      }),
    );
  });

  test("[S4.8] a repeated record counts once, and is reported", () => {
    fc.assert(
      fc.property(texts, fc.nat(), (payloads, position) => {
        const records = fileOf(payloads);
        const repeated = records[position % records.length] ?? Buffer.alloc(0);
        const { records: found, damage } = decodeRecords(Buffer.concat([...records, repeated]));
        expect(found).toHaveLength(payloads.length);
        expect(damage.map(({ kind }) => kind)).toEqual(["repeated"]);
      }),
    );
  });

  test("decoding arbitrary bytes ends and never throws", async () => {
    const magics = fc.constant(Buffer.from("HFS1\0\0\xff\0", "latin1"));
    const pieces = fc.array(
      fc.oneof(
        fc.uint8Array({ maxLength: 50 }).map((bytes) => Buffer.from(bytes)),
        magics,
      ),
    );
    await fc.assert(
      fc.asyncProperty(pieces, async (chunks) => {
        expect(await decodeSpill(Buffer.concat(chunks))).toHaveProperty("status");
      }),
    );
    expect(decodeRecords(Buffer.from("HFS1\0\x01\0\0".repeat(20_000), "latin1")).records).toEqual(
      [],
    );
  });
});

function aHeader(): SpillHeader {
  return {
    owner: ownerId.parse("somebody"),
    session: ids.make("session"),
    runId: ids.make("run"),
    fence: 3 as Fence,
    place: "here",
    ingestId: ids.make("event"),
  };
}

function aDelta(header: SpillHeader, text: string): NewEvent {
  const data = { messageId: ids.make("message"), text };
  return newEvent(ids.make("event"), "message.delta", data, header.runId);
}

describe("a decoded spill", () => {
  const header = aHeader();
  const event = aDelta(header, "dark");
  const end = { how: "done", model: "m", calls: [], usage: null } as const;
  const read = (...payloads: string[]) => decodeSpill(Buffer.concat(fileOf(payloads)));

  test("is arriving with a header only, sealed with an end, and output with events", async () => {
    expect(await read()).toEqual({ status: "arriving" });
    expect(await read(encodeHeader(header))).toEqual({ status: "arriving", isBegun: true });
    expect(await read(encodeHeader(header), encodeEnd(end))).toMatchObject({
      status: "sealed",
      header,
    });
    expect(await read(encodeHeader(header), encodeEvents([event]))).toMatchObject({
      status: "output",
      events: [event],
      end: null,
    });
  });

  test("is read while other work goes on, however long it is", async () => {
    const long = Array.from({ length: 200 }, () => aDelta(header, "word ".repeat(1_000)));
    let turns = 0;
    const decoded = new AbortController();
    const otherWork = (async () => {
      for (; !decoded.signal.aborted; turns += 1) await nextTurn();
    })();
    const result = await read(encodeHeader(header), ...long.map((each) => encodeEvents([each])));
    decoded.abort();
    await otherWork;
    expect(result).toMatchObject({ status: "output", events: long });
    expect(turns).toBeGreaterThan(10);
  });

  test("leaves out malformed records and events of another run", async () => {
    const foreign = aDelta(aHeader(), "not ours");
    const hostile = [
      "null",
      "[]",
      '{"kind":"events","events":[{"id":"evt_x"}]}',
      '{"__proto__":1}',
      "{",
    ];
    const result = await read(encodeHeader(header), ...hostile, encodeEvents([event, foreign]));
    expect(result).toMatchObject({ status: "output", events: [event] });
    expect("damage" in result && result.damage.map(({ kind }) => kind)).toEqual(
      hostile.map(() => "foreign"),
    );
  });
});

describe("a spill folder", () => {
  let path: string;
  beforeEach(() => {
    path = mkdtempSync(join(tmpdir(), "holdfast-spill-"));
  });
  afterEach(() => rmSync(path, { recursive: true, force: true }));

  test("reads nothing from a forgotten spill, even if the file can't be removed", async () => {
    const folder = await openSpillFolder(path, { reserveBytes: 4_096 });
    const header = { ...aHeader(), place: folder.place };
    const begun = await folder.begin(header);
    if (begun.status === "failed") throw new Error(begun.message);
    await begun.file.append([aDelta(header, "a")]);
    const [name] = readdirSync(path).filter((file) => file.endsWith(".spill"));
    if (name === undefined) throw new Error("There is no spill.");
    // A second name for the same file: it outlives the removal, as the first would if that failed.
    linkSync(join(path, name), join(path, "kept"));
    await begun.file.discard();
    renameSync(join(path, "kept"), join(path, name));
    expect(await folder.left()).toEqual([]);
    expect(await folder.read(header)).toEqual({ status: "arriving" });
  });

  test("keeps what was written, private, until it is told to forget it", async () => {
    const folder = await openSpillFolder(path, { reserveBytes: 4_096 });
    await folder.reserve();
    const header = { ...aHeader(), place: folder.place };
    expect(await folder.read(header)).toEqual({ status: "known_empty" });
    expect(await folder.read({ ...header, place: "elsewhere" })).toEqual({ status: "arriving" });
    const begun = await folder.begin(header);
    if (begun.status === "failed") throw new Error(begun.message);
    const written = [aDelta(header, "a"), aDelta(header, "b".repeat(10_000))];
    for (const event of written)
      expect(await begun.file.append([event])).toEqual({ status: "kept" });
    expect(await folder.left()).toEqual([]);
    await begun.file.close();
    expect(await folder.left()).toEqual([header]);
    for (const name of readdirSync(path)) expect(statSync(join(path, name)).mode & 0o077).toBe(0);

    const reopened = await openSpillFolder(path);
    expect(reopened.place).toBe(folder.place);
    expect(await reopened.read(header)).toMatchObject({
      status: "output",
      events: written,
      damage: [],
    });
    await reopened.forget(header);
    expect(await reopened.read(header)).toEqual({ status: "known_empty" });
  });

  test("proves nothing when it is missing or belongs to another store", async () => {
    const folder = await openSpillFolder(path);
    rmSync(path, { recursive: true });
    const header = { ...aHeader(), place: folder.place };
    expect(await folder.read(header)).toEqual({ status: "arriving" });
    expect(await folder.left()).toEqual([]);
    expect(await folder.begin(header)).toMatchObject({ status: "failed" });
  });

  test("removes the reserves of dead processes and leaves other files alone", async () => {
    const ours = `0022.reserve.${process.pid}`;
    writeFileSync(join(path, "0011.reserve.999999999"), "");
    writeFileSync(join(path, ours), "");
    writeFileSync(join(path, "notes.txt"), "");
    writeFileSync(join(path, "nobody.spill"), "what is this");
    const folder = await openSpillFolder(path);
    expect(readdirSync(path).toSorted()).toEqual([ours, "nobody.spill", "notes.txt", "place"]);
    expect(await folder.left()).toEqual([]);
  });
});
