import { useEffect } from "react";
import type { ApprovalView } from "@holdfast/protocol";
import { useApp } from "../app-context.ts";
import { type HostQuery, useHostQuery, useInterval } from "./settings-group.tsx";

const pollMs = 15_000;
const settleMs = 200;

/**
 * The approvals that wait in all conversations. Read again when any conversation changes, so that one answered
 * elsewhere disappears; the slow poll is for changes that raise no event here.
 */
export function useOpenApprovals(): readonly [
  HostQuery<{ readonly approvals: readonly ApprovalView[] }>,
  () => void,
] {
  const { client, list } = useApp();
  const [query, refetch] = useHostQuery(() => client.listApprovals());
  useInterval(pollMs, refetch);
  useEffect(() => afterChanges(list.subscribe, refetch), [list, refetch]);
  return [query, refetch];
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

/** Calls back a moment after each burst of changes. Returns how to stop. */
function afterChanges(
  subscribe: (listener: () => void) => () => void,
  callback: () => void,
): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const unsubscribe = subscribe(() => {
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
