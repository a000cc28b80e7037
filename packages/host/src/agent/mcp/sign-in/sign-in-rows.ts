import { z } from "zod";
import type { EncryptedRows } from "../../../ops/secrets/encrypted-rows.ts";

const client = z.object({
  /** The authorisation server that this identity is for, and no other. */
  issuer: z.string(),
  /** Where that server sends browsers back to. */
  redirectUri: z.string(),
  /** `given`: a person registered it there. */
  from: z.enum(["given", "registered"]),
  client_id: z.string(),
  client_secret: z.string().optional(),
  token_endpoint_auth_method: z.string().optional(),
});
export type StoredClient = z.infer<typeof client>;

/** What of a server's metadata is needed after the sign-in began. */
const metadata = z.object({
  issuer: z.string(),
  authorization_endpoint: z.string(),
  token_endpoint: z.string(),
  response_types_supported: z.array(z.string()),
  token_endpoint_auth_methods_supported: z.array(z.string()).optional(),
  authorization_response_iss_parameter_supported: z.boolean().optional(),
});
export type StoredMetadata = z.infer<typeof metadata>;

/** A person who is at the authorisation server now. */
const pending = z.object({
  state: z.string(),
  verifier: z.string(),
  metadata,
  client,
  resource: z.string().optional(),
  /** What was asked for: an answer without a scope grants all of it. */
  scope: z.string().optional(),
  until: z.int(),
});
export type PendingSignIn = z.infer<typeof pending>;

const tokens = z.object({
  /** Names this sign-in; a refresh keeps it. */
  grant: z.string(),
  metadata,
  client,
  resource: z.string().optional(),
  access_token: z.string(),
  refresh_token: z.string().optional(),
  scope: z.string().optional(),
  /** By the clock of the host that got it. */
  expiresAt: z.int().optional(),
});
export type StoredTokens = z.infer<typeof tokens>;

const signIn = z.object({
  version: z.literal(1),
  /** The MCP server's address: what was granted for one is never sent to another. */
  url: z.string(),
  clients: z.array(client),
  pending: z.array(pending),
  tokens: tokens.nullable(),
  /** Set while the server refuses to work without a sign-in, or, with tokens, while a call needs more than they allow. */
  needed: z.object({ scope: z.string().optional(), metadataUrl: z.string().optional() }).nullable(),
  /** Opens the sign-in without the page, for a link in a message. */
  ticket: z.object({ id: z.string(), until: z.int() }).nullable(),
});
export type SignIn = z.infer<typeof signIn>;

const noSignIn = (url: string): SignIn => ({
  version: 1,
  url,
  clients: [],
  pending: [],
  tokens: null,
  needed: null,
  ticket: null,
});

const prefix = "mcp-sign-in/";
/** Sealed and with its envelope, it has to fit into a row of the register. */
const maxTextLength = 11_000;

export class SignInTooLarge extends Error {
  constructor() {
    super("The tokens of this server are too long to be stored (11,000 bytes together).");
  }
}

/** What is stored of the sign-ins, one encrypted row for each server. */
export interface SignInRows {
  /** Nothing for another address than the one it was stored for. */
  read(name: string, url: string): SignIn;
  names(): readonly string[];
  /** `undefined` leaves it as it is. Chosen again if another host was faster. */
  change(
    name: string,
    url: string,
    choose: (current: SignIn) => SignIn | undefined,
  ): Promise<boolean>;
  remove(name: string): Promise<boolean>;
  /** Reads what other hosts have stored until now. */
  reload(): Promise<void>;
}

type Rows = Pick<EncryptedRows, "read" | "names" | "change" | "remove" | "reload">;

export function openSignInRows(rows: Rows): SignInRows {
  const decode = (text: string | null, url: string): SignIn => {
    const decoded = text === null ? null : parse(text);
    return decoded?.url === url ? decoded : noSignIn(url);
  };
  return {
    read: (name, url) => decode(rows.read(prefix + name), url),
    names: () =>
      rows.names().flatMap((row) => (row.startsWith(prefix) ? row.slice(prefix.length) : [])),
    change: (name, url, choose) =>
      rows.change(prefix + name, (text) => {
        const next = choose(decode(text, url));
        if (next === undefined) return undefined;
        const encoded = JSON.stringify(next);
        if (Buffer.byteLength(encoded) > maxTextLength) throw new SignInTooLarge();
        return encoded;
      }),
    remove: (name) => rows.remove(prefix + name),
    reload: () => rows.reload(),
  };
}

/** `null` for what a newer version wrote. */
function parse(text: string): SignIn | null {
  try {
    return signIn.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}
