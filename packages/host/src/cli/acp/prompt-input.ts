import { isAbsolute, relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { ContentBlock } from "@agentclientprotocol/sdk";
import type { Client, Result } from "@holdfast/client";
import type { Attachment, QuotedRanges } from "@holdfast/protocol";
import { acpStrings } from "../strings/acp.ts";
import { invalidRequest, requestErrorFrom } from "./errors.ts";

/** A prompt as the host takes it. */
export interface PromptInput {
  readonly text: string;
  readonly attachments: readonly Attachment[];
  /** What the person did not write: the files that the editor put in. */
  readonly quoted: QuotedRanges;
}

const maxTextLength = 1_000_000;
const maxAttachments = 50;
const maxQuotedRanges = 100;

/** Turns the blocks of a prompt into a message. Nothing is sent if one of them cannot be taken. */
export async function readPrompt(
  blocks: readonly ContentBlock[],
  folder: string,
  putBlob: Client["putBlob"],
): Promise<PromptInput> {
  let text = "";
  const quoted: [number, number][] = [];
  const files: FileBlock[] = [];
  for (const block of blocks) {
    switch (block.type) {
      case "text":
        text += block.text;
        break;
      case "resource_link":
        text += ` ${nameOf(block.uri, folder)} `;
        break;
      case "resource": {
        if ("blob" in block.resource) {
          const { blob, uri, mimeType } = block.resource;
          files.push(decodeFile(blob, mimeType ?? "application/octet-stream", nameOf(uri, folder)));
          break;
        }
        text += `\n\n${nameOf(block.resource.uri, folder)}:\n`;
        const from = text.length;
        text += block.resource.text;
        quoted.push([from, text.length]);
        text += "\n";
        break;
      }
      case "image":
        files.push(decodeFile(block.data, block.mimeType, nameOf(block.uri ?? "image", folder)));
        break;
      case "audio":
        throw invalidRequest(acpStrings.prompt.noAudio);
    }
  }
  if (text.trim() === "" && files.length === 0) throw invalidRequest(acpStrings.prompt.empty);
  if (text.length > maxTextLength)
    throw invalidRequest(acpStrings.prompt.tooLong(text.length, maxTextLength));
  if (files.length > maxAttachments)
    throw invalidRequest(acpStrings.prompt.tooManyFiles(maxAttachments));
  const attachments: Attachment[] = [];
  for (const file of files) attachments.push(await upload(file, putBlob));
  return { text, attachments, quoted: quoted.slice(0, maxQuotedRanges) };
}

interface FileBlock {
  readonly bytes: Buffer<ArrayBuffer>;
  readonly mediaType: string;
  readonly name: string;
}

function decodeFile(data: string, mediaType: string, name: string): FileBlock {
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(data))
    throw invalidRequest(acpStrings.prompt.notBase64(name));
  return { bytes: Buffer.from(data, "base64"), mediaType, name: name.split("/").at(-1) || "file" };
}

async function upload(
  { bytes, mediaType, name }: FileBlock,
  putBlob: Client["putBlob"],
): Promise<Attachment> {
  const stored: Result<{ blobId: Attachment["blobId"]; size: number; mediaType: string }> =
    await putBlob({ body: bytes, mediaType });
  if (!stored.ok) throw requestErrorFrom(stored.error);
  const { blobId, size } = stored.value;
  return mediaType.startsWith("image/")
    ? { type: "image", blobId, mediaType, name }
    : { type: "file", blobId, mediaType, name, size };
}

/** A file of the workspace by its path there, which tools take; anything else as it is. */
function nameOf(uri: string, folder: string): string {
  if (!uri.startsWith("file://")) return uri;
  try {
    const path = fileURLToPath(uri.replace(/[?#].*$/, ""));
    const below = relative(folder, path);
    return below === "" || below.startsWith("..") || isAbsolute(below) ? path : below;
  } catch {
    return uri;
  }
}
