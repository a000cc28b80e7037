import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";

const historyLines = z.array(z.string());
const maxHistoryLines = 500;

/** What was typed before, newest last. It is the person's own, and kept for nobody else to read. */
export function readHistory(home: string): readonly string[] {
  try {
    return historyLines.safeParse(JSON.parse(readFileSync(historyFile(home), "utf8"))).data ?? [];
  } catch {
    return [];
  }
}

/** Of two chats at once the later one's lines come last; neither loses the other's. */
export function appendHistory(home: string, typed: string): void {
  const kept = [...readHistory(home).filter((line) => line !== typed), typed].slice(
    -maxHistoryLines,
  );
  const draft = `${historyFile(home)}.${process.pid}`;
  try {
    writeFileSync(draft, JSON.stringify(kept), { mode: 0o600 });
    renameSync(draft, historyFile(home));
  } catch {
    // A history that cannot be kept is no reason to stop talking.
  }
}

function historyFile(home: string): string {
  return join(home, "chat-history.json");
}
