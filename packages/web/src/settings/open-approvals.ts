import { useEffect } from "react";
import type { Client } from "@holdfast/client";
import type { ApprovalView } from "@holdfast/protocol";
import { useApp, useStore } from "../app-context.ts";
import { createSharedRead, type SharedRead } from "../host/shared-read.ts";
import type { SessionListStore } from "../sessions/session-list-store.ts";
import { type HostQuery, useHostQuery, useInterval } from "./settings-group.tsx";

const pollMs = 15_000;
const settleMs = 200;

export interface OpenApprovals {
  readonly approvals: readonly ApprovalView[];
}

/**
 * The approvals that wait in all conversations. Read again when any conversation changes, so that one answered
 * elsewhere disappears; the slow poll is for changes that raise no event here.
 */
export function createOpenApprovals(
  client: Client,
  list: SessionListStore,
): SharedRead<OpenApprovals> {
  return createSharedRead(
    () => client.listApprovals(),
    (refresh) => {
      const timer = setInterval(() => {
        if (document.visibilityState === "visible") refresh();
      }, pollMs);
      const stop = afterChanges(list, refresh);
      return () => {
        clearInterval(timer);
        stop();
      };
    },
  );
}

export function useOpenApprovals(): HostQuery<OpenApprovals> {
  const { openApprovals } = useApp();
  useEffect(() => openApprovals.load(), [openApprovals]);
  return useStore(openApprovals);
}

const signInPollMs = 60_000;

/** The MCP servers that wait for a person to sign in. */
export function useNeededSignIns(): readonly string[] {
  const { client } = useApp();
  const [query, refetch] = useHostQuery(() => client.listMcpServers());
  useInterval(signInPollMs, refetch);
  if (query.kind !== "loaded") return [];
  return query.value.servers.flatMap((server) =>
    server.signIn === "needed" && server.switch !== "off" ? server.name : [],
  );
}

/** Calls back a moment after each burst of changes to the loaded list. Returns how to stop. */
function afterChanges(list: SessionListStore, callback: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let wasLoaded = list.read().sessions !== null;
  const unsubscribe = list.subscribe(() => {
    const isChange = wasLoaded;
    wasLoaded = list.read().sessions !== null;
    if (!isChange) return;
    timer ??= setTimeout(() => {
      timer = undefined;
      callback();
    }, settleMs);
  });
  return () => {
    clearTimeout(timer);
    unsubscribe();
  };
}
