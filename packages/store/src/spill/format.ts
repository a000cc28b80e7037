import { crc32 } from "node:zlib";

import type { SpillDamage } from "@holdfast/engine";

/**
 * A record is sixteen bytes (mark, length, number, checksum), and its text. The checksum covers all but itself and the mark.
 * Behind the last one are the zeros of the room that was kept for more.
 */
const mark = 0x48_46_53_31;
const headLength = 16;
/** Above what one tick of a journal can be, in bytes. */
const longestRecord = 4 * 1024 * 1024;

export interface FoundRecord {
  readonly number: number;
  readonly text: string;
  readonly offset: number;
}

export function encodeRecord(number: number, text: string): Buffer {
  const body = Buffer.from(text, "utf8");
  const record = Buffer.alloc(headLength + body.length);
  record.writeUInt32BE(mark, 0);
  record.writeUInt32BE(body.length, 4);
  record.writeUInt32BE(number, 8);
  body.copy(record, headLength);
  record.writeUInt32BE(checksum(record, 0, body.length), 12);
  return record;
}

export interface FoundRecords {
  /** In the order of their numbers, each once. */
  readonly records: readonly FoundRecord[];
  readonly damage: readonly SpillDamage[];
}

/**
 * Everything in the file that is whole, whatever else is in it. A record that is not costs itself alone: the next mark whose
 * checksum holds is where reading goes on.
 */
export function decodeRecords(bytes: Buffer): FoundRecords {
  const found = new Map<number, FoundRecord>();
  const damage: SpillDamage[] = [];
  // A file made of marks alone would otherwise be summed over and over.
  let budget = 4 * bytes.length + longestRecord;
  let offset = 0;
  while (offset < bytes.length && budget > 0) {
    const length = lengthAt(bytes, offset);
    budget -= length === undefined ? 1 : headLength + length;
    if (length === undefined || !holds(bytes, offset, length)) {
      const next = nextMark(bytes, offset + 1);
      const isRest = next === bytes.length;
      if (isRest && isZero(bytes, offset)) break;
      damage.push({ kind: isRest ? "torn" : "damaged", offset });
      offset = next;
      continue;
    }
    const end = offset + headLength + length;
    const number = bytes.readUInt32BE(offset + 8);
    if (found.has(number)) damage.push({ kind: "repeated", offset });
    else {
      const text = bytes.toString("utf8", offset + headLength, end);
      found.set(number, { number, text, offset });
    }
    offset = end;
  }
  const records = [...found.values()].toSorted((a, b) => a.number - b.number);
  return { records, damage };
}

/** `undefined` where no record can begin, or where it would be longer than any. */
function lengthAt(bytes: Buffer, offset: number): number | undefined {
  if (offset + headLength > bytes.length || bytes.readUInt32BE(offset) !== mark) return undefined;
  const length = bytes.readUInt32BE(offset + 4);
  return length > longestRecord ? undefined : length;
}

function holds(bytes: Buffer, offset: number, length: number): boolean {
  if (offset + headLength + length > bytes.length) return false;
  return checksum(bytes, offset, length) === bytes.readUInt32BE(offset + 12);
}

function checksum(bytes: Buffer, offset: number, length: number): number {
  const head = crc32(bytes.subarray(offset + 4, offset + 12));
  return crc32(bytes.subarray(offset + headLength, offset + headLength + length), head);
}

const markBytes = Buffer.from([0x48, 0x46, 0x53, 0x31]);

function nextMark(bytes: Buffer, from: number): number {
  const at = bytes.indexOf(markBytes, from);
  return at === -1 ? bytes.length : at;
}

function isZero(bytes: Buffer, from: number): boolean {
  for (let at = from; at < bytes.length; at += 1) if (bytes[at] !== 0) return false;
  return true;
}
