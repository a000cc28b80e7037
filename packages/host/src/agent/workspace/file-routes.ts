import { extname, posix } from "node:path";

import type { Context } from "hono";
import type { ApiDeps } from "../../server/api/deps.ts";
import {
  answer,
  type Call,
  mountCall,
  mountStream,
  problem,
  type ProblemReply,
} from "../../server/api/endpoint.ts";
import { hasPdfStart, pdfPolicy, viewPolicy } from "../../server/api/media-type.ts";
import type { HostEnv, Route } from "../../server/http/routing.ts";
import { Jail, type OpenFile } from "./jail.ts";
import type { PathRefusal } from "./resolve-path.ts";

const maxEntries = 1_000;
/** How much of a text is sent as a preview. */
const maxPreviewBytes = 512 * 1024;
const maxDownloadBytes = 64 * 1024 * 1024;

/** Lets people look into a session's workspace, in the same jail as the tools of its agent. */
export function workspaceFileRoutes(deps: ApiDeps): Route[] {
  const { workspaces } = deps.toolset;
  const { reads } = deps.log.store;

  async function openJail({
    owner,
    params: { id: session },
  }: Pick<Call<"listFiles">, "owner" | "params">): Promise<Jail | ProblemReply> {
    if ((await reads.session(owner, session)) === null) return problem("session_not_found");
    let folder: string;
    try {
      folder = await workspaces.folderFor({ owner, session });
    } catch (error) {
      // The folder was moved or is no longer allowed: the message says which.
      const detail = error instanceof Error ? error.message : String(error);
      return problem("file_refused", { detail });
    }
    const jail = await Jail.open(folder);
    return jail.ok ? jail.value : problemOf(jail.refusal);
  }

  async function list(call: Call<"listFiles">) {
    const jail = await openJail(call);
    if (!(jail instanceof Jail)) return jail;
    const found = await jail.browse(call.query.path ?? "", maxEntries);
    if (!found.ok) return problemOf(found.refusal);
    const { path, entries, more } = found.value;
    return answer({ root: jail.root, path, entries: entries.map((entry) => ({ ...entry })), more });
  }

  async function read(call: Call<"readFile">, c: Context<HostEnv>) {
    const jail = await openJail(call);
    if (!(jail instanceof Jail)) return jail;
    const { path, as = "download" } = call.query;
    const maxBytes = as === "text" ? maxPreviewBytes : maxDownloadBytes;
    const found = await jail.read(path, (file) => readBytes(file, as === "text", maxBytes));
    if (!found.ok) return problemOf(found.refusal);
    const { value } = found;
    if (value === "too_large")
      return problem("file_too_large", {
        detail: `Files of more than ${maxDownloadBytes / 1024 / 1024} MB are not sent.`,
      });
    return c.body(value, 200, headersFor(as, path, value));
  }

  async function write(call: Call<"writeFile">) {
    const jail = await openJail(call);
    if (!(jail instanceof Jail)) return jail;
    const { path, existing = "keep" } = call.query;
    const { bytes } = call.body;
    const written = await jail.write(path, bytes, existing);
    if (written.ok) return answer({ path: written.value, size: bytes.length });
    if (written.refusal.code !== "exists") return problemOf(written.refusal);
    // A repeated request finds its own file.
    const same = await jail.read(path, async ({ handle, size, path: below }) =>
      size === bytes.length && (await handle.readFile()).equals(bytes) ? below : null,
    );
    return same.ok && same.value !== null
      ? answer({ path: same.value, size: bytes.length })
      : problem("file_exists");
  }

  return [
    mountCall(deps, "listFiles", list),
    mountStream(deps, "readFile", read),
    mountCall(deps, "writeFile", write),
  ];
}

function problemOf({ code, message }: PathRefusal): ProblemReply {
  return problem(code === "not_found" ? "file_not_found" : "file_refused", { detail: message });
}

/** A file can grow while it is read, so the size is only a first check. */
async function readBytes(
  { handle, size }: OpenFile,
  isCut: boolean,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer> | "too_large"> {
  if (!isCut && size > maxBytes) return "too_large";
  const bytes = new Uint8Array(Math.min(size, maxBytes));
  let length = 0;
  while (length < bytes.length) {
    const { bytesRead } = await handle.read(bytes, length, bytes.length - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return bytes.subarray(0, length);
}

/** What a browser may show. None of it can run a script or load anything. */
const viewTypes: Readonly<Record<string, string>> = {
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
  ".webp": "image/webp",
  ".svg": "image/svg+xml",
  ".pdf": "application/pdf",
  ".html": "text/html; charset=utf-8",
  ".htm": "text/html; charset=utf-8",
};

function headersFor(
  as: "download" | "text" | "view",
  path: string,
  bytes: Uint8Array,
): Record<string, string> {
  const shared = { "cache-control": "no-store", "x-frame-options": "SAMEORIGIN" };
  if (as === "text")
    return {
      ...shared,
      "content-type": "text/plain; charset=utf-8",
      "content-security-policy": viewPolicy,
    };
  const type = as === "view" ? viewTypes[extname(path).toLowerCase()] : undefined;
  const isPdf = type === "application/pdf";
  // Only what is a PDF goes to the viewer for PDFs.
  if (type === undefined || (isPdf && !hasPdfStart(bytes)))
    return {
      ...shared,
      "content-type": "application/octet-stream",
      "content-disposition": `attachment; filename*=UTF-8''${encodeName(posix.basename(path))}`,
      "content-security-policy": viewPolicy,
    };
  return {
    ...shared,
    "content-type": type,
    "content-disposition": "inline",
    "content-security-policy": isPdf ? pdfPolicy : viewPolicy,
  };
}

/** By RFC 8187, which leaves fewer characters as they are than a URL does. */
function encodeName(name: string): string {
  return encodeURIComponent(name).replaceAll(
    /['()*!]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
