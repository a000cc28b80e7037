import type { ApiDeps } from "../../server/api/deps.ts";
import { answer, type Call, mountCall, problem } from "../../server/api/endpoint.ts";
import type { Route } from "../../server/http/routing.ts";
import { openProjectFiles } from "./project-files.ts";
import { openProjectStore } from "./project-store.ts";

export function projectFileRoutes(deps: ApiDeps): Route[] {
  const { store } = deps.log;
  const projects = openProjectStore(store.register);
  const files = openProjectFiles(store);

  async function add({ owner, params: { id }, body }: Call<"addProjectFile">) {
    if ((await projects.find(owner, id)) === null) return problem("project_not_found");
    const { name, blobId, replace = false } = body;
    const added = await files.add(owner, id, {
      name,
      blobId,
      replace: replace ? "same name" : "nothing",
      now: await store.now(),
    });
    if (typeof added === "string") return problem(problemOf[added]);
    if ((await projects.find(owner, id)) !== null) return answer({ file: added });
    // It was deleted meanwhile, perhaps before this file was in its list.
    await files.removeAll(owner, id);
    return problem("project_not_found");
  }

  return [
    mountCall(deps, "listProjectFiles", async ({ owner, params: { id } }) => {
      if ((await projects.find(owner, id)) === null) return problem("project_not_found");
      return answer({ files: [...(await files.list(owner, id))] });
    }),
    mountCall(deps, "addProjectFile", add),
    mountCall(deps, "removeProjectFile", async ({ owner, params: { id, file } }) => {
      if ((await projects.find(owner, id)) === null) return problem("project_not_found");
      const removed = await files.remove(owner, id, file);
      return removed === "removed" ? answer(undefined) : problem("project_file_not_found");
    }),
  ];
}

const problemOf = {
  exists: "project_file_exists",
  too_many: "too_many_project_files",
  too_large: "project_file_too_large",
  not_text: "project_file_not_text",
  no_blob: "blob_not_found",
} as const;
