import { z } from "zod";
import {
  maxMcpServers,
  type McpServer,
  mcpServer,
  mcpServerName,
} from "../../ops/config/mcp-servers.ts";
import type { EncryptedRows } from "../../ops/secrets/encrypted-rows.ts";

const addedServer = z.object({
  version: z.literal(1),
  server: mcpServer,
  switch: z.enum(["on", "off"]),
});

/** A server that a person added while the host ran. */
export interface AddedServer {
  readonly server: McpServer;
  readonly switch: "on" | "off";
}

/**
 * Servers that people added, shared by all hosts of the store. Each is one encrypted row: its headers, variables and
 * arguments may be secrets, and one row is there as a whole or not at all.
 */
export interface AddedServers {
  list(): ReadonlyMap<string, AddedServer>;
  /** Rejects with `SecretsLocked` or a `StoreFailure`, like the other changes. */
  put(
    name: string,
    server: McpServer,
    to?: AddedServer["switch"],
  ): Promise<"kept" | "too many" | "too large">;
  /** Returns whether there is such a server. */
  turn(name: string, to: AddedServer["switch"]): Promise<boolean>;
  /** Returns whether there was one. */
  remove(name: string): Promise<boolean>;
  /** Picks up what other hosts have changed. */
  refresh(): Promise<void>;
  /** Calls back after each change. */
  onChange(listener: () => void): void;
}

const prefix = "mcp/";
/** Sealed and with its envelope, it has to fit into a row of the register. */
const maxTextLength = 11_000;

type Rows = Pick<EncryptedRows, "read" | "names" | "change" | "remove" | "refresh">;

export function openAddedServers(rows: Rows): AddedServers {
  const listeners = new Set<() => void>();
  let known = new Map<string, AddedServer>();
  let knownTexts = "";

  function read(): void {
    const texts = rows.names().flatMap((row) => {
      const text = row.startsWith(prefix) ? rows.read(row) : null;
      return text === null ? [] : [[row.slice(prefix.length), text] as const];
    });
    const joined = JSON.stringify(texts);
    if (joined === knownTexts) return;
    knownTexts = joined;
    known = new Map(
      texts.flatMap(([name, text]) => {
        const added = decode(text);
        return added === null ? [] : [[name, added] as const];
      }),
    );
    for (const listener of listeners) listener();
  }

  read();
  return {
    list: () => known,
    async put(name, server, to = "on") {
      const text = encode({ server, switch: to });
      if (Buffer.byteLength(text) > maxTextLength) return "too large";
      if (!mcpServerName.safeParse(name).success)
        throw new Error("The name of an MCP server was not checked.");
      await rows.refresh();
      read();
      if (!known.has(name) && known.size >= maxMcpServers) return "too many";
      await rows.change(prefix + name, () => text);
      read();
      return "kept";
    },
    async turn(name, to) {
      let exists = false;
      await rows.change(prefix + name, (text) => {
        const added = text === null ? null : decode(text);
        exists = added !== null;
        return added === null || added.switch === to ? undefined : encode({ ...added, switch: to });
      });
      read();
      return exists;
    },
    async remove(name) {
      const removed = await rows.remove(prefix + name);
      read();
      return removed;
    },
    async refresh() {
      await rows.refresh();
      read();
    },
    onChange: (listener) => void listeners.add(listener),
  };
}

function encode(added: AddedServer): string {
  return JSON.stringify({ version: 1, ...added });
}

/** `null` for what a newer version wrote. */
function decode(text: string): AddedServer | null {
  try {
    return addedServer.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}
