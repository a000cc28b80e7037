import { routes } from "@holdfast/protocol";
import type { Context } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import type { z } from "zod";
import { signInLifetimeMs } from "../auth/authenticator.ts";
import { signInCookieName, type AccessControl, type HostEnv, type Route } from "./routing.ts";
import { sendProblem } from "./problem.ts";

type Proof = z.infer<typeof routes.login.body>;
type SignInResult = { readonly cookieValue: string | undefined } | "busy";

export interface SignInCookieScope {
  readonly basePath: string;
  readonly origin: string | undefined;
}

export function signInRoutes(access: AccessControl, scope: SignInCookieScope): Route[] {
  const { authenticator, attempts } = access;
  const cookiePath = { path: `${scope.basePath}/` };
  const cookie = {
    ...cookiePath,
    httpOnly: true,
    sameSite: "Strict",
    secure: scope.origin?.startsWith("https:") ?? false,
    maxAge: signInLifetimeMs / 1000,
  } as const;

  /** `given` is the cookie's value. */
  async function signIn(proof: Proof, about: string): Promise<SignInResult> {
    const { code, token, password } = proof;
    if (password === undefined) {
      const secret = code === undefined ? { token: token ?? "" } : { code };
      return { cookieValue: authenticator.signIn(secret, about) };
    }
    const verdict = (await access.passwords?.matches(password)) ?? "no";
    if (verdict === "busy") return "busy";
    return { cookieValue: verdict === "yes" ? authenticator.createSignIn(about) : undefined };
  }

  async function login(c: Context<HostEnv>): Promise<Response> {
    let body: unknown;
    try {
      body = await c.req.json();
    } catch {
      return sendProblem(c, "malformed_json");
    }
    const proof = routes.login.body.safeParse(body);
    if (!proof.success) return sendProblem(c, "invalid_request", { detail: oneProof });
    const address = access.addressOf(c);
    const wait = attempts.take(address);
    if (wait > 0)
      return sendProblem(c, "too_many_requests", { retryAfter: Math.ceil(wait / 1000) });
    const signedIn = await signIn(proof.data, c.req.header("user-agent") ?? "");
    if (signedIn === "busy") return sendProblem(c, "too_many_requests");
    const { cookieValue: given } = signedIn;
    if (given === undefined) return sendProblem(c, "unauthorized", { detail: invalidProof });
    attempts.reset(address);
    setCookie(c, signInCookieName(c), given, cookie);
    return c.body(null, 204);
  }

  function logout(c: Context<HostEnv>): Response {
    const cookieSecret = getCookie(c, signInCookieName(c));
    if (cookieSecret !== undefined) authenticator.signOut(cookieSecret);
    deleteCookie(c, signInCookieName(c), cookiePath);
    return c.body(null, 204);
  }

  return [
    {
      method: "POST",
      path: routes.login.path,
      policy: "open",
      largestBody: routes.login.largestBody,
      handle: login,
    },
    { method: "POST", path: routes.logout.path, policy: "principal", handle: logout },
  ];
}

const oneProof = 'Send one of {"code": "…"}, {"token": "…"} or {"password": "…"}.';
const invalidProof = "The link, token or password is not valid, or not any more.";
