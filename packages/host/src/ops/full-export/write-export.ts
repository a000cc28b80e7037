import { createHash } from "node:crypto";
import { blobsIn, keptBlobPrefix, keptByNobody, readableBlob, type Store } from "@holdfast/engine";
import {
  type BlobId,
  blobId,
  decodeEvent,
  type OwnerId,
  type StoredEvent,
} from "@holdfast/protocol";

import type { AuditKey } from "../audit/audit-key.ts";
import {
  bytesPerLine,
  type EndLine,
  type ExportLine,
  fullExportFormat,
  fullExportVersion,
  type HeaderLine,
  isLeftOut,
  signedText,
} from "./format.ts";
import { listLogs, type ListedLog } from "./list-logs.ts";
import { readHomeFiles } from "./home-files.ts";

export interface ExportDeps {
  readonly store: Pick<Store, "audit" | "reads" | "kind">;
  readonly home?: string;
  readonly key: AuditKey;
  readonly exportedAt: number;
  readonly version: string;
}

/** Lines are sent on in pieces of about this many characters. */
const pieceCharacters = 64 * 1024;

/**
 * Everything as JSON lines. It holds one page of events and one blob at a time; sessions may be written to meanwhile,
 * and each is exported as it was when it was read.
 */
export async function* writeExport(deps: ExportDeps): AsyncGenerator<string> {
  const hash = createHash("sha256");
  let piece = "";
  const counts = { logs: 0, events: 0, blobs: 0, register: 0, files: 0 };
  for await (const line of linesOf(deps)) {
    if ("kind" in line) {
      if (line.kind === "log") counts.logs += 1;
      if (line.kind === "event") counts.events += 1;
      if (line.kind === "blob") counts.blobs += 1;
      if (line.kind === "register") counts.register += 1;
      if (line.kind === "file") counts.files += 1;
    }
    piece += `${JSON.stringify(line)}\n`;
    if (piece.length < pieceCharacters) continue;
    hash.update(piece);
    yield piece;
    piece = "";
  }
  hash.update(piece);
  const sha256 = hash.digest("hex");
  const { publicKey, sign } = deps.key;
  const signature = sign(signedText(sha256));
  const end: EndLine = { kind: "end", ...counts, sha256, publicKey, signature };
  yield `${piece}${JSON.stringify(end)}\n`;
}

async function* linesOf(deps: ExportDeps): AsyncGenerator<HeaderLine | ExportLine> {
  const { store, home, exportedAt, version } = deps;
  const about = { exportedAt, holdfast: version, store: store.kind };
  yield { format: fullExportFormat, version: fullExportVersion, ...about };
  const blobs = new BlobLines(store);
  for (const log of await listLogs(store.audit)) yield* linesOfLog(store, log, blobs);
  for await (const { owner, key, value } of store.audit.register()) {
    if (isLeftOut({ owner, key })) continue;
    const kept = key.startsWith(keptBlobPrefix) && value !== keptByNobody;
    const id = kept ? blobId.safeParse(key.slice(keptBlobPrefix.length)).data : undefined;
    if (id !== undefined) yield* blobs.lines(owner, id);
    yield { kind: "register", owner, key, value };
  }
  if (home === undefined) return;
  for await (const { path, bytes } of readHomeFiles(home)) {
    yield { kind: "file", path, size: bytes.byteLength };
    yield* byteLines(bytes);
  }
}

/** Each log is read to its end, where every number that is missing has been explained by what settled it. */
async function* linesOfLog(
  { audit }: Pick<Store, "audit">,
  { session, owner, purged }: ListedLog,
  blobs: BlobLines,
): AsyncGenerator<ExportLine> {
  yield { kind: "log", session, owner, purged };
  let events = 0;
  let last = 0;
  for await (const { seq, event, place, link, problem = "it cannot be read" } of audit.events(
    session,
  )) {
    if (place === "pruned") continue;
    const text = link?.text ?? null;
    last = seq;
    if (event === null) {
      yield { kind: "damaged", seq: seq as StoredEvent["seq"], problem, link: text };
      continue;
    }
    for (const blob of blobsNamedBy(event)) yield* blobs.lines(owner, blob);
    const { id, type, v, at, runId = null, quiet = false, data } = event;
    yield { kind: "event", seq: event.seq, id, type, v, at, runId, quiet, data, link: text };
    events += 1;
  }
  if (purged !== null)
    for (const { session: _, owner: __, ...used } of await audit.usage(session))
      if (used.seq > last) yield { kind: "usage", ...used };
  yield { kind: "logEnd", session, events };
}

function blobsNamedBy(event: StoredEvent): readonly BlobId[] {
  const decoded = decodeEvent(event);
  return decoded.kind === "known" ? blobsIn(decoded.event) : [];
}

/** Each blob once, before the first line that names it. */
class BlobLines {
  readonly #reads: Store["reads"];
  readonly #written = new Set<string>();

  constructor({ reads }: Pick<Store, "reads">) {
    this.#reads = reads;
  }

  async *lines(owner: OwnerId, id: BlobId): AsyncGenerator<ExportLine> {
    const key = `${owner} ${id}`;
    if (this.#written.has(key)) return;
    this.#written.add(key);
    const blob = await readableBlob(this.#reads, owner, id);
    if (blob === null) return;
    const { mediaType, bytes } = blob;
    yield { kind: "blob", owner, id, mediaType, size: bytes.byteLength };
    yield* byteLines(bytes);
  }
}

function* byteLines(bytes: Uint8Array): Generator<ExportLine> {
  for (let from = 0; from < bytes.byteLength; from += bytesPerLine) {
    const part = bytes.subarray(from, from + bytesPerLine);
    yield { kind: "bytes", base64: Buffer.from(part).toString("base64") };
  }
}
