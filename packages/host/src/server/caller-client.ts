import { type Client, createClient } from "@holdfast/client";
import { pageKeyHeader } from "@holdfast/protocol";
import type { Context } from "hono";
import type { HostEnv } from "./http/routing.ts";
import type { ProtocolDeps } from "./protocols.ts";

const credentialHeaders = ["authorization", "cookie", "host", pageKeyHeader] as const;

/** The API as whoever sent a request may use it: with the same credentials, in this process. */
export function createCallerClient(
  { callApi, basePath = "" }: Pick<ProtocolDeps, "callApi" | "basePath">,
  c: Context<HostEnv>,
): Client {
  const credentials = Object.fromEntries(
    credentialHeaders.flatMap((name) => {
      const value = c.req.header(name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
  return createClient({
    baseUrl: `http://127.0.0.1${basePath}`,
    fetch(url, init) {
      const own = Object.fromEntries(new Headers(init.headers));
      return callApi(url, { ...init, headers: { ...credentials, ...own } });
    },
  });
}
