import { z } from "zod";

import { ownerId } from "../ids.ts";
import { defineRoute } from "./define.ts";
import { instant } from "./views.ts";

const secret = z.string().min(1).max(512);
const pageKey = z.string().regex(/^[\w-]{32,100}$/, "expected 32 to 100 letters, digits, - and _");
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

const apiKeyView = z.looseObject({
  id: z.string(),
  name: z.string(),
  /** The rights profile that it names. */
  profile: z.string(),
  createdAt: instant,
  /** About to the minute. */
  lastUsedAt: instant.nullable(),
  revokedAt: instant.nullable(),
});
const plainName = z.string().regex(/^[\w][\w .-]{0,63}$/, "expected a name of at most 64 letters");

/** Signing in and out, and keys of programs. */
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
        /**
         * Chosen by the page, which sends it with each request from then on. Alone it binds a sign-in that has none yet
         * to this page.
         */
        pageKey: pageKey.optional(),
      })
      .refine(
        ({ pageKey: key, ...proof }) =>
          Object.keys(proof).length === 1 || (Object.keys(proof).length === 0 && key !== undefined),
        "expected one of them",
      ),
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
        principal: z.looseObject({ ownerId, by: z.enum(["token", "sign-in", "api-key"]) }),
        password: z.boolean(),
        /** Opens blobs by their links, for a page that has sent its page key. */
        linkKey: z.string().optional(),
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
  createSignInCode: defineRoute({
    method: "POST",
    path: "/api/sign-in-codes",
    summary: "Make a code that signs one browser in, once",
    access: "principal",
    answer: {
      media: "json",
      status: 201,
      /** The page's address with `#signin=` and the code is a sign-in link. */
      schema: z.looseObject({ code: z.string(), expiresAt: instant }),
    },
    problems: ["forbidden"],
    // Without an Idempotency-Key: a kept answer would contain the code.
    repeat: "never",
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
  listKeys: defineRoute({
    method: "GET",
    path: "/api/keys",
    summary: "The API keys, without their secrets",
    access: "principal",
    answer: { media: "json", status: 200, schema: z.looseObject({ keys: z.array(apiKeyView) }) },
    problems: [],
    repeat: "safe",
  }),
  createKey: defineRoute({
    method: "POST",
    path: "/api/keys",
    summary: "Make an API key; its secret is shown once",
    access: "principal",
    body: z.strictObject({ name: plainName, profile: plainName.optional() }),
    example: { name: "backup-job" },
    answer: {
      media: "json",
      status: 201,
      schema: z.looseObject({ key: apiKeyView, secret: z.string() }),
    },
    problems: ["forbidden", "api_key_exists", "too_many_api_keys", "rights_not_found"],
    // Without an Idempotency-Key: a kept answer would contain the secret.
    repeat: "never",
  }),
  revokeKey: defineRoute({
    method: "DELETE",
    path: "/api/keys/:id",
    summary: "Revoke an API key and end its streams at once",
    access: "principal",
    params: z.strictObject({ id: z.string().regex(/^[\w-]{1,64}$/) }),
    answer: { media: "none", status: 204 },
    problems: ["api_key_not_found"],
    repeat: "safe",
  }),
} as const;
