import { z } from "zod";
import { hostName } from "../../agent/policy/rule.ts";

/**
 * A literal value, or a reference to where it is stored. Nothing is expanded inside a text: what looks like a variable
 * is sent as is.
 */
const literal = z.string().max(8_192);
/** Put before the value, like `Bearer `. */
const prefix = z.string().max(64).optional();
/** The name of a variable in the host's environment. */
const fromEnvironment = z.strictObject({
  env: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/),
  prefix,
});
/** The name of a stored key. A key is sent only to the address it was stored for, so a program cannot have it. */
const fromSecrets = z.strictObject({ secret: z.string().min(1).max(200), prefix });
const programValue = z.union([literal, fromEnvironment]);
const sentValue = z.union([literal, fromEnvironment, fromSecrets]);
export type SecretValue = z.infer<typeof sentValue>;

const shared = {
  /** Per call. */
  timeLimitMs: z.int().min(1_000).max(3_600_000).optional(),
  /** Whether to trust a server's read-only hints: such a call needs no approval, and may be repeated. */
  readOnlyHints: z.enum(["ignored", "believed"]).optional(),
};

const path = z.string().regex(/^\//).max(4_096);

/** What a program may reach and see besides the system. Without it, it keeps the host's network. */
const programSandbox = z.union([
  z.literal("off"),
  z.strictObject({
    network: z
      .union([
        z.enum(["none", "host"]),
        z.array(z.string().max(253).regex(hostName)).min(1).max(50),
      ])
      .optional(),
    /** Folders that it may read, and folders that it may change. */
    folders: z.array(path).max(50).optional(),
    writable: z.array(path).max(50).optional(),
  }),
]);

const programServer = z.strictObject({
  command: z.string().min(1).max(4_096),
  args: z.array(z.string().max(32_768)).max(256).optional(),
  env: z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/), programValue).optional(),
  /** The host's working directory by default. */
  cwd: path.optional(),
  sandbox: programSandbox.optional(),
  ...shared,
});
export type ProgramServer = z.infer<typeof programServer>;

/** Headers that the connection itself sets. */
const ownHeaders =
  /^(?:host|connection|content-.*|transfer-encoding|te|upgrade|expect|accept|cookie|proxy-.*|mcp-.*|last-event-id)$/i;

const webServer = z.strictObject({
  url: z.string().max(2_048).refine(isPlainAddress),
  headers: z
    .record(
      z
        .string()
        .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/)
        .refine((name) => !ownHeaders.test(name)),
      sentValue,
    )
    .optional(),
  ...shared,
});
export type WebServer = z.infer<typeof webServer>;

/** A tool is called `server__tool`: without underscores in the first part, no server can impersonate another. */
export const mcpServerName: z.ZodString = z
  .string()
  .regex(/^[a-z0-9](?:[a-z0-9-]{0,22}[a-z0-9])?$/i);

export type McpServer = ProgramServer | WebServer;
export type McpServers = Readonly<Record<string, McpServer>>;

export const mcpServer: z.ZodType<McpServer> = z.union([programServer, webServer]);
export const maxMcpServers = 32;

const servers: z.ZodType<McpServers> = z
  .record(mcpServerName, mcpServer)
  .refine((all) => Object.keys(all).length <= maxMcpServers);

/** Flags and the environment contain the same object as JSON text. */
export const mcpServers: z.ZodType<McpServers> = z.union([
  z.string().transform(asJson).pipe(servers),
  servers,
]);

function isPlainAddress(text: string): boolean {
  const url = URL.parse(text);
  return (
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    url.username === "" &&
    url.password === "" &&
    url.hash === ""
  );
}

function asJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
