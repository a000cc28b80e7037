import { StoreFailure } from "@holdfast/engine";
import { routes } from "@holdfast/protocol";
import type { Context } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import type { z } from "zod";
import { signInLifetimeMs, type SigningIn } from "../auth/authenticator.ts";
import { signInCookieName, type AccessControl, type HostEnv, type Route } from "./routing.ts";
import { sendProblem } from "./problem.ts";

type Proof = Omit<z.infer<typeof routes.login.body>, "pageKey">;
type SignInResult = { readonly cookieValue: string | undefined } | "busy";

export interface SignInCookieScope {
  readonly basePath: string;
  readonly origin: string | undefined;
}

export function signInRoutes(access: AccessControl, scope: SignInCookieScope): Route[] {
  const { authenticator, signInAttempts: attempts } = access;
  const cookiePath = { path: `${scope.basePath}/` };
  const cookie = {
    ...cookiePath,
    httpOnly: true,
    sameSite: "Strict",
    secure: scope.origin?.startsWith("https:") ?? false,
    maxAge: signInLifetimeMs / 1000,
  } as const;

  async function signIn(proof: Proof, client: SigningIn): Promise<SignInResult> {
    const { code, token, password } = proof;
    if (password === undefined) {
      const secret = code === undefined ? { token: token ?? "" } : { code };
      return { cookieValue: await authenticator.signIn(secret, client) };
    }
    const verdict = (await access.passwords?.matches(password)) ?? "no";
    if (verdict === "busy") return "busy";
    return {
      cookieValue: verdict === "yes" ? await authenticator.createSignIn(client) : undefined,
    };
  }

  /** Sign-ins from before there were page keys are bound to the first page that shows its own. */
  async function bindPage(c: Context<HostEnv>, pageKey: string): Promise<Response> {
    const secret = getCookie(c, signInCookieName(c));
    const isBound = secret !== undefined && (await authenticator.bindPage(secret, pageKey));
    return isBound ? c.body(null, 204) : sendProblem(c, "unauthorized", { detail: invalidProof });
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
    const { pageKey, ...given } = proof.data;
    if (pageKey !== undefined && Object.keys(given).length === 0) return bindPage(c, pageKey);
    const address = access.addressOf(c);
    const wait = await attempts.take(address);
    if (wait > 0)
      return sendProblem(c, "too_many_requests", { retryAfter: Math.ceil(wait / 1000) });
    const page = pageKey === undefined ? pageOf(c) : { key: pageKey };
    const about = c.req.header("user-agent") ?? "";
    const signedIn = await signIn(given, { about, page });
    if (signedIn === "busy") return sendProblem(c, "too_many_requests");
    const { cookieValue } = signedIn;
    if (cookieValue === undefined) return sendProblem(c, "unauthorized", { detail: invalidProof });
    await attempts.reset(address);
    setCookie(c, signInCookieName(c), cookieValue, cookie);
    return c.body(null, 204);
  }

  async function logout(c: Context<HostEnv>): Promise<Response> {
    const cookieSecret = getCookie(c, signInCookieName(c));
    if (cookieSecret !== undefined) await authenticator.signOut(cookieSecret);
    deleteCookie(c, signInCookieName(c), cookiePath);
    return c.body(null, 204);
  }

  return [
    {
      method: "POST",
      path: routes.login.path,
      policy: "open",
      largestBody: routes.login.largestBody,
      handle: (c) => login(c).catch((error: unknown) => storeProblem(c, error)),
    },
    {
      method: "POST",
      path: routes.logout.path,
      policy: "principal",
      handle: (c) => logout(c).catch((error: unknown) => storeProblem(c, error)),
    },
  ];
}

/** A browser says where a request comes from, and shares the cookie between ports. A program does neither. */
function pageOf(c: Context<HostEnv>): "none" | "later" {
  const isBrowser = ["origin", "sec-fetch-site"].some((name) => c.req.header(name) !== undefined);
  return isBrowser ? "later" : "none";
}

function storeProblem(c: Context<HostEnv>, error: unknown): Response {
  if (!(error instanceof StoreFailure)) throw error;
  return sendProblem(c, "store_unavailable");
}

const oneProof = 'Send one of {"code": "…"}, {"token": "…"} or {"password": "…"}.';
const invalidProof = "The link, token or password is not valid, or not any more.";
