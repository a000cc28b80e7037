import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";

/** What a workspace's own file says to agents, and the hash of exactly that text. */
export interface Instructions {
  readonly file: string;
  readonly text: string;
  readonly hash: string;
}

const instructionsFile = "AGENTS.md";
const maxBytes = 32 * 1024;

/**
 * `null` when there is none, or none that counts: a link could lead anywhere, and what is longer than this is no
 * instruction. Nothing here says that it is to be followed: that is for a person to decide.
 */
export async function readInstructions(folder: string): Promise<Instructions | null> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const handle = await open(join(folder, instructionsFile), flags).catch(() => null);
  if (handle === null) return null;
  try {
    const found = await handle.stat();
    if (!found.isFile() || found.size > maxBytes) return null;
    const bytes = await handle.readFile();
    const text = bytes.toString("utf8").trim();
    if (text === "" || bytes.byteLength > maxBytes) return null;
    const hash = createHash("sha256").update(text).digest("hex");
    return { file: instructionsFile, text, hash };
  } finally {
    await handle.close();
  }
}
