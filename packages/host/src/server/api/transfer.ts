import { basename } from "node:path";
import type { Context } from "hono";
import type { HostEnv, Route } from "../http/routing.ts";
import { answer, type Call, mountCall, mountStream, problem, problemFrom } from "./endpoint.ts";
import { hasPdfStart, mediaTypeEssence, pdfPolicy, readMediaType } from "./media-type.ts";
import type { ApiDeps } from "./deps.ts";
import type { SessionRow } from "@holdfast/engine";
import type { OwnerId } from "@holdfast/protocol";
import { exportAudit } from "../../ops/audit/audit-export.ts";
import { type ExportDeps, exportSession } from "../../ops/transfer/export.ts";
import { importDocument } from "../../ops/transfer/import.ts";
import {
  type BackupProgress,
  listBackups,
  type MadeBackup,
  makeBackup,
} from "../../ops/transfer/backup.ts";
import { version } from "../../util/version.ts";
import { deterministicIds } from "../../util/deterministic-ids.ts";

/** Images that cannot carry script. Everything else is downloaded, never opened under this host's origin. */
const inlineTypes: ReadonlySet<string> = new Set([
  "image/png",
  "image/jpeg",
  "image/gif",
  "image/webp",
]);

/** Blobs and exports contain untrusted content: browsers must not run it under this host's origin. */
const sandboxPolicy =
  "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox";

export function blobRoutes(deps: ApiDeps): Route[] {
  const { store } = deps.log;

  /** Nothing is stored before the whole body has arrived: an aborted upload leaves nothing behind. */
  async function putBlob({ owner, body }: Call<"putBlob">) {
    const put = await store.putBlob(owner, body.bytes, body.mediaType);
    if (put.status !== "stored") return problemFrom(put);
    // Bytes that were already stored keep their first media type.
    const stored =
      (await store.blobObjects?.read(owner, put.id)) ?? (await store.reads.blob(owner, put.id));
    const { mediaType } = stored ?? body;
    return answer({ blobId: put.id, size: put.size, mediaType });
  }

  async function getBlob({ owner, params, query }: Call<"getBlob">, c: Context<HostEnv>) {
    const blob = await store.reads.blob(owner, params.id);
    if (blob === null) return problem("blob_not_found");
    const tag = `"${blob.id}"`;
    const headers = {
      etag: tag,
      "cache-control": "private, max-age=31536000, immutable",
      "content-security-policy": sandboxPolicy,
    };
    if (query.as === undefined && matchesEtag(c.req.header("if-none-match"), tag))
      return c.body(null, 304, headers);
    // A media type from a chat or an imported document is untrusted.
    const declared = readMediaType(blob.mediaType);
    const mediaType = "mediaType" in declared ? declared.mediaType : "application/octet-stream";
    if (query.as === "view" && hasPdfStart(blob.bytes))
      return c.body(new Uint8Array(blob.bytes), 200, {
        ...headers,
        "content-security-policy": pdfPolicy,
        "x-frame-options": "SAMEORIGIN",
        "content-type": "application/pdf",
        "content-disposition": "inline",
      });
    return c.body(new Uint8Array(blob.bytes), 200, {
      ...headers,
      "content-type": mediaType,
      "content-disposition": inlineTypes.has(mediaTypeEssence(mediaType)) ? "inline" : "attachment",
    });
  }

  return [mountCall(deps, "putBlob", putBlob), mountStream(deps, "getBlob", getBlob)];
}

function matchesEtag(condition: string | undefined, tag: string): boolean {
  const tags = (condition ?? "").split(",").map((value) => value.trim().replace(/^W\//, ""));
  return tags.includes(tag) || tags.includes("*");
}

const exportTypes = {
  json: "application/json; charset=utf-8",
  md: "text/markdown; charset=utf-8",
  html: "text/html; charset=utf-8",
  audit: "application/jsonl; charset=utf-8",
} as const;

const exportExtensions = { json: "json", md: "md", html: "html", audit: "jsonl" } as const;

export function transferRoutes(deps: ApiDeps): Route[] {
  const { log, redact, home, auditKey } = deps;

  async function exportOne(
    { owner, params, query }: Call<"exportSession">,
    c: Context<HostEnv>,
  ): Promise<Response | ReturnType<typeof problem>> {
    const session = await log.store.reads.session(owner, params.id);
    if (session === null) return problem("session_not_found");
    const format = query.format ?? "json";
    const exportedAt = await log.store.now();
    const { versions = "all" } = query;
    const chunks = await exportAs(format, session, { exportedAt, versions });
    if (chunks === undefined) return problem("export_unsupported");
    return c.body(
      streamFrom(chunks, () => c.env.outgoing?.destroy()),
      200,
      {
        "content-type": exportTypes[format],
        "content-disposition": `attachment; filename="${params.id}.${exportExtensions[format]}"`,
        "content-security-policy": sandboxPolicy,
        "cache-control": "no-store",
      },
    );
  }

  async function exportAs(
    format: keyof typeof exportTypes,
    session: SessionRow,
    options: Pick<ExportDeps, "exportedAt" | "versions">,
  ): Promise<AsyncGenerator<string> | undefined> {
    const { store } = log;
    if (format !== "audit")
      return exportSession({ reads: store.reads, redact, ...options }, session, format);
    const key = await auditKey?.().catch(() => undefined);
    return key && exportAudit({ store, key, redact, exportedAt: options.exportedAt }, session);
  }

  async function importOne({ owner, body }: Call<"importSessions">) {
    if (body.format !== "json")
      return problem("import_refused", { detail: "Only documents of the format json are taken." });
    const result = await importDocument({ log, idsFrom: deterministicIds }, owner, body.document);
    switch (result.status) {
      case "imported": {
        const { session: id, entries, repeated } = result;
        return answer({ sessions: [{ id, entries, repeated }], skipped: [] });
      }
      case "in_trash":
        return answer({ sessions: [], skipped: [{ id: result.session, reason: "in_trash" }] });
      case "invalid":
        return problem("import_refused", { errors: [...result.errors] });
      default:
        return problemFrom(result);
    }
  }

  async function exportEverything({ owner, query }: Call<"exportAll">, c: Context<HostEnv>) {
    const { format = "jsonl" } = query;
    const { store } = log;
    const exportedAt = await store.now();
    const chunks = await everythingAs(format, owner, exportedAt);
    if (chunks === undefined) return problem("export_unsupported");
    const name = `holdfast-${new Date(exportedAt).toISOString().slice(0, 10)}`;
    return c.body(
      streamFrom(chunks, () => c.env.outgoing?.destroy()),
      200,
      {
        "content-type": format === "jsonl" ? "application/jsonl" : "application/zip",
        "content-disposition": `attachment; filename="${name}.${format === "jsonl" ? "jsonl" : `${format}.zip`}"`,
        "content-security-policy": sandboxPolicy,
        "cache-control": "no-store",
      },
    );
  }

  async function everythingAs(
    format: "jsonl" | "md" | "html",
    owner: OwnerId,
    exportedAt: number,
  ): Promise<AsyncGenerator<string | Uint8Array> | undefined> {
    const { store } = log;
    if (format !== "jsonl") {
      const { writePages } = await import("../../ops/full-export/write-pages.ts");
      return writePages({ store, owner, redact, exportedAt }, format);
    }
    const key = await auditKey?.().catch(() => undefined);
    if (key === undefined || home === undefined) return undefined;
    const { writeExport } = await import("../../ops/full-export/write-export.ts");
    return writeExport({ store, home, key, exportedAt, version });
  }

  return [
    mountStream(deps, "exportSession", exportOne),
    mountStream(deps, "exportAll", exportEverything),
    mountCall(deps, "importSessions", importOne),
  ];
}

const maxListed = 50;

/** One backup at a time: a second request waits for the first one and gets its answer. */
export function backupRoutes(deps: ApiDeps): Route[] {
  const { log, home } = deps;
  let progress: BackupProgress | null = null;
  let making: Promise<MadeBackup | undefined> | null = null;

  async function make(folder: string): Promise<MadeBackup | undefined> {
    try {
      const now = new Date(await log.store.now());
      return await makeBackup(folder, log.store, now, (at) => void (progress = at));
    } finally {
      progress = null;
      making = null;
    }
  }

  async function backup() {
    if (home === undefined) return problem("backup_unsupported");
    try {
      const made = await (making ??= make(home));
      if (made === undefined) return problem("backup_unsupported");
      if (made.status === "unverified")
        return problem("backup_failed", {
          detail: `The copy ${basename(made.folder)} is not verified: ${made.reason}`,
        });
      const { name, bytes, verifiedAt, sessions, events } = made.backup;
      return answer({ name, bytes, verifiedAt, sessions, events });
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      return problem("backup_failed", { detail: `${error.message}. No partial copy was kept.` });
    }
  }

  async function list() {
    const backups = home === undefined ? [] : await listBackups(home);
    return answer({
      supported: home !== undefined && log.store.backup !== undefined,
      backups: backups
        .slice(0, maxListed)
        .map(({ name, createdAt, bytes, verifiedAt, sessions, events }) => ({
          name,
          createdAt,
          bytes,
          verifiedAt,
          sessions,
          events,
        })),
      running: progress === null ? null : { ...progress },
    });
  }

  return [mountCall(deps, "backup", backup), mountCall(deps, "listBackups", list)];
}

/** A document that cannot be finished is cut off, so that nobody takes half of it for the whole. */
export function streamFrom(
  chunks: AsyncGenerator<string | Uint8Array>,
  abort: () => void,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const next = await chunks.next();
        if (next.done === true) controller.close();
        else if (typeof next.value === "string") controller.enqueue(encoder.encode(next.value));
        else controller.enqueue(next.value);
      } catch (error) {
        abort();
        controller.error(error);
      }
    },
    async cancel() {
      await chunks.return(undefined);
    },
  });
}
