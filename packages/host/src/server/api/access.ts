import { minPasswordLength } from "../auth/password.ts";
import type { Route } from "../http/routing.ts";
import { answer, type Call, mountCall, problem } from "./endpoint.ts";
import type { ApiDeps } from "./deps.ts";

export function accessRoutes(deps: ApiDeps): Route[] {
  const { authenticator, passwords } = deps;

  async function readPrincipal({ principal: { ownerId, by } }: Call<"readPrincipal">) {
    return answer({ principal: { ownerId, by }, password: passwords?.isSet() ?? false });
  }

  async function listSignIns({ principal }: Call<"listSignIns">) {
    const signIns = authenticator
      .signIns()
      .map((signIn) => ({ ...signIn, current: signIn.id === principal.signInId }));
    return answer({ signIns });
  }

  async function revokeSignIn({ params }: Call<"revokeSignIn">) {
    return authenticator.revoke(params.id) === "revoked"
      ? answer(undefined)
      : problem("sign_in_not_found");
  }

  /** Only the token or a fresh sign-in may set the first password, never whoever comes first. */
  async function mayChange(
    principal: Call<"setPassword">["principal"],
    current: string | undefined,
  ): Promise<"yes" | "no" | "busy"> {
    if (principal.isFresh) return "yes";
    return current === undefined ? "no" : ((await passwords?.matches(current)) ?? "no");
  }

  async function setPassword({ principal, body }: Call<"setPassword">) {
    if (passwords === undefined) return problem("not_found");
    const permission = await mayChange(principal, body.current);
    if (permission === "busy") return problem("too_many_requests");
    if (permission === "no") return problem("forbidden", { detail: signInAgainDetail });
    await passwords.set(body.password);
    // Every other sign-in has to present the new password.
    authenticator.revokeOthers(principal.signInId);
    return answer(undefined);
  }

  async function removePassword({ principal }: Call<"removePassword">) {
    if (passwords === undefined) return problem("not_found");
    if ((await mayChange(principal, undefined)) !== "yes")
      return problem("forbidden", { detail: signInAgainDetail });
    passwords.remove();
    return answer(undefined);
  }

  return [
    mountCall(deps, "readPrincipal", readPrincipal),
    mountCall(deps, "listSignIns", listSignIns),
    mountCall(deps, "revokeSignIn", revokeSignIn),
    mountCall(deps, "setPassword", setPassword),
    mountCall(deps, "removePassword", removePassword),
  ];
}

const signInAgainDetail = `Sign in again, or send the current password. A password has at least ${minPasswordLength} characters.`;
