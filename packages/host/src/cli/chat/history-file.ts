import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";

const lines = z.array(z.string());
const most = 500;

/** What was typed before, newest last. It is the person's own, and kept for nobody else to read. */
export function readHistory(home: string): readonly string[] {
  try {
    return lines.safeParse(JSON.parse(readFileSync(fileIn(home), "utf8"))).data ?? [];
  } catch {
    return [];
  }
}

/** Of two chats at once the later one's lines come last; neither loses the other's. */
export function keepHistory(home: string, typed: string): void {
  const kept = [...readHistory(home).filter((line) => line !== typed), typed].slice(-most);
  const draft = `${fileIn(home)}.${process.pid}`;
  try {
    writeFileSync(draft, JSON.stringify(kept), { mode: 0o600 });
    renameSync(draft, fileIn(home));
  } catch {
    // A history that cannot be kept is no reason to stop talking.
  }
}

function fileIn(home: string): string {
  return join(home, "chat-history.json");
}
