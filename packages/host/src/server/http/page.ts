import { readdirSync, readFileSync } from "node:fs";
import { extname, join, sep } from "node:path";
import { gunzipSync } from "node:zlib";
import { accepts } from "hono/accepts";
import { done, failed, type Outcome } from "../../util/outcome.ts";
import { sendBody, frameHeaders } from "./responses.ts";
import { sendProblem } from "./problem.ts";
import type { Route } from "./routing.ts";

/** `undefined`: the file is gone. */
type ReadBody = () => Uint8Array<ArrayBuffer> | undefined;

interface PageFile {
  /** Relative to the page's folder, with `/` as separator. */
  readonly name: string;
  readonly type: string;
  readonly body: ReadBody;
  /** The same file as the build compressed it. */
  readonly compressed?: readonly { readonly encoding: string; readonly body: ReadBody }[];
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

/** The smallest first. */
const encodings = [
  { encoding: "br", suffix: ".br" },
  { encoding: "gzip", suffix: ".gz" },
];

/**
 * Lists the built page: no other file can ever be requested. What every visitor needs is read now and kept, so that a
 * new build does not change the page of a running host: compressed where the build did that, because nearly nobody asks
 * for it uncompressed. The rest, mostly code for diagrams, takes ten times as much memory and is read when somebody asks
 * for it.
 */
export function loadPage(folder: string): Outcome<Page> {
  try {
    const names = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
      .map((name) => name.replaceAll(sep, "/"));
    const index = names.includes("index.html") ? readFileSync(join(folder, "index.html")) : "";
    const read = (name: string, isNeeded: boolean): ReadBody =>
      isNeeded ? keep(readFileSync(join(folder, name))) : readOnRequest(join(folder, name));
    const page = names
      .filter((name) => !encodings.some(({ suffix }) => name.endsWith(suffix)))
      .map((name) => {
        const isNeeded = !isAsset({ name }) || index.includes(name);
        const compressed = encodings
          .map(({ encoding, suffix }) => ({ encoding, file: `${name}${suffix}` }))
          .filter(({ file }) => names.includes(file))
          .map(({ encoding, file }) => ({ encoding, body: read(file, isNeeded) }));
        const gzipped = compressed.find(({ encoding }) => encoding === "gzip")?.body;
        return {
          name,
          type: contentTypes[extname(name)] ?? "application/octet-stream",
          body: isNeeded && gzipped ? gunzip(gzipped) : read(name, isNeeded),
          compressed,
        };
      });
    if (page.some(({ name }) => name === "index.html")) return done(page);
  } catch {
    // An unreadable folder counts as a missing page.
  }
  return failed("page.missing", `The page is not built: run "npm start", which builds it first.`);
}

function keep(bytes: Uint8Array<ArrayBuffer>): ReadBody {
  return () => bytes;
}

function gunzip(gzipped: ReadBody): ReadBody {
  let bytes: Uint8Array<ArrayBuffer> | undefined;
  return () => (bytes ??= new Uint8Array(gunzipSync(gzipped() ?? new Uint8Array())));
}

/** Its name contains a hash of its content, so it is the right file or none. */
function readOnRequest(path: string): ReadBody {
  let bytes: Uint8Array<ArrayBuffer> | undefined;
  return () => {
    try {
      return (bytes ??= readFileSync(path));
    } catch {
      return undefined;
    }
  };
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
  return page.map(({ name, type, body, compressed = [] }) => ({
    method: "GET",
    path: name === "index.html" ? "/" : `/${name}`,
    policy: "open",
    handle(c) {
      const encoding = accepts(c, {
        header: "Accept-Encoding",
        supports: compressed.map((each) => each.encoding),
        default: "identity",
        match: smallestAccepted,
      });
      const bytes = compressed.find((each) => each.encoding === encoding)?.body();
      const sent = bytes ?? body();
      if (sent === undefined) return sendProblem(c, "not_found");
      return sendBody(c, sent, 200, {
        "content-type": type,
        ...(bytes && { "content-encoding": encoding }),
        ...(compressed.length > 0 && { vary: "accept-encoding" }),
        ...(isAsset({ name }) ? assetHeaders : { "cache-control": "no-cache" }),
        ...(name === "frame.html" && frameHeaders),
      });
    },
  }));
}

type MatchOffers = NonNullable<Parameters<typeof accepts>[1]["match"]>;

/** Browsers do not rank the encodings that they accept. */
const smallestAccepted: MatchOffers = (offers, { supports, default: none }) =>
  supports.find((encoding) => offers.some(({ type, q }) => type === encoding && q > 0)) ?? none;
