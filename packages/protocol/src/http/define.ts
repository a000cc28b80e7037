import type { z } from "zod";

import type { JsonObject } from "../parts.ts";
import type { ProblemCode } from "../problems.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

export type Answer =
  | { readonly media: "json"; readonly status: 200 | 201 | 202; readonly schema: z.ZodType }
  | { readonly media: "none"; readonly status: 204 }
  /** Server-sent events. */
  | { readonly media: "events"; readonly status: 200 }
  | { readonly media: "bytes" | "text"; readonly status: 200 };

/** `signed`: the request is signed with the secret of what its path names. */
export type Access = "open" | "principal" | "signed";

/** One entry of the contract. It drives the client, the host's router and the OpenAPI document. */
export interface Route {
  readonly method: Method;
  /** Parameters are written `:name`, each a key of `params`. */
  readonly path: `/${string}`;
  readonly summary: string;
  /** Who may call it. A route without a policy does not type-check. */
  readonly access: Access;
  readonly params?: z.ZodType;
  readonly query?: z.ZodType;
  /** The relevant ones, in lower case; others pass. */
  readonly headers?: z.ZodType;
  /** A schema for JSON; `bytes` for anything. */
  readonly body?: z.ZodType | "bytes";
  /** In bytes; by default one megabyte. */
  readonly largestBody?: number;
  /** Images and downloads lead to it, which send no headers: it accepts a sign-in's link key as `key`. */
  readonly linked?: true;
  /** A valid body, for routes where an empty one is not. */
  readonly example?: JsonObject;
  readonly answer: Answer;
  /** In addition to those every route may return: see `problemsOf`. */
  readonly problems: readonly ProblemCode[];
  /**
   * What sending it twice does. `safe`: the same as once. `key`: the same as once under one `Idempotency-Key`. `never`:
   * unknown, so a client does not repeat it by itself.
   */
  readonly repeat: "safe" | "key" | "never";
}

/** Proves that a request with a sign-in's cookie comes from a page of this origin: cookies ignore ports. */
export const pageKeyHeader = "x-holdfast-page-key";

/** Keeps the literal types, so that inputs and answers can be inferred. */
export function defineRoute<const R extends Route>(route: R): R {
  return route;
}

/** Every problem that a route may return. */
export function problemsOf(route: Route): readonly ProblemCode[] {
  const codes = new Set<ProblemCode>(route.problems);
  const add = (...more: ProblemCode[]) => more.forEach((code) => codes.add(code));
  if (route.access === "principal") add("unauthorized", "forbidden", "too_many_requests");
  if (route.access !== "open") add("internal", "store_unavailable", "shutting_down");
  if (route.params ?? route.query ?? route.headers ?? route.body) add("invalid_request");
  if (route.body !== undefined) add("payload_too_large", "unsupported_media_type");
  if (route.body !== undefined && route.body !== "bytes") add("malformed_json");
  if (route.method !== "GET" && route.access !== "open")
    add("store_full", "store_unwritable", "store_busy", "store_unknown");
  if (route.repeat === "key") add("idempotency_conflict");
  return [...codes].toSorted();
}

/** A field may be omitted if everything in it may. */
type Field<K extends string, T> =
  Record<string, never> extends T ? { readonly [P in K]?: T } : { readonly [P in K]: T };
type Taken<R extends Route, K extends "params" | "query" | "headers"> =
  R[K] extends z.ZodType<infer T> ? Field<K, T> : unknown;
type Body<R extends Route> = R["body"] extends "bytes"
  ? { readonly body: Uint8Array<ArrayBuffer> | Blob; readonly mediaType: string }
  : R["body"] extends z.ZodType
    ? Field<"body", z.input<R["body"]>>
    : unknown;

/** What a caller passes: values, not their text. */
export type RouteInput<R extends Route> = Taken<R, "params"> &
  Taken<R, "query"> &
  Taken<R, "headers"> &
  Body<R>;

/** What a caller gets on success. */
export type RouteOutput<R extends Route> = R["answer"] extends { schema: z.ZodType<infer T> }
  ? T
  : R["answer"]["media"] extends "bytes"
    ? Uint8Array
    : R["answer"]["media"] extends "text"
      ? string
      : undefined;
