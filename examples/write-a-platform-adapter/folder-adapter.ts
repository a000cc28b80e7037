import { appendFile, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Incoming, PlatformAdapter, PlatformFailure } from "@holdfast/host/gateway";

/** A line of `inbox.jsonl`, written by people. */
interface Inbound {
  readonly id: string;
  readonly chat: string;
  readonly from: string;
  readonly text: string;
}

/** A line of `outbox.jsonl`, written by the bot. */
export interface Outbound {
  readonly id: string;
  readonly chat: string;
  readonly text: string;
}

const pollMs = 100;
const longPollMs = 10_000;

/** The chat platform is a folder with two files of JSON lines. */
export function createFolderAdapter(folder: string): PlatformAdapter {
  const inbox = join(folder, "inbox.jsonl");
  const outbox = join(folder, "outbox.jsonl");

  return {
    platform: "folder",
    // `dropped`: a message sent twice with one id is shown once, so after a crash during a send the gateway can simply
    // send again. For a platform that would show it twice (`shown`), the gateway tells the person instead.
    capabilities: { repeats: "dropped", edits: false, buttons: false, typing: false, files: false },
    limits: {
      textUnits: 4_000,
      buttonBytes: 64,
      fileBytes: 1,
      paceMs: () => 0,
      callsPerSecond: 50,
    },

    identify: async () => ({ status: "identified", id: "bot", name: "Folder bot" }),
    subscribe: async () => ({ status: "subscribed" }),
    decodePush: () => null,

    /** The cursor counts lines. The gateway stores it, and asks for the next page after it has handled this one. */
    async receive(cursor, mode, signal) {
      try {
        const deadline = Date.now() + (mode === "wait" ? longPollMs : 0);
        let lines = await readLines<Inbound>(inbox);
        while (lines.length <= cursor && Date.now() < deadline && !signal.aborted) {
          await sleep(pollMs);
          lines = await readLines<Inbound>(inbox);
        }
        return {
          status: "received",
          incoming: lines.slice(cursor).map(toIncoming),
          next: lines.length,
        };
      } catch (error) {
        return unreachable(error);
      }
    },

    async send({ chat }, { text }, { id }) {
      let isSent = false;
      try {
        const sent = await readLines<Outbound>(outbox);
        if (sent.some((line) => line.id === id)) return { status: "sent", platformId: id };
        isSent = true;
        await appendLine(outbox, { id, chat, text });
        return { status: "sent", platformId: id };
      } catch (error) {
        // Return `later` only if the call certainly had no effect.
        const failure = unreachable(error);
        return isSent ? { ...failure, status: "unknown" } : failure;
      }
    },

    // Never called, because `capabilities` rules them out.
    sendFile: async () => unsupported,
    edit: async () => unsupported,
    fetchFile: async () => unsupported,
    showTyping: async () => {},
    acknowledgePress: async () => {},
    publishCommands: async () => {},
  };
}

const unsupported = {
  status: "refused",
  code: "unsupported",
  message: "A folder does not support this.",
} as const;

function unreachable(error: unknown): Extract<PlatformFailure, { status: "later" }> {
  const message = error instanceof Error ? error.message : String(error);
  return { status: "later", afterMs: 1_000, isAway: true, code: "folder_unreachable", message };
}

function toIncoming({ id, chat, from, text }: Inbound): Incoming {
  return {
    kind: "message",
    address: { chat, thread: null, kind: "private" },
    person: { id: from, name: from },
    messageId: id,
    text,
    files: [],
    addressed: true,
    quoted: null,
  };
}

/** Whole lines only: what follows the last newline is still being written. */
async function readLines<T>(file: string): Promise<readonly T[]> {
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return "";
    throw error;
  });
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as T);
}

async function appendLine(file: string, line: Outbound): Promise<void> {
  await appendFile(file, `${JSON.stringify(line)}\n`, { flush: true });
}
