import { z } from "zod";

import { ownerId } from "../ids.ts";
import { defineRoute } from "./define.ts";
import { instant } from "./views.ts";

const secret = z.string().min(1).max(512);
const newPassword = z.string().min(10).max(512);

const signInView = z.looseObject({
  id: z.string(),
  createdAt: instant,
  expiresAt: instant,
  /** The browser's user agent. */
  about: z.string(),
  /** The sign-in that makes this request. */
  current: z.boolean(),
});
export type SignInView = z.infer<typeof signInView>;

/** Signing in and out. */
export const accessRoutes = {
  login: defineRoute({
    method: "POST",
    path: "/api/login",
    summary: "Exchange a sign-in link's code, the token or the password for a cookie",
    access: "open",
    body: z
      .strictObject({
        code: secret.optional(),
        token: secret.optional(),
        password: secret.optional(),
      })
      .refine((proof) => Object.keys(proof).length === 1, "expected one of them"),
    largestBody: 16 * 1024,
    example: { token: "the token that lies in the home" },
    answer: { media: "none", status: 204 },
    problems: ["unauthorized", "forbidden", "too_many_requests", "request_timeout"],
    repeat: "never",
  }),
  logout: defineRoute({
    method: "POST",
    path: "/api/logout",
    summary: "End the sign-in of this cookie, and the streams that hang on it",
    access: "principal",
    answer: { media: "none", status: 204 },
    problems: [],
    repeat: "safe",
  }),
  readPrincipal: defineRoute({
    method: "GET",
    path: "/api/principal",
    summary: "Who asks, and whether a password is set",
    access: "principal",
    answer: {
      media: "json",
      status: 200,
      schema: z.looseObject({
        principal: z.looseObject({ ownerId, by: z.enum(["token", "sign-in"]) }),
        password: z.boolean(),
      }),
    },
    problems: [],
    repeat: "safe",
  }),
  listSignIns: defineRoute({
    method: "GET",
    path: "/api/sign-ins",
    summary: "The sign-ins that are good, newest first",
    access: "principal",
    answer: {
      media: "json",
      status: 200,
      schema: z.looseObject({ signIns: z.array(signInView) }),
    },
    problems: [],
    repeat: "safe",
  }),
  revokeSignIn: defineRoute({
    method: "DELETE",
    path: "/api/sign-ins/:id",
    summary: "End a sign-in at once, and the streams that hang on it",
    access: "principal",
    params: z.strictObject({ id: z.string().regex(/^[\w-]{1,64}$/) }),
    answer: { media: "none", status: 204 },
    problems: ["sign_in_not_found"],
    repeat: "safe",
  }),
  setPassword: defineRoute({
    method: "PUT",
    path: "/api/password",
    summary: "Set the password; every other sign-in ends",
    access: "principal",
    /** `current` is required unless the sign-in is recent. */
    body: z.strictObject({ password: newPassword, current: secret.optional() }),
    example: { password: "correct horse battery" },
    answer: { media: "none", status: 204 },
    problems: ["forbidden", "too_many_requests"],
    repeat: "safe",
  }),
  removePassword: defineRoute({
    method: "DELETE",
    path: "/api/password",
    summary: "Sign in by link or token alone",
    access: "principal",
    answer: { media: "none", status: 204 },
    problems: ["forbidden"],
    repeat: "safe",
  }),
} as const;
