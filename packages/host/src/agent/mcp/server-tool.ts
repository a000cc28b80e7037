import type { Store, ToolResult } from "@holdfast/engine";
import type { OwnerId, ToolFile } from "@holdfast/protocol";
import type { CallToolResult } from "@modelcontextprotocol/client";

import { createExcerpt, type Excerpt } from "../../util/excerpt.ts";

const longestOutput = 1024 * 1024;
const maxBlocks = 1_000;
const maxFiles = 16;
const largestFile = 10 * 1024 * 1024;

type Block = CallToolResult["content"][number];

export interface ResultDeps {
  readonly store: Pick<Store, "putBlob">;
  readonly owner: OwnerId;
}

/**
 * What a server has answered, as the engine keeps it: texts in their order, everything else by its content and named where
 * it stood. What is too much is left out, and it is said that it was.
 */
export async function readResult(
  place: ResultDeps,
  { content, structuredContent, isError }: CallToolResult,
): Promise<ToolResult> {
  const output = createExcerpt(longestOutput);
  const files: ToolFile[] = [];
  const blocks = content.slice(0, maxBlocks);
  for (const block of blocks) await addBlock(place, block, output, files);
  if (content.length > maxBlocks)
    output.add(`[${content.length - maxBlocks} more parts were left out]\n`);
  // A server that answers in both forms says the same twice.
  if (structuredContent !== undefined && !blocks.some(({ type }) => type === "text"))
    output.add(JSON.stringify(structuredContent));
  return {
    outcome: isError === true ? "failed" : "ok",
    output: output.text().trimEnd(),
    ...(files.length > 0 && { details: { files } }),
  };
}

async function addBlock(
  place: ResultDeps,
  block: Block,
  output: Excerpt,
  files: ToolFile[],
): Promise<void> {
  const keep = async (what: string, data: string, mediaType: string | undefined) =>
    output.add(`${await storeFile(place, what, { data, mediaType }, files)}\n`);
  switch (block.type) {
    case "text":
      return output.add(`${block.text}\n`);
    case "image":
    case "audio":
      return keep(block.type, block.data, block.mimeType);
    case "resource_link":
      return output.add(`[resource: ${block.name}, ${block.uri}]\n`);
    case "resource": {
      const { resource } = block;
      if ("text" in resource) return output.add(`[resource: ${resource.uri}]\n${resource.text}\n`);
      return keep(`resource: ${resource.uri}`, resource.blob, resource.mimeType);
    }
    default:
      return output.add("[a part of a kind that is not known here]\n");
  }
}

/** Answers what stands in its place. */
async function storeFile(
  { store, owner }: ResultDeps,
  what: string,
  { data, mediaType = "" }: { readonly data: string; readonly mediaType: string | undefined },
  files: ToolFile[],
): Promise<string> {
  const type = /^[a-z]+\/[a-z0-9.+-]{1,100}$/i.test(mediaType)
    ? mediaType.toLowerCase()
    : "application/octet-stream";
  if (files.length === maxFiles || data.length > (largestFile / 3) * 4)
    return `[${what}, ${type}: too much, left out]`;
  const bytes = Buffer.from(data, "base64");
  const put = await store.putBlob(owner, bytes, type);
  if (put.status !== "stored") return `[${what}, ${type}: it could not be kept]`;
  files.push({ blobId: put.id, mediaType: type, size: bytes.byteLength });
  return `[${what}, ${type}, ${bytes.byteLength} bytes, ${put.id}]`;
}
