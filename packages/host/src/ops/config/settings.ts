import { resolve, join } from "node:path";
import { z } from "zod";
import { isNetwork } from "../../util/ip-networks.ts";
import { type McpServers, mcpServers } from "./mcp-servers.ts";
import { modelSettings } from "./model-settings.ts";
import { notifySettings, telegramSettings, webhookSettings } from "./messaging-settings.ts";
import { operationSettings } from "./operation-settings.ts";
import { storageSettings } from "./storage-settings.ts";
import { toolSettings } from "./tool-settings.ts";
import { listOf, type Setting, setting, wholeNumber } from "./setting.ts";

function isOrigin(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.origin === text;
}

function isWebAddress(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.search === "" && url.hash === "";
}

export function isPostgres(location: string): boolean {
  return /^postgres(ql)?:\/\//.test(location);
}

/**
 * All settings. The key is the name in the file; `HOLDFAST_BASE_PATH` and `--base-path` are derived from `basePath`. A
 * flag wins over the environment, which wins over the file.
 */
export const settings = {
  home: setting({
    about: "the folder that holds everything Holdfast keeps",
    allowed: "the path of a folder",
    schema: z
      .string()
      .min(1)
      .transform((path) => resolve(path)),
    fallback: ({ personFolder }) => join(personFolder, ".holdfast"),
    fallbackInWords: "~/.holdfast",
    traits: ["not-in-file"],
  }),
  port: setting({
    about: "the port to serve on",
    allowed: "a port number from 0 to 65535 (0 takes any free port)",
    schema: wholeNumber(0, 65_535),
    fallback: () => 8787,
    fallbackInWords: "8787",
  }),
  host: setting({
    about: "the address or name to serve on",
    allowed: "an address like 127.0.0.1, 0.0.0.0 or ::1, or a host name",
    schema: z.string().regex(/^[A-Za-z0-9.:_-]+$/),
    fallback: () => "127.0.0.1",
    fallbackInWords: "127.0.0.1",
  }),
  token: setting<string | undefined>({
    about: "the bearer token of the API",
    allowed: "1 to 512 visible ASCII characters without a space",
    schema: z.string().regex(/^[\x21-\x7e]{1,512}$/),
    fallback: () => undefined,
    fallbackInWords: "made once and kept in the home",
    traits: ["secret"],
  }),
  secretsKey: setting<string | undefined>({
    about: "the key that encrypts stored secrets",
    allowed:
      "at least 32 visible characters; with older keys behind it, with spaces between them, while it is rotated",
    schema: z.string().regex(/^[\x21-\x7e]{32,512}(?: [\x21-\x7e]{32,512})*$/),
    fallback: () => undefined,
    fallbackInWords: "made once and kept in a file",
    traits: ["secret"],
  }),
  secretsKeyFile: setting<string | undefined>({
    about: "the file with that key, readable by you alone",
    allowed: "a path",
    schema: z
      .string()
      .min(1)
      .transform((path) => resolve(path)),
    fallback: () => undefined,
    fallbackInWords: "secrets.key in the home",
  }),
  basePath: setting({
    about: "the path under which a reverse proxy forwards to Holdfast",
    allowed: "a path like /holdfast",
    schema: z
      .string()
      .regex(/^(\/[A-Za-z0-9._~-]+)*\/?$/)
      .transform((path) => path.replace(/\/$/, "")),
    fallback: () => "",
    fallbackInWords: "/",
  }),
  origin: setting<string | undefined>({
    about: "the address that people use, where a reverse proxy gives it another",
    allowed: "an origin like https://holdfast.example.org, without a path",
    schema: z.string().refine(isOrigin),
    fallback: () => undefined,
    fallbackInWords: "the address it serves on",
  }),
  internalAddress: setting<string | undefined>({
    about: "the address at which other hosts on the same store reach this one",
    allowed: "an address like http://10.0.0.3:8787, with the base path where there is one",
    schema: z.string().refine(isWebAddress),
    fallback: () => undefined,
    fallbackInWords: "the address it serves on",
  }),
  url: setting<string | undefined>({
    about: "the host that chat, run and the other commands speak to",
    allowed: "an address like http://127.0.0.1:8787, with the base path where there is one",
    schema: z.string().refine(isWebAddress),
    fallback: () => undefined,
    fallbackInWords: "the one that serves this home, or one in the command's own process",
  }),
  proxies: setting<readonly string[]>({
    about: "the addresses of reverse proxies whose X-Forwarded-For is believed",
    allowed: "addresses or networks with commas between them, like 10.0.0.7,fd00::/8",
    schema: listOf(z.string().refine(isNetwork)),
    fallback: () => [],
    fallbackInWords: "none",
  }),
  store: setting<string | undefined>({
    about: "where everything is kept",
    allowed: "the path of a SQLite file, or an address like postgres://user@host/database",
    schema: z
      .string()
      .min(1)
      // A mistyped address must not become a file of that name.
      .refine((location) => isPostgres(location) || !/^[a-z][a-z0-9+.-]*:\/\//i.test(location))
      .transform((location) => (isPostgres(location) ? location : resolve(location))),
    fallback: () => undefined,
    fallbackInWords: "holdfast.db in the home",
    // A database URL may contain a password.
    traits: ["secret"],
  }),
  storeListenUrl: setting<string | undefined>({
    about:
      "the PostgreSQL server's own address, if store leads to a pooler that shares connections between transactions",
    allowed: "an address like postgres://user@host/database",
    schema: z.string().refine(isPostgres),
    fallback: () => undefined,
    fallbackInWords: "store",
    // It may contain a password.
    traits: ["secret"],
  }),
  ...storageSettings,
  ...modelSettings,
  memory: setting({
    about: "what remembers completed turns",
    allowed:
      "facts (what people said of themselves, recalled when it fits), notes (MEMORY.md and USER.md), openviking (a server), off, or the path of a provider (.mjs, .js or .ts)",
    schema: z
      .string()
      .regex(/^(?:facts|notes|openviking|off|.+\.m?[jt]s)$/)
      .transform((choice) => (choice.includes(".") ? resolve(choice) : choice)),
    fallback: () => "facts",
    fallbackInWords: "facts",
  }),
  openvikingUrl: setting<string | undefined>({
    about: "the OpenViking server that remembers",
    allowed: "an address like http://127.0.0.1:1933",
    schema: z.string().refine((text) => /^https?:$/.test(URL.parse(text)?.protocol ?? "")),
    fallback: () => undefined,
    fallbackInWords: "none",
  }),
  openvikingKey: setting<string | undefined>({
    about: "the key of a user of that server",
    allowed: "1 to 512 visible ASCII characters without a space",
    schema: z.string().regex(/^[\x21-\x7e]{1,512}$/),
    fallback: () => undefined,
    fallbackInWords: "none",
    traits: ["secret"],
  }),
  review: setting<"on" | "off">({
    about: "whether a model reads conversations now and then for what is worth remembering",
    allowed: "on (one short call for about ten turns) or off",
    schema: z.enum(["on", "off"]),
    fallback: () => "on",
    fallbackInWords: "on",
  }),
  mcp: setting<McpServers>({
    about: "the MCP servers whose tools agents have",
    allowed:
      'an object of servers by name, like {"files": {"command": "mcp-files", "args": ["/srv"]}, "wiki": {"url": "https://wiki.example.org/mcp", "headers": {"Authorization": {"env": "WIKI_KEY", "prefix": "Bearer "}}}}',
    schema: mcpServers,
    fallback: () => ({}),
    fallbackInWords: "none",
    // Headers and environments may contain secrets.
    traits: ["secret"],
  }),
  ...toolSettings,
  leaseMs: setting({
    about: "how long a run is held before it must be renewed, in milliseconds",
    allowed: "a number of milliseconds from 1000 to 600000",
    schema: wholeNumber(1_000, 600_000),
    fallback: () => 30_000,
    fallbackInWords: "30000",
  }),
  resume: setting<"resume" | "ask" | "off">({
    about: "what happens to a run whose host has stopped",
    allowed: "resume (it goes on by itself), ask (it waits for a person) or off (it ends)",
    schema: z.enum(["resume", "ask", "off"]),
    fallback: () => "resume",
    fallbackInWords: "resume",
  }),
  ...operationSettings,
  ...notifySettings,
  ...telegramSettings,
  ...webhookSettings,
};

export type SettingName = keyof typeof settings;

type ValueOf<N extends SettingName> = (typeof settings)[N] extends Setting<infer T> ? T : never;

export type Source =
  | { readonly from: "default" }
  /** Changed on the page, and kept in the store. */
  | { readonly from: "page" }
  | { readonly from: "flag" | "environment"; readonly name: string }
  | { readonly from: "file"; readonly name: string; readonly path: string };

/** A value and where it came from. */
export interface ConfigValue<T> {
  readonly value: T;
  readonly source: Source;
}

export type Config = { readonly [N in SettingName]: ConfigValue<ValueOf<N>> };

export const settingNames = Object.keys(settings) as SettingName[];

export function flagOf(name: SettingName): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

export function variableOf(name: SettingName): string {
  return `HOLDFAST_${flagOf(name).replaceAll("-", "_").toUpperCase()}`;
}
