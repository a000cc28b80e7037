import { crc32 } from "node:zlib";

import type { SpillDamage } from "@holdfast/engine";

/**
 * A record is sixteen bytes (mark, length, number, checksum), and its text. The checksum covers all but itself and the mark.
 * Behind the last one are the zeros of the room that was kept for more.
 */
const recordMagic = 0x48_46_53_31;
const recordHeadBytes = 16;
/** Above what one tick of a journal can be, in bytes. */
const maxRecordBytes = 4 * 1024 * 1024;

export interface DecodedRecord {
  readonly number: number;
  readonly text: string;
  readonly offset: number;
}

export function encodeRecord(number: number, text: string): Buffer {
  const body = Buffer.from(text, "utf8");
  const record = Buffer.alloc(recordHeadBytes + body.length);
  record.writeUInt32BE(recordMagic, 0);
  record.writeUInt32BE(body.length, 4);
  record.writeUInt32BE(number, 8);
  body.copy(record, recordHeadBytes);
  record.writeUInt32BE(checksum(record, 0, body.length), 12);
  return record;
}

export interface DecodedRecords {
  /** In the order of their numbers, each once. */
  readonly records: readonly DecodedRecord[];
  readonly damage: readonly SpillDamage[];
}

/**
 * Everything in the file that is whole, whatever else is in it. A record that is not costs itself alone: the next mark whose
 * checksum holds is where reading goes on.
 */
export function decodeRecords(bytes: Buffer): DecodedRecords {
  const found = new Map<number, DecodedRecord>();
  const damage: SpillDamage[] = [];
  // A file made of marks alone would otherwise be summed over and over.
  let budget = 4 * bytes.length + maxRecordBytes;
  let offset = 0;
  while (offset < bytes.length && budget > 0) {
    const length = recordLengthAt(bytes, offset);
    budget -= length === undefined ? 1 : recordHeadBytes + length;
    if (length === undefined || !isChecksumValid(bytes, offset, length)) {
      const next = nextMagic(bytes, offset + 1);
      const isRest = next === bytes.length;
      if (isRest && isZero(bytes, offset)) break;
      damage.push({ kind: isRest ? "torn" : "damaged", offset });
      offset = next;
      continue;
    }
    const end = offset + recordHeadBytes + length;
    const number = bytes.readUInt32BE(offset + 8);
    if (found.has(number)) damage.push({ kind: "repeated", offset });
    else {
      const text = bytes.toString("utf8", offset + recordHeadBytes, end);
      found.set(number, { number, text, offset });
    }
    offset = end;
  }
  const records = [...found.values()].toSorted((a, b) => a.number - b.number);
  return { records, damage };
}

/** `undefined` where no record can begin, or where it would be longer than any. */
function recordLengthAt(bytes: Buffer, offset: number): number | undefined {
  if (offset + recordHeadBytes > bytes.length || bytes.readUInt32BE(offset) !== recordMagic)
    return undefined;
  const length = bytes.readUInt32BE(offset + 4);
  return length > maxRecordBytes ? undefined : length;
}

function isChecksumValid(bytes: Buffer, offset: number, length: number): boolean {
  if (offset + recordHeadBytes + length > bytes.length) return false;
  return checksum(bytes, offset, length) === bytes.readUInt32BE(offset + 12);
}

function checksum(bytes: Buffer, offset: number, length: number): number {
  const head = crc32(bytes.subarray(offset + 4, offset + 12));
  return crc32(bytes.subarray(offset + recordHeadBytes, offset + recordHeadBytes + length), head);
}

const markBytes = Buffer.from([0x48, 0x46, 0x53, 0x31]);

function nextMagic(bytes: Buffer, from: number): number {
  const at = bytes.indexOf(markBytes, from);
  return at === -1 ? bytes.length : at;
}

function isZero(bytes: Buffer, from: number): boolean {
  for (let at = from; at < bytes.length; at += 1) if (bytes[at] !== 0) return false;
  return true;
}
