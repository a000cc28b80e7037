import type { Context } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { z } from "zod";
import { type Doorkeeper, signInLifetimeMs } from "../auth/index.ts";
import { cookieNameFor } from "./cookie.ts";
import { refuse } from "./problem.ts";
import type { HostEnv, Route } from "./route.ts";

const secret = z.string().min(1).max(512);
const loginBody = z.union([z.strictObject({ code: secret }), z.strictObject({ token: secret })]);

export interface SignInPlace {
  readonly basePath: string;
  readonly origin: string | undefined;
}

export function signInRoutes(doorkeeper: Doorkeeper, place: SignInPlace): Route[] {
  const scope = { path: `${place.basePath}/` };
  const cookie = {
    ...scope,
    httpOnly: true,
    sameSite: "Strict",
    secure: place.origin?.startsWith("https:") ?? false,
    maxAge: signInLifetimeMs / 1000,
  } as const;

  async function login(c: Context<HostEnv>): Promise<Response> {
    let body: unknown;
    try {
      body = await c.req.json();
    } catch {
      return refuse(c, "malformed_json");
    }
    const proof = loginBody.safeParse(body);
    if (!proof.success) {
      return refuse(c, "invalid_request", { detail: 'Send {"code": "…"} or {"token": "…"}.' });
    }
    const signIn = doorkeeper.signIn(proof.data);
    if (signIn === undefined)
      return refuse(c, "unauthorized", {
        detail: "The link or token is not valid, or not any more.",
      });
    setCookie(c, cookieNameFor(c), signIn, cookie);
    return c.body(null, 204);
  }

  function logout(c: Context<HostEnv>): Response {
    const signIn = getCookie(c, cookieNameFor(c));
    if (signIn !== undefined) doorkeeper.signOut(signIn);
    deleteCookie(c, cookieNameFor(c), scope);
    return c.body(null, 204);
  }

  return [
    { method: "POST", path: "/api/login", policy: "open", handle: login },
    { method: "POST", path: "/api/logout", policy: "principal", handle: logout },
    {
      method: "GET",
      path: "/api/principal",
      policy: "principal",
      handle: (c) =>
        c.json({ principal: c.get("principal") }, 200, { "cache-control": "no-store" }),
    },
  ];
}
