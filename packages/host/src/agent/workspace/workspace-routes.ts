import { newEvent } from "@holdfast/protocol";
import type { ApiDeps } from "../../server/api/deps.ts";
import { answer, type Call, mountCall, problem, problemFrom } from "../../server/api/endpoint.ts";
import { describeSite } from "../../hosts/workspace-hosts.ts";
import type { Route } from "../../server/http/routing.ts";

/** The instructions in a session's workspace, and whether a person trusts them. */
export function workspaceRoutes(deps: ApiDeps): Route[] {
  const { prompt } = deps;

  async function show({
    owner,
    params: { id: session },
  }: Pick<Call<"readWorkspace">, "owner" | "params">) {
    const state = await prompt.workspace({ owner, session });
    if (state === null) return problem("session_not_found");
    const { folder, instructions, trust } = state;
    return answer({ folder, trust, instructions: instructions && { ...instructions } });
  }

  async function decide({ owner, params, body }: Call<"trustWorkspace">) {
    const result = await prompt.decide({ owner, session: params.id }, body);
    switch (result) {
      case "kept":
        return show({ owner, params });
      case "changed":
        return problem("instructions_changed");
      case "not_found":
        return problem("session_not_found");
    }
  }

  /** The notice comes first: a crash in between must not leave an empty folder that nobody was told of. */
  async function takeOver({ owner, params, ids }: Call<"takeOverWorkspace">) {
    const { log, toolset, workspaceHosts } = deps;
    const session = { owner, session: params.id };
    if ((await log.store.reads.session(owner, params.id)) === null)
      return problem("session_not_found");
    const row = await toolset.workspaces.rowOf(session);
    const site = row === null ? undefined : await workspaceHosts?.siteOf(row);
    if (row === null || site?.at !== "lost") return problem("workspace_not_lost");
    if ((await toolset.workspaces.setStaleAside(session)) === null)
      return problem("file_refused", {
        detail: "This conversation works in a folder of that host. Choose another folder for it.",
      });
    const text = `The files of this conversation were on the host ${site.host.name}, which is gone. The conversation continues in an empty folder, without any of them.`;
    const details = { tellsModel: true };
    const notice = { noticeId: ids.make("notice"), kind: "workspace_given_up", text, details };
    const events = [newEvent(ids.make("event"), "notice.added", notice)];
    const told = await log.commit({ ...session, events });
    if (told.status !== "committed") return problemFrom(told);
    const taken = await workspaceHosts?.takeOver(row);
    if (taken !== undefined && taken.at !== "here")
      return problem("workspace_elsewhere", { detail: describeSite(taken) });
    return show({ owner, params });
  }

  return [
    mountCall(deps, "readWorkspace", show),
    mountCall(deps, "trustWorkspace", decide),
    mountCall(deps, "takeOverWorkspace", takeOver),
  ];
}

/** Where sessions may work on this machine. */
export function folderRoutes(deps: ApiDeps): Route[] {
  const { workspaces } = deps.toolset;

  async function check({ owner, query: { path } }: Call<"checkFolder">) {
    const found = await workspaces.checkFolder(owner, path);
    return answer({
      path,
      state: found.state,
      ...("reason" in found && { reason: found.reason }),
    });
  }

  /** A page may be open anywhere. Whoever has the token in hand is on this machine, or trusted like it. */
  async function allow({ principal, body }: Call<"allowFolder">) {
    if (principal.by !== "token")
      return problem("forbidden", {
        detail: "Only the token itself allows a folder: run `holdfast workspaces allow` there.",
      });
    const result = await workspaces.allowFolder(body.path);
    return result.status === "refused"
      ? problem("folder_refused", { detail: result.reason })
      : answer({ folder: result.folder });
  }

  async function forget({ params }: Call<"forgetFolder">) {
    const removed = await workspaces.allowed.remove(params.id);
    return removed === "removed" ? answer(undefined) : problem("folder_not_found");
  }

  return [
    mountCall(deps, "listFolders", async () =>
      answer({ roots: [...workspaces.roots], folders: [...(await workspaces.allowed.list())] }),
    ),
    mountCall(deps, "checkFolder", check),
    mountCall(deps, "allowFolder", allow),
    mountCall(deps, "forgetFolder", forget),
  ];
}
