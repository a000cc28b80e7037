import type { Context } from "hono";

import type { HostEnv, Route } from "../http/route.ts";
import { type Call, mountCall, mountStream } from "./contract.ts";
import { mediaTypeEssence, readMediaType } from "./endpoint.ts";
import type { ApiDeps } from "./deps.ts";
import { answer, problem, problemFrom } from "./reply.ts";

/** Pictures that cannot carry script. All else is saved, and never opened in the name of this host. */
const inlineTypes: ReadonlySet<string> = new Set([
  "image/png",
  "image/jpeg",
  "image/gif",
  "image/webp",
]);

const sandboxedBlob =
  "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox";

export function blobRoutes(parts: ApiDeps): Route[] {
  const { store } = parts.log;

  /** The whole has arrived before anything is kept: an upload that is broken off leaves nothing behind. */
  async function putBlob({ owner, body }: Call<"putBlob">) {
    const put = await store.putBlob(owner, body.bytes, body.mediaType);
    if (put.status !== "stored") return problemFrom(put);
    // Bytes that were there before keep the media type that they came with.
    const kept = await store.reads.blob(owner, put.id);
    const { mediaType } = kept ?? body;
    return answer({ blobId: put.id, size: put.size, mediaType });
  }

  async function getBlob({ owner, params }: Call<"getBlob">, c: Context<HostEnv>) {
    const blob = await store.reads.blob(owner, params.id);
    if (blob === null) return problem("blob_not_found");
    const tag = `"${blob.id}"`;
    const headers = {
      etag: tag,
      "cache-control": "private, max-age=31536000, immutable",
      "content-security-policy": sandboxedBlob,
    };
    if (matchesEtag(c.req.header("if-none-match"), tag)) return c.body(null, 304, headers);
    // What a chat or an imported document has called it is anybody's word.
    const named = readMediaType(blob.mediaType);
    const mediaType = named.kind === "answer" ? named.value : "application/octet-stream";
    return c.body(new Uint8Array(blob.bytes), 200, {
      ...headers,
      "content-type": mediaType,
      "content-disposition": inlineTypes.has(mediaTypeEssence(mediaType)) ? "inline" : "attachment",
    });
  }

  return [mountCall(parts, "putBlob", putBlob), mountStream(parts, "getBlob", getBlob)];
}

function matchesEtag(condition: string | undefined, tag: string): boolean {
  const tags = (condition ?? "").split(",").map((each) => each.trim().replace(/^W\//, ""));
  return tags.includes(tag) || tags.includes("*");
}
