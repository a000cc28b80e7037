import { routes } from "@holdfast/protocol";
import type { Context } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import type { z } from "zod";
import { signInLifetimeMs } from "../auth/authenticator.ts";
import { signInCookieName, type AccessControl, type HostEnv, type Route } from "./routing.ts";
import { sendProblem } from "./problem.ts";

type Proof = z.infer<typeof routes.login.body>;
type SignInResult = { readonly given: string | undefined } | "busy";

export interface SignInCookieScope {
  readonly basePath: string;
  readonly origin: string | undefined;
}

export function signInRoutes(door: AccessControl, place: SignInCookieScope): Route[] {
  const { authenticator: doorkeeper, attempts } = door;
  const scope = { path: `${place.basePath}/` };
  const cookie = {
    ...scope,
    httpOnly: true,
    sameSite: "Strict",
    secure: place.origin?.startsWith("https:") ?? false,
    maxAge: signInLifetimeMs / 1000,
  } as const;

  /** `given` is the cookie's value. */
  async function signIn(proof: Proof, about: string): Promise<SignInResult> {
    const { code, token, password } = proof;
    if (password === undefined) {
      const shown = code === undefined ? { token: token ?? "" } : { code };
      return { given: doorkeeper.signIn(shown, about) };
    }
    const judged = (await door.passwords?.matches(password)) ?? "no";
    if (judged === "busy") return "busy";
    return { given: judged === "yes" ? doorkeeper.createSignIn(about) : undefined };
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
    const address = door.addressOf(c);
    const wait = attempts.take(address);
    if (wait > 0)
      return sendProblem(c, "too_many_requests", { retryAfter: Math.ceil(wait / 1000) });
    const signedIn = await signIn(proof.data, c.req.header("user-agent") ?? "");
    if (signedIn === "busy") return sendProblem(c, "too_many_requests");
    const { given } = signedIn;
    if (given === undefined) return sendProblem(c, "unauthorized", { detail: invalidProof });
    attempts.reset(address);
    setCookie(c, signInCookieName(c), given, cookie);
    return c.body(null, 204);
  }

  function logout(c: Context<HostEnv>): Response {
    const own = getCookie(c, signInCookieName(c));
    if (own !== undefined) doorkeeper.signOut(own);
    deleteCookie(c, signInCookieName(c), scope);
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
