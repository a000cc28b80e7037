import { z } from "zod";

import { defineRoute } from "./define.ts";
import { idempotencyHeader } from "./sessions.ts";
import { instant } from "./views.ts";

/** The current state of one of the operator's MCP servers. */
const mcpServerView = z.looseObject({
  name: z.string(),
  kind: z.enum(["program", "http"]),
  state: z.enum(["starting", "ready", "away", "stopped"]),
  tools: z.array(
    z.looseObject({
      /** The name agents use. */
      name: z.string(),
      /** The server's own name for it. */
      remote: z.string(),
    }),
  ),
  /** What the server offers but cannot be used, and why. */
  leftOut: z.array(z.string()),
  /** Why it is away, or was the last time. */
  lastError: z.string().nullable(),
  /** The last lines it wrote to its standard error. */
  said: z.array(z.string()),
  /** `configuration`: it is in config.json, and can be changed only there. */
  connectedBy: z.enum(["configuration", "page"]).default("configuration"),
  /** `off`: it is neither connected nor are its tools offered, until it is switched on. */
  switch: z.enum(["on", "off"]).default("on"),
  /** Its address without a query, or its command line. */
  target: z.string().default(""),
  /** Whether a server of the same name was also added on the page; the one in config.json is used. */
  hidesAdded: z.boolean().default(false),
  /** `needed`: the server refuses to work until a person has signed in to it. */
  signIn: z.enum(["none", "needed", "done"]).default("none"),
});
export type McpServerView = z.infer<typeof mcpServerView>;

const server = z.strictObject({ name: z.string().min(1).max(64) });
const newServer = z.strictObject({
  name: z
    .string()
    .regex(
      /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,22}[A-Za-z0-9])?$/,
      "expected up to 24 letters, digits and hyphens",
    ),
});

const value = z.string().max(8_192);
const folders = z.array(z.string().regex(/^\//, "expected a path like /srv").max(4_096)).max(50);

/** An address, or a program that the host starts, confined like a command. */
const mcpServerBody = z
  .strictObject({
    url: z.string().min(1).max(2_048).optional(),
    /** Stored encrypted, sent to the address's origin alone, and never shown. */
    headers: z.record(z.string().max(128), value).optional(),
    command: z.string().min(1).max(4_096).optional(),
    args: z.array(z.string().max(8_192)).max(256).optional(),
    /** Stored encrypted, and never shown. */
    env: z.record(z.string().max(128), value).optional(),
    cwd: z.string().regex(/^\//, "expected a path like /srv").max(4_096).optional(),
    sandbox: z
      .strictObject({
        network: z
          .union([z.enum(["none", "host"]), z.array(z.string().max(253)).min(1).max(50)])
          .optional(),
        folders: folders.optional(),
        writable: folders.optional(),
      })
      .optional(),
    /** What `programText` says about the program: proves that the person has seen what will run. */
    confirm: z.string().optional(),
    /** Per call. */
    timeLimitMs: z.int().min(1_000).max(3_600_000).optional(),
    /** `believed`: a tool that the server calls read-only asks nobody. */
    readOnlyHints: z.enum(["ignored", "believed"]).optional(),
  })
  .refine(
    ({ url, command }) => (url === undefined) !== (command === undefined),
    "expected either url or command",
  );
export type McpServerBody = z.infer<typeof mcpServerBody>;

/** What a program runs and may reach, in one line: shown to people before they add it. */
export function programText({
  command = "",
  args = [],
  env = {},
  cwd,
  sandbox = {},
}: McpServerBody): string {
  const { network = "host", folders: readable = [], writable = [] } = sandbox;
  const names = Object.keys(env).toSorted();
  return [
    commandText({ command, args }),
    ...(cwd === undefined ? [] : [`in ${quoteWord(cwd)}`]),
    ...(names.length === 0 ? [] : [`with the variables ${names.join(", ")}`]),
    ...(readable.length === 0 ? [] : [`may read ${readable.map(quoteWord).join(", ")}`]),
    ...(writable.length === 0 ? [] : [`may change ${writable.map(quoteWord).join(", ")}`]),
    network === "host"
      ? "has the host's network"
      : network === "none"
        ? "has no network"
        : `reaches ${network.join(", ")}`,
  ].join("; ");
}

/** A command line as people read it. Nothing runs it through a shell. */
export function commandText({
  command,
  args = [],
}: {
  readonly command: string;
  readonly args?: readonly string[] | undefined;
}): string {
  return [command, ...args].map(quoteWord).join(" ");
}

function quoteWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : JSON.stringify(word);
}

const changed = {
  media: "json",
  status: 200,
  schema: z.looseObject({ server: mcpServerView }),
} as const;

export const mcpRoutes = {
  listMcpServers: defineRoute({
    method: "GET",
    path: "/api/mcp",
    summary: "The MCP servers of this host, and what they offer",
    access: "principal",
    answer: {
      media: "json",
      status: 200,
      schema: z.looseObject({ servers: z.array(mcpServerView) }),
    },
    problems: [],
    repeat: "safe",
  }),
  putMcpServer: defineRoute({
    method: "PUT",
    path: "/api/mcp/:name",
    summary:
      "Add an MCP server, or replace one that was added; every host of the store connects it",
    access: "principal",
    params: newServer,
    body: mcpServerBody,
    example: { command: "wiki-server", args: ["--stdio"] },
    answer: changed,
    problems: [
      "mcp_server_not_found",
      "mcp_server_configured",
      "mcp_confirmation_needed",
      "too_many_mcp_servers",
      "secrets_locked",
    ],
    repeat: "safe",
  }),
  changeMcpServer: defineRoute({
    method: "PATCH",
    path: "/api/mcp/:name",
    summary: "Switch an added MCP server off or on",
    access: "principal",
    params: server,
    body: z.strictObject({ switch: z.enum(["on", "off"]) }),
    example: { switch: "off" },
    answer: changed,
    problems: ["mcp_server_not_found", "mcp_server_configured", "secrets_locked"],
    repeat: "safe",
  }),
  removeMcpServer: defineRoute({
    method: "DELETE",
    path: "/api/mcp/:name",
    summary: "Remove an added MCP server with everything that was stored for it",
    access: "principal",
    params: server,
    answer: { media: "none", status: 204 },
    problems: ["mcp_server_not_found", "mcp_server_configured"],
    repeat: "safe",
  }),
  restartMcpServer: defineRoute({
    method: "POST",
    path: "/api/mcp/:name/restart",
    summary: "Connect an MCP server anew; calls that it has not answered are given up",
    access: "principal",
    params: server,
    headers: idempotencyHeader,
    answer: { media: "json", status: 202, schema: z.looseObject({ server: mcpServerView }) },
    problems: ["mcp_server_not_found"],
    repeat: "key",
  }),
  signInToMcpServer: defineRoute({
    method: "POST",
    path: "/api/mcp/:name/sign-in",
    summary:
      "Begin a sign-in to an MCP server; a person opens the link, and the server is then connected",
    access: "principal",
    params: server,
    body: z.strictObject({
      /** A client that was registered at the authorisation server, if it registers none by itself. */
      clientId: z.string().min(1).max(500).optional(),
      clientSecret: z.string().min(1).max(500).optional(),
    }),
    answer: {
      media: "json",
      status: 200,
      schema: z.looseObject({ link: z.string(), expiresAt: instant }),
    },
    problems: [
      "mcp_server_not_found",
      "mcp_sign_in_failed",
      "mcp_client_needed",
      "mcp_no_address",
      "secrets_locked",
    ],
    // An answer that is kept would contain the link.
    repeat: "never",
  }),
  signOutOfMcpServer: defineRoute({
    method: "DELETE",
    path: "/api/mcp/:name/sign-in",
    summary: "Forget the tokens of a sign-in to an MCP server",
    access: "principal",
    params: server,
    answer: { media: "none", status: 204 },
    problems: ["mcp_server_not_found"],
    repeat: "safe",
  }),
  putMcpSecret: defineRoute({
    method: "PUT",
    path: "/api/secrets/mcp/:name",
    summary: "Store a key that a server's settings name, for the server's own address alone",
    access: "principal",
    params: server,
    body: z.strictObject({
      key: z.string().regex(/^[\x21-\x7e]{1,1000}$/, "expected 1 to 1000 printable characters"),
      /** Which secret, if the settings name several. */
      secret: z.string().min(1).max(200).optional(),
    }),
    example: { key: "the-key-that-the-server-gave" },
    answer: { media: "none", status: 204 },
    problems: ["mcp_server_not_found"],
    repeat: "safe",
  }),
  deleteMcpSecret: defineRoute({
    method: "DELETE",
    path: "/api/secrets/mcp/:name",
    summary: "Forget the keys that were stored for a server",
    access: "principal",
    params: server,
    answer: { media: "none", status: 204 },
    problems: ["mcp_server_not_found"],
    repeat: "safe",
  }),
} as const;
