import { createSharedThrottle } from "../auth/shared-throttle.ts";
import { minPasswordLength } from "../auth/password.ts";
import { openRightsStore } from "../../rights/rights-store.ts";
import type { Route } from "../http/routing.ts";
import { answer, type Call, mountCall, problem } from "./endpoint.ts";
import type { ApiDeps } from "./deps.ts";

export function accessRoutes(deps: ApiDeps): Route[] {
  const { authenticator, passwords, apiKeys } = deps;
  const rights = openRightsStore(deps.log.store.register);
  /** Counted by sign-in: whoever has one may be elsewhere with each guess. */
  const attempts = createSharedThrottle(deps.log.store.register);

  async function readPrincipal({ principal: { ownerId, by, linkKey } }: Call<"readPrincipal">) {
    const password = passwords?.isSet() ?? false;
    return answer({ principal: { ownerId, by }, password, ...(linkKey && { linkKey }) });
  }

  async function listSignIns({ principal }: Call<"listSignIns">) {
    const all = await authenticator.signIns();
    const signIns = all.map((signIn) => ({ ...signIn, current: signIn.id === principal.signInId }));
    return answer({ signIns });
  }

  /** A sign-in that is made with the code lasts as long as any, so an old one must not suffice. */
  async function createSignInCode({ principal }: Call<"createSignInCode">) {
    if (!principal.isFresh) return problem("forbidden", { detail: signInAgainDetail });
    return answer({ ...(await authenticator.issueSignInCode()) });
  }

  async function revokeSignIn({ params }: Call<"revokeSignIn">) {
    return (await authenticator.revoke(params.id)) === "revoked"
      ? answer(undefined)
      : problem("sign_in_not_found");
  }

  /** Only the token or a fresh sign-in may set the first password, never whoever comes first. */
  async function mayChange(
    principal: Call<"setPassword">["principal"],
    current: string | undefined,
  ): Promise<"yes" | "no" | { readonly retryAfter: number }> {
    if (principal.isFresh) return "yes";
    if (current === undefined) return "no";
    const attempt = principal.signInId ?? principal.by;
    const wait = await attempts.take(attempt);
    if (wait > 0) return { retryAfter: Math.ceil(wait / 1000) };
    const verdict = (await passwords?.matches(current)) ?? "no";
    if (verdict === "busy") return { retryAfter: 1 };
    if (verdict === "yes") await attempts.reset(attempt);
    return verdict;
  }

  async function setPassword({ principal, body }: Call<"setPassword">) {
    if (passwords === undefined) return problem("not_found");
    const permission = await mayChange(principal, body.current);
    if (typeof permission === "object") return problem("too_many_requests", permission);
    if (permission === "no") return problem("forbidden", { detail: signInAgainDetail });
    await passwords.set(body.password);
    // Every other sign-in has to present the new password.
    await authenticator.revokeOthers(principal.signInId);
    return answer(undefined);
  }

  async function removePassword({ principal }: Call<"removePassword">) {
    if (passwords === undefined) return problem("not_found");
    if ((await mayChange(principal, undefined)) !== "yes")
      return problem("forbidden", { detail: signInAgainDetail });
    await passwords.remove();
    return answer(undefined);
  }

  async function listKeys() {
    return answer({ keys: [...(await apiKeys.list())] });
  }

  /** A key outlives the sign-in that made it, so an old one must not suffice. */
  async function createKey({ owner, principal, body }: Call<"createKey">) {
    const { name, profile = defaultProfile } = body;
    if (!principal.isFresh) return problem("forbidden", { detail: signInAgainDetail });
    if ((await rights.profile(owner, profile)) === null) return problem("rights_not_found");
    const created = await apiKeys.create(name, profile);
    if (created === "name_taken") return problem("api_key_exists");
    if (created === "too_many") return problem("too_many_api_keys");
    return answer(created);
  }

  async function revokeKey({ params }: Call<"revokeKey">) {
    const result = await apiKeys.revoke(params.id);
    return result === "revoked" ? answer(undefined) : problem("api_key_not_found");
  }

  return [
    mountCall(deps, "listKeys", listKeys),
    mountCall(deps, "createKey", createKey),
    mountCall(deps, "revokeKey", revokeKey),
    mountCall(deps, "readPrincipal", readPrincipal),
    mountCall(deps, "listSignIns", listSignIns),
    mountCall(deps, "createSignInCode", createSignInCode),
    mountCall(deps, "revokeSignIn", revokeSignIn),
    mountCall(deps, "setPassword", setPassword),
    mountCall(deps, "removePassword", removePassword),
  ];
}

/** Its own sessions, and no approvals. */
const defaultProfile = "program";

const signInAgainDetail = `Sign in again, or send the current password. A password has at least ${minPasswordLength} characters.`;
