import { type RunPlacement, type Store, StoreFailure } from "@holdfast/engine";
import type { Toolset } from "../agent/toolset.ts";
import type { Workspaces } from "../agent/workspace/workspaces.ts";
import type { Role } from "../ops/config/operation-settings.ts";
import type { Config } from "../ops/config/settings.ts";
import { openKeyring } from "../ops/secrets/secrets-key.ts";
import { sendProblem } from "../server/http/problem.ts";
import type { Route } from "../server/http/routing.ts";
import { type AcceptForwarded, createForwardedAccess } from "./accept-forwarded.ts";
import { createForwarder, type ForwardRequest } from "./forward-requests.ts";
import { openHomeId } from "./home-id.ts";
import { type Hosts, openHosts } from "./hosts.ts";
import { registerFolders } from "./register-folders.ts";
import { createRunPlacement } from "./run-placement.ts";
import { openWorkspaceHosts, type WorkspaceHosts } from "./workspace-hosts.ts";

/** What a host knows of the others on its store, and does for them. */
export interface Cluster {
  readonly hosts: Pick<Hosts, "find">;
  readonly workspaceHosts: WorkspaceHosts;
  readonly acceptForwarded: AcceptForwarded;
  /** Tells others that this host is up, and where it is reached. */
  start(address: string | null): void;
  stop(): void;
  placementOf(workspaces: Workspaces): RunPlacement;
  forwarder(toolset: Pick<Toolset, "workspaces" | "processes">): ForwardRequest;
}

export interface ClusterDeps {
  readonly config: Config;
  readonly store: Store;
  readonly roles: ReadonlySet<Role>;
  readonly report: (bug: Error) => void;
}

export function openCluster({ config, store, roles, report }: ClusterDeps): Cluster {
  const keyring = openKeyring(config);
  const id = openHomeId(config.home.value);
  const basePath = config.basePath.value;
  const hosts = openHosts({
    store,
    id,
    keyring,
    runs: roles.has("runner"),
    process: [...roles].toSorted().join("+"),
    leaseMs: config.leaseMs.value,
    internalAddress: config.internalAddress.value,
    report,
  });
  const workspaceHosts = openWorkspaceHosts(store, hosts, roles.has("runner"));
  const stopping = new AbortController();
  return {
    start(address) {
      hosts.start(address);
      if (roles.has("runner"))
        registerFolders(config.home.value, workspaceHosts, stopping.signal).catch(
          (error: unknown) => {
            // The next start does it again.
            if (error instanceof StoreFailure) return;
            report(error instanceof Error ? error : new Error(String(error)));
          },
        );
    },
    stop() {
      stopping.abort();
      hosts.stop();
    },
    hosts,
    workspaceHosts,
    acceptForwarded: createForwardedAccess({ store, hosts, keyring, basePath }),
    placementOf: (workspaces) => createRunPlacement(workspaces, workspaceHosts),
    forwarder: ({ workspaces, processes }) =>
      createForwarder({ store, hosts, workspaceHosts, workspaces, processes, keyring, basePath }),
  };
}

/** A host that serves no people still shows its metrics, and its files to other hosts. */
export function servedWithoutPeople(route: Route): readonly Route[] {
  if (route.path === "/metrics") return [route];
  return route.forwarded === true ? [onlyForwarded(route)] : [];
}

/** A route that answers other hosts, and no people. */
function onlyForwarded(route: Route): Route {
  return {
    ...route,
    handle: (c) =>
      c.get("forwardedFrom") === undefined ? sendProblem(c, "not_found") : route.handle(c),
  };
}
