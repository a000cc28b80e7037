import type { Route } from "../router/routes.ts";
import { createChunk } from "../ui/chunk.tsx";

/** What the route names, each in a file of its own: the start page needs neither. */
export const parts = {
  conversation: createChunk(async () => (await import("../talk/conversation.tsx")).Conversation),
  settings: createChunk(async () => (await import("../settings/settings.tsx")).Settings),
};

/** Loads what the address names, beside the first requests. */
export function preloadRoute({ kind }: Route): void {
  if (kind === "session") parts.conversation.preload();
  if (kind === "settings") parts.settings.preload();
}

/** The first view comes first: its requests are under way when this time is over. */
const afterFirstViewMs = 500;

/** Loads the conversation before a first message is written. Returns a function that leaves it. */
export function preloadConversation(): () => void {
  const timer = setTimeout(parts.conversation.preload, afterFirstViewMs);
  return () => clearTimeout(timer);
}
