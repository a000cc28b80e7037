import { createHash } from "node:crypto";
import {
  type BlobId,
  type OwnerId,
  roleOf,
  type SessionId,
  type StoredEvent,
} from "@holdfast/protocol";
import { ChainCheck, commitmentOf, decodeLink, rowOfEvent } from "@holdfast/store/hash-chain";

import { isSignedBy, keyIdOf } from "../audit/audit-key.ts";
import {
  type EndLine,
  type EventLine,
  type ExportLine,
  exportLine,
  type HeaderLine,
  headerLine,
  fullExportVersion,
  isExportedPath,
  type LogLine,
  maxBytes,
  maxLineBytes,
  type RegisterLine,
  signedText,
  type UsageLine,
} from "./format.ts";

export type ExportFaultCode =
  | "file_invalid"
  | "file_cut"
  | "file_changed"
  | "version_unknown"
  | "event_changed"
  | "blob_damaged"
  | "signature_invalid";

/** Why a file is not taken, and where. */
export class ExportFault extends Error {
  readonly code: ExportFaultCode;
  readonly line: number;
  constructor(code: ExportFaultCode, line: number, message: string) {
    super(message);
    this.name = "ExportFault";
    this.code = code;
    this.line = line;
  }
}

export type ExportItem =
  | { readonly kind: "header"; readonly header: HeaderLine }
  | { readonly kind: "log"; readonly log: LogLine }
  | {
      readonly kind: "event";
      readonly log: LogLine;
      readonly event: StoredEvent;
      readonly link: string | null;
    }
  | {
      readonly kind: "damaged";
      readonly log: LogLine;
      readonly seq: number;
      readonly problem: string;
    }
  | { readonly kind: "usage"; readonly log: LogLine; readonly usage: UsageLine }
  | { readonly kind: "logEnd"; readonly log: LogLine }
  | {
      readonly kind: "blob";
      readonly owner: OwnerId;
      readonly id: BlobId;
      readonly mediaType: string;
      readonly bytes: Uint8Array;
    }
  | { readonly kind: "file"; readonly path: string; readonly bytes: Uint8Array }
  | { readonly kind: "register"; readonly row: RegisterLine }
  | { readonly kind: "end"; readonly end: EndLine; readonly key: string };

/** With its place in the file, for whoever finds something wrong with it. */
export type PlacedItem = ExportItem & { readonly line: number };

/**
 * Reads an export from its beginning and checks everything that can be checked without a host: every line, the hash of
 * every blob, every link of every log, the counts, the hash of the whole and its signature. Throws an `ExportFault`.
 */
export async function* readExport(source: AsyncIterable<Uint8Array>): AsyncGenerator<PlacedItem> {
  const reader = new ExportReader();
  let number = 0;
  for await (const line of splitLines(source)) {
    number += 1;
    const item = reader.read(line, number);
    if (item !== null) yield { ...item, line: number };
  }
  reader.close(number);
}

async function* splitLines(source: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  let length = 0;
  let number = 1;
  for await (const chunk of source) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let from = 0;
    for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, from)) {
      parts.push(bytes.subarray(from, end));
      yield parts.length === 1 ? parts[0]! : Buffer.concat(parts);
      parts = [];
      length = 0;
      number += 1;
      from = end + 1;
    }
    const rest = bytes.subarray(from);
    length += rest.byteLength;
    if (length > maxLineBytes)
      throw new ExportFault(
        "file_invalid",
        number,
        `The line is longer than ${maxLineBytes} bytes.`,
      );
    if (rest.byteLength > 0) parts.push(Buffer.from(rest));
  }
  if (length > 0) throw new ExportFault("file_cut", number, "The file ends within a line.");
}

type Collecting =
  | {
      readonly kind: "blob";
      readonly owner: OwnerId;
      readonly id: BlobId;
      readonly mediaType: string;
    }
  | { readonly kind: "file"; readonly path: string };

const counted = ["logs", "events", "blobs", "register", "files"] as const;

class ExportReader {
  readonly #hash = createHash("sha256");
  readonly #text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  readonly #seen = new Set<SessionId>();
  readonly #counts = { logs: 0, events: 0, blobs: 0, register: 0, files: 0 };
  #state: "start" | "open" | "ended" = "start";
  #log: LogCheck | null = null;
  #collecting: {
    readonly of: Collecting;
    readonly size: number;
    parts: Buffer[];
    got: number;
  } | null = null;
  #line = 0;

  read(bytes: Buffer, line: number): ExportItem | null {
    this.#line = line;
    const value = this.#parse(bytes);
    if (this.#state === "ended")
      throw this.#fault("file_invalid", "Nothing may follow the last line.");
    if (this.#state === "start") {
      this.#addToHash(bytes);
      return { kind: "header", header: this.#header(value) };
    }
    const parsed = exportLine.safeParse(value);
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      const where = issue?.path.join(".") ?? "";
      throw this.#fault(
        "file_invalid",
        `The line is not part of the format (${where === "" ? "" : `${where}: `}${issue?.message ?? ""}).`,
      );
    }
    const { data } = parsed;
    if (data.kind !== "end") this.#addToHash(bytes);
    return this.#item(data);
  }

  close(lines: number): void {
    if (this.#state === "start") throw new ExportFault("file_invalid", 1, "The file is empty.");
    if (this.#state !== "ended")
      throw new ExportFault("file_cut", lines, "The file ends before its last line.");
  }

  #fault(code: ExportFaultCode, message: string): ExportFault {
    return new ExportFault(code, this.#line, message);
  }

  #addToHash(bytes: Buffer): void {
    this.#hash.update(bytes);
    this.#hash.update("\n");
  }

  #parse(bytes: Buffer): unknown {
    try {
      return JSON.parse(this.#text.decode(bytes));
    } catch {
      throw this.#fault("file_invalid", "The line is not JSON.");
    }
  }

  #header(value: unknown): HeaderLine {
    const header = headerLine.safeParse(value);
    if (!header.success)
      throw this.#fault("file_invalid", "This is not a full export of Holdfast.");
    if (header.data.version !== fullExportVersion)
      throw this.#fault(
        "version_unknown",
        `The file has version ${header.data.version} of the format; this Holdfast reads version ${fullExportVersion}.`,
      );
    this.#state = "open";
    return header.data;
  }

  #item(line: ExportLine): ExportItem | null {
    if (line.kind === "bytes") return this.#addBytes(line.base64);
    if (this.#collecting !== null)
      throw this.#fault("file_invalid", "Bytes are missing before this line.");
    switch (line.kind) {
      case "log":
        return this.#beginLog(line);
      case "event": {
        const log = this.#openLog();
        this.#counts.events += 1;
        const event = log.add(line, (message) => this.#fault("event_changed", message));
        return { kind: "event", log: log.line, event, link: line.link };
      }
      case "damaged": {
        const log = this.#openLog();
        log.skip(line.link);
        return { kind: "damaged", log: log.line, seq: line.seq, problem: line.problem };
      }
      case "usage": {
        const { line: log } = this.#openLog();
        if (log.purged === null)
          throw this.#fault("file_invalid", "Only a deleted session's usage has lines of its own.");
        return { kind: "usage", log, usage: line };
      }
      case "logEnd": {
        const log = this.#openLog();
        if (line.session !== log.line.session || line.events !== log.events)
          throw this.#fault("file_changed", `Lines of ${log.line.session} are missing.`);
        this.#log = null;
        return { kind: "logEnd", log: log.line };
      }
      case "blob": {
        const { owner, id, mediaType, size } = line;
        this.#counts.blobs += 1;
        return this.#collect({ kind: "blob", owner, id, mediaType }, size);
      }
      case "file":
        if (!isExportedPath(line.path))
          throw this.#fault("file_invalid", "A file of this name is not part of a full export.");
        this.#counts.files += 1;
        return this.#collect({ kind: "file", path: line.path }, line.size);
      case "register":
        this.#counts.register += 1;
        return { kind: "register", row: line };
      case "end":
        return this.#end(line);
    }
  }

  #beginLog(log: LogLine): ExportItem {
    if (this.#log !== null)
      throw this.#fault("file_invalid", "The log before this line has no end.");
    if (this.#seen.has(log.session))
      throw this.#fault("file_invalid", `The log of ${log.session} is there twice.`);
    this.#seen.add(log.session);
    this.#counts.logs += 1;
    this.#log = new LogCheck(log);
    return { kind: "log", log };
  }

  #openLog(): LogCheck {
    if (this.#log === null) throw this.#fault("file_invalid", "The line belongs to no log.");
    return this.#log;
  }

  #collect(of: Collecting, size: number): ExportItem | null {
    if (size > maxBytes) throw this.#fault("file_invalid", `More than ${maxBytes} bytes.`);
    this.#collecting = { of, size, parts: [], got: 0 };
    return size === 0 ? this.#collected() : null;
  }

  #addBytes(base64: string): ExportItem | null {
    const collecting = this.#collecting;
    if (collecting === null) throw this.#fault("file_invalid", "The bytes belong to nothing.");
    const bytes = Buffer.from(base64, "base64");
    collecting.parts.push(bytes);
    collecting.got += bytes.byteLength;
    if (collecting.got > collecting.size || bytes.byteLength === 0)
      throw this.#fault("file_invalid", "There are more or fewer bytes than were announced.");
    return collecting.got === collecting.size ? this.#collected() : null;
  }

  #collected(): ExportItem {
    const { of, parts } = this.#collecting!;
    this.#collecting = null;
    const bytes = Buffer.concat(parts);
    if (of.kind === "file") return { ...of, bytes };
    if (`blob_${createHash("sha256").update(bytes).digest("hex")}` !== of.id)
      throw this.#fault(
        "blob_damaged",
        `The bytes of ${of.id} do not have the hash that is their name.`,
      );
    return { ...of, bytes };
  }

  #end(end: EndLine): ExportItem {
    if (this.#log !== null) throw this.#fault("file_invalid", "The last log has no end.");
    if (end.sha256 !== this.#hash.digest("hex"))
      throw this.#fault(
        "file_changed",
        "The file was changed: its lines do not have the hash that ends it.",
      );
    for (const name of counted)
      if (end[name] !== this.#counts[name])
        throw this.#fault("file_changed", `The last line counts ${name} that are not there.`);
    if (!isSignedBy(end.publicKey, signedText(end.sha256), end.signature))
      throw this.#fault("signature_invalid", "The signature does not match the file.");
    this.#state = "ended";
    return { kind: "end", end, key: keyIdOf(end.publicKey) };
  }
}

/** Follows one log from its first event. */
class LogCheck {
  readonly line: LogLine;
  readonly #chain: ChainCheck;
  events = 0;
  #last = 0;
  #damaged = 0;

  constructor(line: LogLine) {
    this.line = line;
    this.#chain = new ChainCheck(line.session);
  }

  add(line: EventLine, fault: (message: string) => ExportFault): StoredEvent {
    const { seq, id, type, v, at, runId, quiet, data } = line;
    const name = `Event ${seq} of ${this.line.session}`;
    if (seq <= this.#last) throw fault(`${name} is out of order or there twice.`);
    if (this.events + this.#damaged === 0 && type !== "session.created")
      throw fault(`The log of ${this.line.session} begins with ${type}.`);
    if (this.events > 0 && type === "session.created") throw fault(`${name} begins it again.`);
    this.#last = seq;
    this.events += 1;
    const event: StoredEvent = {
      seq,
      id,
      type,
      v,
      at,
      ...(runId !== null && { runId }),
      data,
      ...(quiet && { quiet }),
    };
    if (roleOf(event) === "delta") return event;
    const link = line.link === null ? null : decodeLink(line.link);
    if (line.link !== null && link === null) throw fault(`${name} has no valid link.`);
    const commitment = link === null ? "" : commitmentOf(rowOfEvent(event), link);
    const state = this.#chain.check(type, link, commitment);
    if (state === "broken" || state === "unlinked")
      throw fault(`${name} was changed, or something before it was changed, removed or inserted.`);
    return event;
  }

  /** A row that could not be read when the file was written: the next event follows its hash. */
  skip(link: string | null): void {
    this.#damaged += 1;
    this.#chain.check("", link === null ? null : decodeLink(link), "");
  }
}
