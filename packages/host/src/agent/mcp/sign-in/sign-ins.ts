import { randomBytes } from "node:crypto";
import type { AuthProvider } from "@modelcontextprotocol/client";
import { type Sdk, loadSdk } from "../connect.ts";
import { tokenSentFor } from "../http-transport.ts";
import { beginSignIn, readChallenge } from "./begin-sign-in.ts";
import { createOAuthFetch, type OAuthFetchOptions, SignInFailure } from "./oauth-fetch.ts";
import type { RefreshLeaseDeps } from "./refresh-lease.ts";
import { createTokenRefresh, storedTokens } from "./refresh-tokens.ts";
import { type SignIn, type SignInRows, type StoredTokens, SignInTooLarge } from "./sign-in-rows.ts";

export interface SignInsDeps extends RefreshLeaseDeps, OAuthFetchOptions {
  readonly rows: SignInRows;
  /** The address of this host that browsers reach, with the base path and without a slash at the end. */
  readonly address: () => string | null;
  /** Wall-clock time, in milliseconds. */
  readonly now?: () => number;
  readonly newSecret?: () => string;
}

/** Thrown when a server works only after a person has signed in. */
export class SignInNeeded extends Error {
  constructor(name: string) {
    super(`The MCP server ${name} needs a sign-in by a person.`);
  }
}

export type SignInState = "none" | "needed" | "done";

export type BegunResult =
  | { readonly status: "begun"; readonly link: string; readonly until: number }
  | { readonly status: "failed"; readonly message: string }
  /** A person has to register this host at the authorisation server. */
  | { readonly status: "client needed"; readonly redirectUri: string }
  | { readonly status: "no address" };

export type FinishedResult =
  | { readonly status: "signed in"; readonly name: string }
  /** Never begun, too old, or used before. */
  | { readonly status: "unknown" }
  | { readonly status: "failed"; readonly name: string; readonly message: string };

export interface GivenClient {
  readonly id: string;
  readonly secret?: string | undefined;
}

export interface ServerSignIn extends AuthProvider {
  /** The server refused a call, because what a person has allowed does not include it. */
  needScope(missing: NonNullable<SignIn["needed"]>): Promise<void>;
}

/** Signing in to MCP servers with OAuth 2.1. */
export interface SignIns {
  state(name: string, url: string): SignInState;
  /** For a server's transport: adds the token, and refreshes it when it is refused or has expired. */
  providerFor(name: string, url: string): ServerSignIn;
  begin(name: string, url: string, given?: GivenClient): Promise<BegunResult>;
  /** What the browser brings back from the authorisation server. */
  finish(answer: URLSearchParams, urlOf: (name: string) => string | null): Promise<FinishedResult>;
  /** Forgets everything. Returns whether there was anything. */
  signOut(name: string): Promise<boolean>;
  /** A link that begins a sign-in without the page, good for a day; `null` while this host has no address. */
  link(name: string, url: string): Promise<string | null>;
  /** The server that a link's ticket is for. */
  findTicket(id: string, urlOf: (name: string) => string | null): Promise<string | null>;
  /** For redaction. */
  secrets(): readonly string[];
  /** Calls back with the names of servers that got or lost their tokens, here or on another host. */
  onChange(listener: (name: string) => void): void;
  /** Looks for what other hosts have stored, in rows that were just read. */
  check(): void;
}

const signInTimeoutMs = 10 * 60_000;
const ticketMs = 24 * 60 * 60_000;
const maxPending = 4;
const maxClients = 4;
/** A token that is about to expire is not sent any more. */
const expiryMarginMs = 30_000;
export const callbackPath = "/oauth/mcp/callback";
export const clientDocumentPath = "/oauth/mcp/client.json";
export const ticketPath = "/oauth/mcp/sign-in";

export function createSignIns(deps: SignInsDeps): SignIns {
  const { rows, now = Date.now } = deps;
  const newSecret = deps.newSecret ?? (() => randomBytes(32).toString("base64url"));
  const listeners = new Set<(name: string) => void>();
  const urls = new Map<string, string>();
  let known = new Map<string, string>();
  let sdk: Promise<Sdk> | undefined;
  const library = (): Promise<Sdk> => (sdk ??= loadSdk());

  const tokensOf = (name: string, url: string): StoredTokens | null => rows.read(name, url).tokens;

  /** Tells listeners whose tokens are not what they were. */
  function announce(): void {
    const next = new Map([...urls].map(([name, url]) => [name, tokensOf(name, url)?.grant ?? ""]));
    const changed = [...next].filter(([name, token]) => (known.get(name) ?? "") !== token);
    known = next;
    for (const [name] of changed) for (const listener of listeners) listener(name);
  }

  function watch(name: string, url: string): void {
    if (urls.get(name) === url) return;
    urls.set(name, url);
    known.set(name, tokensOf(name, url)?.grant ?? "");
  }

  async function change(
    name: string,
    url: string,
    choose: (current: SignIn) => SignIn | undefined,
  ): Promise<void> {
    await rows.change(name, url, choose);
    announce();
  }

  const refreshOnce = createTokenRefresh({ ...deps, now, library, change, tokensOf });

  async function needSignIn(
    name: string,
    url: string,
    { response, sent }: { readonly response: Response; readonly sent: string | undefined },
  ): Promise<never> {
    const needed = readChallenge(await library(), response);
    // Nothing to write: it is known, or somebody has signed in meanwhile.
    const isSettled = ({ tokens, needed: stored }: SignIn): boolean =>
      tokens === null
        ? JSON.stringify(stored) === JSON.stringify(needed)
        : tokens.access_token !== sent;
    if (!isSettled(rows.read(name, url)))
      await change(name, url, (found) =>
        isSettled(found) ? undefined : { ...found, needed, tokens: null },
      );
    throw new SignInNeeded(name);
  }

  function messageOf(error: unknown): string {
    const text = error instanceof Error ? error.message : String(error);
    return text.slice(0, 500);
  }

  return {
    state(name, url) {
      const { tokens, needed } = rows.read(name, url);
      if (needed !== null) return "needed";
      return tokens === null ? "none" : "done";
    },
    providerFor(name, url) {
      watch(name, url);
      return {
        async token() {
          let tokens = tokensOf(name, url);
          const isOver =
            tokens?.expiresAt !== undefined && tokens.expiresAt - expiryMarginMs < now();
          if (tokens !== null && isOver && tokens.refresh_token !== undefined)
            tokens = await refreshOnce(name, url, tokens.access_token);
          return tokens?.access_token;
        },
        async onUnauthorized({ response }) {
          // Not the token that was given out last: another request may have got a newer one since.
          const sent = tokenSentFor(response);
          await rows.reload();
          const tokens = tokensOf(name, url);
          if (tokens !== null && tokens.access_token !== sent) return;
          if (tokens?.refresh_token !== undefined) {
            const refreshed = await refreshOnce(name, url, tokens.access_token);
            if (refreshed !== null) return;
          }
          await needSignIn(name, url, { response, sent });
        },
        async needScope(missing) {
          await rows.reload();
          // Known, or somebody has allowed it meanwhile.
          const isSettled = ({ tokens, needed }: SignIn): boolean =>
            JSON.stringify(needed) === JSON.stringify(missing) ||
            allows(tokens?.scope, missing.scope);
          if (isSettled(rows.read(name, url))) return;
          await change(name, url, (found) =>
            isSettled(found) ? undefined : { ...found, needed: missing },
          );
        },
      };
    },
    async begin(name, url, given) {
      const address = deps.address();
      if (address === null) return { status: "no address" };
      watch(name, url);
      const redirectUri = `${address}${callbackPath}`;
      try {
        await rows.reload();
        const begun = await beginSignIn({
          sdk: await library(),
          serverUrl: url,
          current: rows.read(name, url),
          redirectUri,
          clientMetadataUrl: address.startsWith("https:")
            ? `${address}${clientDocumentPath}`
            : undefined,
          given,
          fetchFn: createOAuthFetch(url, deps),
          newState: newSecret,
        });
        const until = now() + signInTimeoutMs;
        const { client } = begun.pending;
        await change(name, url, (found) => ({
          ...found,
          clients: [
            client,
            ...found.clients.filter(({ issuer }) => issuer !== client.issuer),
          ].slice(0, maxClients),
          pending: [
            { ...begun.pending, until },
            ...found.pending.filter((each) => each.until > now()),
          ].slice(0, maxPending),
        }));
        return { status: "begun", link: begun.link, until };
      } catch (error) {
        const message = messageOf(error);
        // The library has no code for it.
        if (/does not support dynamic client registration/.test(message))
          return { status: "client needed", redirectUri };
        if (isStoreTrouble(error)) throw error;
        return { status: "failed", message };
      }
    },
    async finish(answer, urlOf) {
      const state = answer.get("state") ?? "";
      await rows.reload();
      for (const name of rows.names()) {
        const url = urlOf(name);
        const found = url === null ? [] : rows.read(name, url).pending;
        if (url === null || !found.some((each) => each.state === state)) continue;
        const taken = await take(name, url, state);
        if (taken === undefined || taken.until <= now()) return { status: "unknown" };
        const { metadata, client, verifier: codeVerifier, resource } = taken;
        try {
          const { validateAuthorizationResponseIssuer, exchangeAuthorization } = await library();
          const iss = answer.get("iss") ?? undefined;
          // Before anything else is believed: another server may be answering.
          validateAuthorizationResponseIssuer({
            iss,
            expectedIssuer: metadata.issuer,
            issParameterSupported: metadata.authorization_response_iss_parameter_supported === true,
          });
          const code = answer.get("code");
          if (code === null)
            throw new SignInFailure(
              answer.get("error") === "access_denied"
                ? "It was not allowed there."
                : `The authorisation server answered: ${answer.get("error") ?? "nothing"}.`,
            );
          const granted = await exchangeAuthorization(metadata.issuer, {
            metadata,
            clientInformation: client,
            authorizationCode: code,
            ...(iss !== undefined && { iss }),
            codeVerifier,
            redirectUri: client.redirectUri,
            ...(resource !== undefined && { resource: new URL(resource) }),
            fetchFn: createOAuthFetch(url, deps),
          });
          const grant = newSecret();
          const about = { grant, metadata, client, ...(resource !== undefined && { resource }) };
          const { scope = taken.scope } = granted;
          const answered = { ...granted, ...(scope !== undefined && { scope }) };
          const tokens = storedTokens(about, answered, now());
          await change(name, url, (current) => ({
            ...current,
            tokens,
            needed: null,
            ticket: null,
          }));
          return { status: "signed in", name };
        } catch (error) {
          if (isStoreTrouble(error)) throw error;
          return { status: "failed", name, message: messageOf(error) };
        }
      }
      return { status: "unknown" };
    },
    async signOut(name) {
      const removed = await rows.remove(name);
      announce();
      return removed;
    },
    async link(name, url) {
      const address = deps.address();
      if (address === null) return null;
      const isGood = ({ ticket }: SignIn): boolean =>
        ticket !== null && ticket.until - ticketMs / 2 > now();
      if (!isGood(rows.read(name, url)))
        await change(name, url, (found) =>
          isGood(found)
            ? undefined
            : { ...found, ticket: { id: newSecret(), until: now() + ticketMs } },
        );
      const { ticket } = rows.read(name, url);
      return ticket === null ? null : `${address}${ticketPath}/${ticket.id}`;
    },
    async findTicket(id, urlOf) {
      await rows.reload();
      for (const name of rows.names()) {
        const url = urlOf(name);
        const ticket = url === null ? null : rows.read(name, url).ticket;
        if (ticket?.id === id && ticket.until > now()) return name;
      }
      return null;
    },
    secrets: () =>
      [...urls].flatMap(([name, url]) => {
        const { tokens, clients, pending, ticket } = rows.read(name, url);
        return [
          tokens?.access_token,
          tokens?.refresh_token,
          ticket?.id,
          ...clients.map((each) => each.client_secret),
          ...pending.flatMap((each) => [each.state, each.verifier]),
        ].filter((text) => text !== undefined);
      }),
    onChange: (listener) => void listeners.add(listener),
    check: announce,
  };

  /** Each state is good once, whoever asks first. */
  async function take(name: string, url: string, state: string) {
    let taken: SignIn["pending"][number] | undefined;
    await rows.change(name, url, (found) => {
      taken = found.pending.find((each) => each.state === state);
      return taken === undefined
        ? undefined
        : { ...found, pending: found.pending.filter((each) => each.state !== state) };
    });
    return taken;
  }
}

function allows(granted: string | undefined, wanted: string | undefined): boolean {
  if (granted === undefined || wanted === undefined) return false;
  const scopes = new Set(granted.split(" "));
  return wanted.split(" ").every((scope) => scopes.has(scope));
}

function isStoreTrouble(error: unknown): boolean {
  return (
    error instanceof Error &&
    (error.name === "StoreFailure" || error.name === "SecretsLocked") &&
    !(error instanceof SignInTooLarge)
  );
}
