import { readFileSync } from "node:fs";
import { runInThisContext } from "node:vm";
import { gunzipSync } from "node:zlib";

import type { Client, ClientOptions, Fetch } from "@holdfast/client";

/** What the page of 0.1.0 used for its event streams. */
export interface OldPage {
  readonly createClient: (options: ClientOptions) => Client;
  /** Shares streams with other tabs, as the old page did. */
  readonly openSharedFetch: (baseUrl: string) => Fetch;
  readonly createSharedFetch: (deps: OldSharedFetchDeps) => OldSharedFetch;
}

interface OldSharedFetchDeps {
  readonly fetch: Fetch;
  readonly baseUrl: string;
  readonly locks: Pick<LockManager, "request" | "query">;
  readonly channel: BroadcastChannel;
  readonly newId: () => string;
}

interface OldSharedFetch {
  readonly fetch: Fetch;
  readonly close: () => void;
}

/** A script that declares `holdfastPage`, an `OldPage`. */
export function oldPageScript(): string {
  const file = new URL("fixtures/0.1.0-page-streams.js.gz", import.meta.url);
  return gunzipSync(readFileSync(file)).toString("utf8");
}

export function loadOldPage(): OldPage {
  return runInThisContext(`(() => { ${oldPageScript()}; return holdfastPage; })()`) as OldPage;
}
