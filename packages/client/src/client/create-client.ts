import {
  type RouteInput,
  type RouteName,
  type RouteOutput,
  type Routes,
  routes,
  type Seq,
  type SessionId,
  type Cursors,
} from "@holdfast/protocol";
import {
  callRoute,
  type CallOptions,
  type ClientOptions,
  createTransport,
  type RouteArguments,
  type Result,
} from "./call-route.ts";
import {
  type StreamOptions,
  type FollowItem,
  followSession,
  type WatchItem,
  watchSessions,
} from "./follow.ts";
import { createStreamOpener } from "./event-stream.ts";
import { type OpenItem, type OpenOptions, openSession } from "./open-session.ts";

export type { CallOptions } from "./call-route.ts";
export type { ConnectionState, StreamEnded, StreamOptions } from "./follow.ts";
export type { FollowItem, WatchItem } from "./follow.ts";
export type { ClientOptions, Fetch } from "./call-route.ts";
export type { OpenItem, OpenOptions } from "./open-session.ts";
export type { ApiError, Result } from "./call-route.ts";

type CallableRouteName = {
  [N in RouteName]: Routes[N]["answer"]["media"] extends "events" ? never : N;
}[RouteName];

type CallArguments<Input> =
  Record<string, never> extends Input
    ? [input?: Input, options?: CallOptions]
    : [input: Input, options?: CallOptions];

/** Every route of the contract as a function that resolves to a value, whatever happens. */
type RouteCalls = {
  readonly [N in CallableRouteName]: (
    ...args: CallArguments<RouteInput<Routes[N]>>
  ) => Promise<Result<RouteOutput<Routes[N]>>>;
};

export interface Client extends RouteCalls {
  /** Reads a session and keeps its state current, through lost connections and re-reads. */
  open(id: SessionId, options?: OpenOptions): AsyncIterable<OpenItem>;
  /** Follows one session by cursor; it reconnects by itself and ends on `resync` or when the host refuses. */
  follow(id: SessionId, after: Seq, options?: StreamOptions): AsyncIterable<FollowItem>;
  /** Follows several sessions and the list on one connection. */
  watch(cursors: Cursors, options?: StreamOptions): AsyncIterable<WatchItem>;
}

export function createClient(clientOptions: ClientOptions = {}): Client {
  const transport = createTransport(clientOptions);
  const openStream = clientOptions.openStream ?? createStreamOpener(transport);
  const streamTransport = { ...transport, openStream };
  const calls = Object.entries(routes).map(([name, route]) => [
    name,
    (input: RouteArguments = {}, options: CallOptions = {}) =>
      callRoute(transport, route, input, options),
  ]);
  const client: Client = {
    // The functions are built from the same table that their types are inferred from.
    ...(Object.fromEntries(calls) as RouteCalls),
    open: (id, options = {}) => openSession(transport, client, id, options),
    follow: (id, after, options = {}) => followSession(streamTransport, id, after, options),
    watch: (cursors, options = {}) => watchSessions(streamTransport, cursors, options),
  };
  return client;
}
