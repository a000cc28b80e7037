import type { Store } from "@holdfast/engine";
import type { Context } from "hono";
import type { Keyring } from "../ops/secrets/secrets-key.ts";
import { connectionOf, type HostEnv, type RouteDeclaration } from "../server/http/routing.ts";
import {
  answeredByHeader,
  createClaimReader,
  digestBody,
  forwardedHeader,
  principalOf,
} from "./forwarded-claims.ts";
import { forwardedPath } from "./forwarded-routes.ts";
import type { Hosts } from "./hosts.ts";

export interface AcceptDeps {
  readonly store: Pick<Store, "now">;
  readonly hosts: Pick<Hosts, "id">;
  readonly keyring: Keyring;
  readonly basePath: string;
}

/** `none`: the request comes from no other host. */
export type AcceptForwarded = (
  c: Context<HostEnv>,
  declared: Pick<RouteDeclaration, "forwarded"> | undefined,
) => Promise<"none" | "accepted" | "refused">;

/** Believes another host that has signed for whom a request is. */
export function createForwardedAccess(deps: AcceptDeps): AcceptForwarded {
  const readClaims = createClaimReader(deps.keyring);

  return async (c, declared) => {
    const header = c.req.header(forwardedHeader);
    if (header === undefined) return "none";
    if (declared?.forwarded !== true) return "refused";
    const to = await deps.hosts.id();
    const { method, url } = c.req;
    const path = forwardedPath(url, deps.basePath);
    const claims = await readClaims(header, { to, method, path }, () => deps.store.now());
    if (claims === null) return "refused";
    c.set("principal", principalOf(claims));
    c.set("forwardedFrom", { host: claims.from, body: claims.body });
    connectionOf(c).outgoing?.setHeader(answeredByHeader, to);
    return "accepted";
  };
}

/** Whether the body is the one that was signed. Called once it has been read within its limits. */
export async function isSignedBody(c: Context<HostEnv>): Promise<boolean> {
  const from = c.get("forwardedFrom");
  if (from === undefined) return true;
  return digestBody(new Uint8Array(await c.req.arrayBuffer())) === from.body;
}
