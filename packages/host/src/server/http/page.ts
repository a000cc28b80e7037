import { readdirSync, readFileSync } from "node:fs";
import { extname, join, sep } from "node:path";
import { done, failed, type Outcome } from "../../util/outcome.ts";
import { sendBody, frameHeaders } from "./responses.ts";
import type { Route } from "./routing.ts";

interface PageFile {
  /** Relative to the page's folder, with `/` between its parts. */
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

/** Reads the built page whole: what was not in the folder then can never be asked for. */
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
    // A folder that cannot be read has no page in it either.
  }
  return failed("page.missing", `The page is not built: run "npm start", which builds it first.`);
}

/** The build puts a hash of the content into the name of everything in this folder. */
export function isAsset({ name }: Pick<PageFile, "name">): boolean {
  return name.startsWith("assets/");
}

const assetHeaders = {
  "cache-control": "public, max-age=31536000, immutable",
  // The frame that draws has no origin, so that all it loads comes from elsewhere. Nothing here is anybody's secret.
  "access-control-allow-origin": "null",
};

/** One route for each file, so that a path is either one of them or unknown. */
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
