import type { Fetch } from "@holdfast/client";
import { pageKeyHeader } from "@holdfast/protocol";
import { z } from "zod";
import { readStored, writeStored } from "../ui/local-storage.ts";

/**
 * Cookies ignore ports, so another server on this host name receives the sign-in's cookie. This key is in storage that
 * belongs to the page's own origin and goes with each of its requests; the cookie is worth nothing without it.
 */
export interface PageKey {
  /** Made when it is first needed. */
  readonly value: () => string;
  /** The next sign-in gets another one. */
  readonly forget: () => void;
}

const storedKey = z.object({ key: z.string().regex(/^[\w-]{32,100}$/) });

/** Two hosts at one origin have different paths. */
const storageName = (): string => `page-key:${new URL(document.baseURI).pathname}`;

/** Where nothing can be stored, a sign-in lasts until the page is closed. */
let inMemory: string | null = null;

export const pageKey: PageKey = {
  value() {
    const known = readStored(storageName(), storedKey)?.key ?? inMemory;
    if (known !== null) return known;
    inMemory = randomKey();
    writeStored(storageName(), { key: inMemory });
    return inMemory;
  },
  forget() {
    inMemory = null;
    writeStored(storageName(), null);
  },
};

/** `crypto.randomUUID` and `crypto.subtle` are missing over plain HTTP from another machine. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function withPageKey(send: Fetch): Fetch {
  return (url, init) => {
    const headers = new Headers(init.headers);
    headers.set(pageKeyHeader, pageKey.value());
    return send(url, { ...init, headers });
  };
}

let linkKey = "";

export function setLinkKey(key: string | undefined): void {
  linkKey = key ?? "";
}

/** Relative, so that it works under any base path. An image or a download sends no headers, so its key is in the link. */
export function blobHref(blobId: string, as?: "view"): string {
  const query = new URLSearchParams({
    ...(as !== undefined && { as }),
    ...(linkKey !== "" && { key: linkKey }),
  }).toString();
  return `api/blobs/${blobId}${query === "" ? "" : `?${query}`}`;
}

/** A file of a session's workspace: to look at, or to download. */
export function fileHref(sessionId: string, path: string, as: "download" | "view"): string {
  const query = new URLSearchParams({ path, as, ...(linkKey !== "" && { key: linkKey }) });
  return `api/sessions/${sessionId}/file?${query.toString()}`;
}

/** Everything that the host keeps. */
export function exportHref(format: "jsonl" | "html" | "md"): string {
  const query = new URLSearchParams({ format, ...(linkKey !== "" && { key: linkKey }) });
  return `api/export?${query.toString()}`;
}
