import { open, readdir, stat } from "node:fs/promises";
import type { ImportSourceName } from "@holdfast/protocol";

import { ZipArchive } from "./zip.ts";

const startBytes = 256 * 1024;
const archiveStart = "PK\u0003\u0004";

/** The programs whose data this may be, by names in an archive or folder, or by how a file begins. */
export async function recognizeSources(path: string): Promise<readonly ImportSourceName[]> {
  try {
    const info = await stat(path);
    if (info.isDirectory()) return byNames(await readdir(path));
    const start = await readStart(path);
    if (!start.startsWith(archiveStart)) return byStart(start);
    const archive = await ZipArchive.open(path);
    await archive.close();
    return byNames(archive.entries.map(({ name }) => name));
  } catch {
    return [];
  }
}

async function readStart(path: string): Promise<string> {
  const file = await open(path, "r");
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(startBytes), 0, startBytes, 0);
    return buffer.toString("latin1", 0, bytesRead);
  } finally {
    await file.close();
  }
}

function byNames(paths: readonly string[]): readonly ImportSourceName[] {
  const names = new Set(paths.flatMap((path) => path.split("/")));
  const has = (...some: readonly string[]): boolean => some.some((name) => names.has(name));
  if (has("state.db", "webui")) return ["hermes"];
  if (paths.some((path) => /(?:^|\/)rollout-[^/]+\.jsonl?$/u.test(path))) return ["codex"];
  if (has("chat.html", "message_feedback.json", "export_manifest.json", "user.json"))
    return ["chatgpt"];
  if (has("users.json", "memories.json", "projects.json", "memories", "design_chats"))
    return ["claude"];
  if (paths.some((path) => path.endsWith(".jsonl"))) return ["claude-code"];
  const hasTalks = paths.some((path) => /(?:^|\/)conversations(?:-\d+)?\.json$/u.test(path));
  return hasTalks ? ["chatgpt", "claude"] : [];
}

function byStart(start: string): readonly ImportSourceName[] {
  if (/"format"\s*:\s*"holdfast\./u.test(start)) return [];
  if (/"chat_messages"\s*:/u.test(start)) return ["claude"];
  if (/"mapping"\s*:\s*\{/u.test(start)) return ["chatgpt"];
  const [line = ""] = start.split("\n", 1);
  if (!line.startsWith("{")) return [];
  if (/"(?:session_meta|record_type|response_item)"/u.test(line)) return ["codex"];
  return /"(?:parentUuid|leafUuid|sessionId)"/u.test(start) ? ["claude-code"] : [];
}
