import { minPasswordLength } from "../auth/password.ts";
import type { Route } from "../http/routing.ts";
import { type Call, mountCall } from "./endpoint.ts";
import type { ApiDeps } from "./deps.ts";
import { answer, problem } from "./reply.ts";

/** Who is signed in, and how to end that. */
export function accessRoutes(parts: ApiDeps): Route[] {
  const { authenticator: doorkeeper, passwords } = parts;

  async function readPrincipal({ principal: { ownerId, by } }: Call<"readPrincipal">) {
    return answer({ principal: { ownerId, by }, password: passwords?.isSet() ?? false });
  }

  async function listSignIns({ principal }: Call<"listSignIns">) {
    const signIns = doorkeeper
      .signIns()
      .map((each) => ({ ...each, current: each.id === principal.signInId }));
    return answer({ signIns });
  }

  async function revokeSignIn({ params }: Call<"revokeSignIn">) {
    return doorkeeper.revoke(params.id) === "revoked"
      ? answer(undefined)
      : problem("sign_in_not_found");
  }

  /** The first password is set by who has the token or has just signed in, never by whoever comes first. */
  async function mayChange(
    principal: Call<"setPassword">["principal"],
    current: string | undefined,
  ): Promise<"yes" | "no" | "busy"> {
    if (principal.isFresh) return "yes";
    return current === undefined ? "no" : ((await passwords?.matches(current)) ?? "no");
  }

  async function setPassword({ principal, body }: Call<"setPassword">) {
    if (passwords === undefined) return problem("not_found");
    const may = await mayChange(principal, body.current);
    if (may === "busy") return problem("too_many_requests");
    if (may === "no") return problem("forbidden", { detail: signInAgainDetail });
    await passwords.set(body.password);
    // Whoever had come in by the old one, or by other means, shows the new one.
    doorkeeper.revokeOthers(principal.signInId);
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
    mountCall(parts, "readPrincipal", readPrincipal),
    mountCall(parts, "listSignIns", listSignIns),
    mountCall(parts, "revokeSignIn", revokeSignIn),
    mountCall(parts, "setPassword", setPassword),
    mountCall(parts, "removePassword", removePassword),
  ];
}

const signInAgainDetail = `Sign in again, or send the current password. A password has at least ${minPasswordLength} characters.`;
