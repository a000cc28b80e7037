import { readdirSync, readFileSync } from "node:fs";
import { extname, join, sep } from "node:path";
import { done, failed, type Outcome } from "../../util/outcome.ts";
import { sendBody, frameHeaders } from "./responses.ts";
import type { Route } from "./routing.ts";

interface PageFile {
  /** Relative to the page's folder, with `/` as separator. */
  readonly name: string;
  readonly type: string;
  readonly body: Uint8Array<ArrayBuffer>;
}

export type Page = readonly PageFile[];

const contentTypes: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".woff2": "font/woff2",
  ".json": "application/json",
  ".webmanifest": "application/manifest+json",
};

/** Reads the whole built page into memory: no other file can ever be requested. */
export function loadPage(folder: string): Outcome<Page> {
  try {
    const page = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => ({
        name: path.slice(folder.length + 1).replaceAll(sep, "/"),
        type: contentTypes[extname(path)] ?? "application/octet-stream",
        body: readFileSync(path),
      }));
    if (page.some(({ name }) => name === "index.html")) return done(page);
  } catch {
    // An unreadable folder counts as a missing page.
  }
  return failed("page.missing", `The page is not built: run "npm start", which builds it first.`);
}

/** The build puts a content hash into the name of every file in this folder. */
export function isAsset({ name }: Pick<PageFile, "name">): boolean {
  return name.startsWith("assets/");
}

const assetHeaders = {
  "cache-control": "public, max-age=31536000, immutable",
  // The drawing frame has no origin, so its own files are cross-origin to it. None of them is secret.
  "access-control-allow-origin": "null",
};

/** One route per file, so that any other path is unknown. */
export function pageRoutes(page: Page): Route[] {
  return page.map(({ name, type, body }) => ({
    method: "GET",
    path: name === "index.html" ? "/" : `/${name}`,
    policy: "open",
    handle: (c) =>
      sendBody(c, body, 200, {
        "content-type": type,
        ...(isAsset({ name }) ? assetHeaders : { "cache-control": "no-cache" }),
        ...(name === "frame.html" && frameHeaders),
      }),
  }));
}
