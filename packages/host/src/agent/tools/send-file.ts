import { basename, extname } from "node:path";

import type { Store, Tool } from "@holdfast/engine";
import { z } from "zod";

import { defineTool, failed, ok } from "./define-tool.ts";
import { type FileToolDeps, openWorkspace } from "./file-tool.ts";

const maxFileBytes = 20 * 1024 * 1024;

const input = z.strictObject({
  path: z.string().min(1).max(4_096).describe("From the workspace."),
});

/** The person gets the file beside the answer: as a download in the page, as its own message in a chat. */
export function createSendFile(deps: FileToolDeps & { readonly store: Store }): Tool {
  return defineTool({
    name: "send_file",
    description:
      "Gives the person a file of the workspace, for example a document or a picture that you have made. In a chat it is delivered as a message.",
    input,
    // The same bytes are the same blob.
    replay: "safe",
    asks: "none",
    onlyReads: true,
    place: (call) => deps.workspaces.placeFor(call),
    async run({ path }, call) {
      const jail = await openWorkspace(deps, call);
      const read = await jail.read(path, async ({ handle, size }) =>
        size > maxFileBytes ? size : handle.readFile(),
      );
      if (!read.ok) return failed(read.refusal.message);
      const bytes = read.value;
      if (typeof bytes === "number")
        return failed(`It has ${bytes} bytes; ${maxFileBytes} are the most that can be sent.`);
      if (bytes.length === 0) return failed("The file is empty.");
      const mediaType = mediaTypeOf(path);
      const put = await deps.store.putBlob(call.owner, bytes, mediaType);
      if (put.status !== "stored") return failed(`It could not be kept: ${put.message}`);
      const file = { blobId: put.id, mediaType, size: bytes.length, name: basename(path) };
      const message = `${file.name} (${mediaType}, ${bytes.length} bytes) is given to the person.`;
      return { ...ok(message), details: { files: [file] } };
    },
  });
}

const mediaTypes: Readonly<Record<string, string>> = {
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
  ".webp": "image/webp",
  ".svg": "image/svg+xml",
  ".pdf": "application/pdf",
  ".zip": "application/zip",
  ".json": "application/json",
  ".csv": "text/csv",
  ".html": "text/html",
  ".md": "text/markdown",
  ".txt": "text/plain",
  ".mp3": "audio/mpeg",
  ".ogg": "audio/ogg",
  ".mp4": "video/mp4",
};

function mediaTypeOf(path: string): string {
  return mediaTypes[extname(path).toLowerCase()] ?? "application/octet-stream";
}
