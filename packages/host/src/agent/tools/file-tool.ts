import type { ToolCall, ToolResult } from "@holdfast/engine";
import type { FileChange } from "@holdfast/protocol";

import type { FileSnapshots } from "../snapshots/file-snapshots.ts";
import { type PathResult } from "../workspace/resolve-path.ts";
import { Jail } from "../workspace/jail.ts";
import { failed, ok } from "./define-tool.ts";
import type { Workspaces } from "../workspace/workspaces.ts";

export interface FileToolDeps {
  readonly workspaces: Pick<Workspaces, "folderFor" | "placeFor">;
  /** Where files are saved before they are changed; without it there is no undo of files. */
  readonly snapshots?: FileSnapshots | undefined;
}

/** The session's folder, as bound to the call, as a jail. */
export async function openWorkspace({ workspaces }: FileToolDeps, call: ToolCall): Promise<Jail> {
  const jail = await Jail.open(call.place ?? (await workspaces.folderFor(call)));
  if (!jail.ok) throw new Error(jail.refusal.message);
  return jail.value;
}

const maxTextBytes = 4 * 1024 * 1024;

/** A whole text small enough to edit. */
export async function readTextFile(
  jail: Jail,
  path: string,
): Promise<PathResult<string> | ToolResult> {
  const read = await jail.read(path, async ({ handle, size }) => {
    if (size > maxTextBytes) return failed(`It has ${size} bytes; ${maxTextBytes} are the most.`);
    return decodeText(await handle.readFile());
  });
  if (!read.ok) return read;
  return typeof read.value === "string" ? { ok: true, value: read.value } : read.value;
}

/** Decodes text without normalizing anything. */
function decodeText(bytes: Uint8Array): string | ToolResult {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return text.includes("\0") ? failed("It is a binary file, not text.") : text;
  } catch {
    return failed("It is not text in UTF-8.");
  }
}

const maxDiffLength = 8_000;

export async function describeChange(
  path: string,
  before: string | null,
  after: string | null,
): Promise<FileChange> {
  // Loaded on the first change, not when the host starts.
  const { unifiedDiff } = await import("../../util/text/diff.ts");
  const change = before === null ? "created" : after === null ? "deleted" : "changed";
  return { path, change, diff: unifiedDiff(before ?? "", after ?? "", maxDiffLength) };
}

/** A control character takes six bytes in the log: a diff that does not fit is left out. */
const maxChangeBytes = 10 * 1024;

export function changeResult(message: string, changes: readonly FileChange[]): ToolResult {
  const stored: FileChange[] = [];
  let remaining = maxChangeBytes;
  for (const change of changes) {
    const short = { ...change, diff: "[the diff is left out]" };
    const fits = [change, short].find((candidate) => storedBytes(candidate) <= remaining);
    if (fits === undefined) break;
    stored.push(fits);
    remaining -= storedBytes(fits);
  }
  return { ...ok(message), details: { changes: stored } };
}

function storedBytes(change: FileChange): number {
  return Buffer.byteLength(JSON.stringify(change));
}
