import type { OAuthTokens } from "@modelcontextprotocol/client";
import type { Sdk } from "../connect.ts";
import { createOAuthFetch, type OAuthFetchOptions } from "./oauth-fetch.ts";
import { type RefreshLeaseDeps, underRefreshLease } from "./refresh-lease.ts";
import type { SignIn, SignInRows, StoredTokens } from "./sign-in-rows.ts";

interface TokenRefreshDeps extends RefreshLeaseDeps, OAuthFetchOptions {
  readonly rows: Pick<SignInRows, "reload">;
  readonly now: () => number;
  readonly library: () => Promise<Sdk>;
  readonly tokensOf: (name: string, url: string) => StoredTokens | null;
  readonly change: (
    name: string,
    url: string,
    choose: (current: SignIn) => SignIn | undefined,
  ) => Promise<void>;
}

/** How long a call waits for another process that refreshes. */
const patienceMs = 15_000;

export function storedTokens(
  about: Pick<StoredTokens, "grant" | "metadata" | "client" | "resource">,
  granted: OAuthTokens,
  now: number,
): StoredTokens {
  return {
    grant: about.grant,
    metadata: about.metadata,
    client: about.client,
    ...(about.resource !== undefined && { resource: about.resource }),
    access_token: granted.access_token,
    ...(granted.refresh_token !== undefined && { refresh_token: granted.refresh_token }),
    ...(granted.scope !== undefined && { scope: granted.scope }),
    ...(granted.expires_in !== undefined && { expiresAt: now + granted.expires_in * 1_000 }),
  };
}

/**
 * Replaces an access token that is refused or over. Resolves to the current tokens, or to `null` if a person has to
 * sign in again. Calls of this process share one refresh.
 */
export function createTokenRefresh(
  deps: TokenRefreshDeps,
): (name: string, url: string, refused: string) => Promise<StoredTokens | null> {
  const { rows, tokensOf, change } = deps;
  const running = new Map<string, Promise<StoredTokens | null>>();

  async function current(name: string, url: string): Promise<StoredTokens | null> {
    await rows.reload();
    return tokensOf(name, url);
  }

  /** Spends a refresh token once: under a lease, and only if it is still the current one there. */
  async function refresh(name: string, url: string, refused: string): Promise<StoredTokens | null> {
    const isSettled = async () => (await current(name, url))?.access_token !== refused;
    const ended = await underRefreshLease(deps, name, { patienceMs, isSettled }, async () => {
      const old = await current(name, url);
      if (old?.access_token === refused && old.refresh_token !== undefined)
        await spend(name, url, old, old.refresh_token);
    });
    if (ended.status === "busy")
      throw new Error("Another process has been refreshing the sign-in for too long.");
    const after = tokensOf(name, url);
    return after?.access_token === refused ? null : after;
  }

  async function spend(
    name: string,
    url: string,
    old: StoredTokens,
    refreshToken: string,
  ): Promise<void> {
    const { refreshAuthorization, OAuthError } = await deps.library();
    const { issuer } = old.metadata;
    const isStill = (found: SignIn): boolean => found.tokens?.refresh_token === refreshToken;
    try {
      // Without a new refresh token in the answer, the library keeps the old one.
      const granted = await refreshAuthorization(issuer, {
        metadata: old.metadata,
        clientInformation: old.client,
        refreshToken,
        ...(old.resource !== undefined && { resource: new URL(old.resource) }),
        fetchFn: createOAuthFetch(url, deps),
      });
      const scope = granted.scope ?? old.scope;
      const answer = { ...granted, ...(scope !== undefined && { scope }) };
      const tokens = storedTokens(old, answer, deps.now());
      await change(name, url, (found) => (isStill(found) ? { ...found, tokens } : undefined));
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error;
      const code: string = error.code;
      const isClientGone = code === "invalid_client" || code === "unauthorized_client";
      if (code !== "invalid_grant" && !isClientGone) throw error;
      await change(name, url, (found) =>
        isStill(found)
          ? {
              ...found,
              tokens: null,
              clients: found.clients.filter((each) => !isClientGone || each.issuer !== issuer),
            }
          : undefined,
      );
    }
  }

  return (name, url, refused) => {
    const key = JSON.stringify([name, url, refused]);
    const started = running.get(key);
    if (started !== undefined) return started;
    const refreshed = refresh(name, url, refused).finally(() => running.delete(key));
    running.set(key, refreshed);
    return refreshed;
  };
}
