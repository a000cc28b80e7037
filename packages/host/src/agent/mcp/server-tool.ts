import { createHash } from "node:crypto";
import type { CallToolResult } from "@modelcontextprotocol/client";
import type { Store, ToolResult, Tool } from "@holdfast/engine";
import { type OwnerId, type ToolFile, jsonObject } from "@holdfast/protocol";
import { createExcerpt, type Excerpt } from "../../util/excerpt.ts";
import type { McpServer } from "../../ops/config/mcp-servers.ts";
import { createServerQuestions, type ServerQuestions } from "./elicitation/server-questions.ts";
import { elicitationStrings } from "./elicitation/strings.ts";
import type { OfferedTool } from "./tool-list.ts";
import type { ManagedServer } from "./managed-server.ts";

const maxOutputLength = 1024 * 1024;
const maxBlocks = 1_000;
const maxFiles = 16;
const maxFileBytes = 10 * 1024 * 1024;

type Block = CallToolResult["content"][number];

export interface ResultDeps {
  readonly store: Pick<Store, "putBlob">;
  readonly owner: OwnerId;
}

/**
 * Converts a server's result: texts in order, everything else stored by content and named in place. What exceeds the
 * limits is left out, with a remark.
 */
async function readResult(
  deps: ResultDeps,
  { content, structuredContent, isError }: CallToolResult,
): Promise<ToolResult> {
  const output = createExcerpt(maxOutputLength);
  const files: ToolFile[] = [];
  const blocks = content.slice(0, maxBlocks);
  for (const block of blocks) await addBlock(deps, block, output, files);
  if (content.length > maxBlocks)
    output.add(`[${content.length - maxBlocks} more parts were left out]\n`);
  // A server that answers in both forms says the same thing twice.
  if (structuredContent !== undefined && !blocks.some(({ type }) => type === "text"))
    output.add(JSON.stringify(structuredContent));
  return {
    outcome: isError === true ? "failed" : "ok",
    output: output.text().trimEnd(),
    ...(files.length > 0 && { details: { files } }),
    ...picturesIn(files),
  };
}

const imageTypes: ReadonlySet<string> = new Set([
  "image/png",
  "image/jpeg",
  "image/gif",
  "image/webp",
]);
/** Each is sent again with every step that follows. */
const maxShown = 2;

/** What the model is shown of them. */
function picturesIn(files: readonly ToolFile[]): Pick<ToolResult, "images"> {
  const images = files.filter(({ mediaType }) => imageTypes.has(mediaType)).slice(0, maxShown);
  return images.length === 0
    ? {}
    : { images: images.map(({ blobId, mediaType }) => ({ blobId, mediaType })) };
}

async function addBlock(
  deps: ResultDeps,
  block: Block,
  output: Excerpt,
  files: ToolFile[],
): Promise<void> {
  const addFile = async (label: string, data: string, mediaType: string | undefined) =>
    output.add(`${await storeFile(deps, label, { data, mediaType }, files)}\n`);
  switch (block.type) {
    case "text":
      return output.add(`${block.text}\n`);
    case "image":
    case "audio":
      return addFile(block.type, block.data, block.mimeType);
    case "resource_link":
      return output.add(`[resource: ${block.name}, ${block.uri}]\n`);
    case "resource": {
      const { resource } = block;
      if ("text" in resource) return output.add(`[resource: ${resource.uri}]\n${resource.text}\n`);
      return addFile(`resource: ${resource.uri}`, resource.blob, resource.mimeType);
    }
    default:
      return output.add("[a part of a kind that is not known here]\n");
  }
}

/** Returns the text that takes the file's place. */
async function storeFile(
  { store, owner }: ResultDeps,
  label: string,
  { data, mediaType = "" }: { readonly data: string; readonly mediaType: string | undefined },
  files: ToolFile[],
): Promise<string> {
  const type = /^[a-z]+\/[a-z0-9.+-]{1,100}$/i.test(mediaType)
    ? mediaType.toLowerCase()
    : "application/octet-stream";
  if (files.length === maxFiles || data.length > (maxFileBytes / 3) * 4)
    return `[${label}, ${type}: too much, left out]`;
  const bytes = Buffer.from(data, "base64");
  const put = await store.putBlob(owner, bytes, type);
  if (put.status !== "stored") return `[${label}, ${type}: it could not be kept]`;
  files.push({ blobId: put.id, mediaType: type, size: bytes.byteLength });
  return `[${label}, ${type}, ${bytes.byteLength} bytes, ${put.id}]`;
}

export interface ServerToolDeps {
  readonly name: string;
  readonly server: McpServer;
  readonly managed: ManagedServer;
  readonly store: Pick<Store, "putBlob">;
}

const defaultTimeLimitMs = 120_000;
/** How long a call waits for a connecting server; nothing has been sent yet. */
const connectionMs = 5_000;
/** The engine's own timeout fires first and reports itself. */
const timeoutMarginMs = 10_000;

/** A server's tool as the engine sees it. */
export function createServerTool(toolDeps: ServerToolDeps, offered: OfferedTool): Tool {
  const { name: server, managed, store } = toolDeps;
  const { timeLimitMs = defaultTimeLimitMs, readOnlyHints = "ignored" } = toolDeps.server;
  // A server's hints about its own tools count only if the operator trusts them.
  const isHarmless = offered.readsOnly && readOnlyHints === "believed";
  return {
    name: offered.name,
    description: offered.description,
    input: offered.input,
    replay: isHarmless ? "safe" : "never",
    timeLimitMs,
    identity: identityOf(toolDeps, offered),
    taint: () => [{ kind: "mcp", name: server }],
    approval: () => (isHarmless ? "none" : "ask"),
    onlyReads: () => isHarmless,
    async run(call, context) {
      const { owner, input, session } = call;
      const decoded = jsonObject.safeParse(input);
      if (!decoded.success) return failed("The arguments are not an object. Nothing was sent.");
      const connection = await managed.connection(connectionMs, context.signal);
      if (connection === null)
        return failed(
          `The MCP server ${server} is not connected, so nothing was sent to it. ${managed.lastError() ?? ""}`,
        );
      if (context.signal.aborted) return { outcome: "cancelled", output: "Nothing was sent." };
      const { signal, write, ask } = context;
      const questions = createServerQuestions({ server, tool: offered.remote, call, ask });
      const limited = { signal, write, session, timeLimitMs: timeLimitMs + timeoutMarginMs };
      const noted = (result: ToolResult): ToolResult => withNotes(server, result, questions.notes);
      try {
        const answered = await connection.call(offered, decoded.data, { ...limited, questions });
        return noted(await readResult({ store, owner }, answered));
      } catch (error) {
        if (signal.aborted) return stopped(isHarmless ? "cancelled" : "unknown");
        const { outcome, message, pages = [] } = await managed.classifyFailure(connection, error);
        if (pages.length > 0) return noted(await openPages(server, pages, questions));
        if (outcome === "failed") return noted(failed(message));
        return noted({ outcome, output: `${message} Whether ${server} has done it is not known.` });
      }
    },
  };
}

const maxPages = 3;

/** P7: the server refused before it did anything. The call is not made again by itself. */
async function openPages(
  server: string,
  pages: readonly { readonly url: string; readonly message: string }[],
  questions: ServerQuestions,
): Promise<ToolResult> {
  const shown = pages.slice(0, maxPages);
  const hosts = shown.map(({ url }) => URL.parse(url)?.host ?? "?");
  const results: string[] = [];
  for (const { url, message } of shown) results.push(await questions.askToOpen(url, message));
  const isOpened = results.every((result) => result === "opened");
  return failed(
    `${elicitationStrings.openFirst(server, hosts)} ${isOpened ? elicitationStrings.openedNow : elicitationStrings.notOpened}`,
  );
}

/** The model learns why a server may not have got what it asked for. */
function withNotes(server: string, result: ToolResult, notes: readonly string[]): ToolResult {
  if (notes.length === 0) return result;
  return {
    ...result,
    output: `${result.output}\n${elicitationStrings.note(server, notes)}`.trim(),
  };
}

const identityLength = 32;

/** A digest of what a person approves: the server, and the tool's name, description and input schema. */
function identityOf({ name, server }: ServerToolDeps, offered: OfferedTool): string {
  const target = "url" in server ? [server.url] : [server.command, ...(server.args ?? [])];
  const { remote, description, input } = offered;
  return createHash("sha256")
    .update(JSON.stringify([name, target, remote, description, input]))
    .digest("hex")
    .slice(0, identityLength);
}

function failed(output: string): ToolResult {
  return { outcome: "failed", output: output.trim() };
}

function stopped(outcome: "cancelled" | "unknown"): ToolResult {
  return {
    outcome,
    output: "The server was told to stop. Whether it had done it by then is not known.",
  };
}
