import { join } from "node:path";

import type { ApiDeps } from "../../server/api/deps.ts";
import { answer, type Call, mountCall, problem } from "../../server/api/endpoint.ts";
import type { Route } from "../../server/http/routing.ts";
import type { StageResult } from "./install-skills.ts";
import type { ListedSkill, SkillList } from "./skills.ts";

export function skillRoutes(deps: ApiDeps): Route[] {
  const { skills } = deps;
  const installer = skills.installer;

  const viewList = ({ skills: listed, skipped }: SkillList) => ({
    skills: listed.map(viewSkill),
    skipped: skipped.map(({ path, reason }) => ({ path, reason })),
  });

  const listOwn = async (owner: Call<"listSkills">["owner"]) =>
    answer(viewList(await skills.listOwn(owner)));

  async function showSession({
    owner,
    params: { id: session },
  }: Pick<Call<"listSessionSkills">, "owner" | "params">) {
    const workspace = await skills.listWorkspace({ owner, session });
    if (workspace === null) return problem("session_not_found");
    const available = await skills.available({ owner, session });
    return answer({
      available: available.map(({ name, description }) => ({ name, description })),
      workspace: viewList(workspace),
    });
  }

  async function trust({ owner, params, body }: Call<"trustSkill">) {
    const decided = await skills.decide({ owner, session: params.id }, body);
    if (decided === "kept") return showSession({ owner, params });
    return problem(decided === "changed" ? "skill_changed" : "skill_not_found");
  }

  async function stage({ owner, principal, body }: Call<"stageSkills">) {
    const { blobId, folder, address } = body;
    let staged: StageResult;
    if (blobId === undefined) {
      // It reads a folder of the host, or asks an address from there.
      if (principal.by === "api-key")
        return problem("forbidden", { detail: "An API key installs skills from an archive." });
      staged = await installer.stageFrom(
        folder === undefined ? { address: address ?? "" } : { folder },
      );
    } else {
      const blob = await deps.log.store.reads.blob(owner, blobId);
      if (blob === null) return problem("blob_not_found");
      staged = await installer.stage(blob.bytes);
    }
    if (staged.status === "refused")
      return problem("skill_archive_unusable", { detail: staged.reason });
    const { id, skills: found, skipped } = staged;
    const listed = found.map((skill) => viewSkill({ ...skill, ...waiting }));
    return answer({
      id,
      skills: listed.map((view, index) => {
        const { path = "", replaces = null } = found[index] ?? {};
        return {
          ...view,
          path,
          ...(replaces !== null && {
            replaces: {
              hash: replaces.hash,
              changes: replaces.changes.map((change) => ({ ...change })),
            },
          }),
        };
      }),
      skipped: skipped.map(({ path, reason }) => ({ path, reason })),
    });
  }

  async function install({ owner, params, body }: Call<"installSkills">) {
    const done = await installer.install(params.id, body.skills);
    switch (done.status) {
      case "installed":
        return listOwn(owner);
      case "exists":
        return problem("skill_exists", { detail: done.name });
      case "changed":
        return problem("skill_changed");
      case "not_found":
        return problem("skill_not_found");
    }
  }

  return [
    mountCall(deps, "listSkills", ({ owner }) => listOwn(owner)),
    mountCall(deps, "switchSkill", async ({ owner, params, body }) =>
      (await skills.switch(owner, params.name, body.state)) === "kept"
        ? listOwn(owner)
        : problem("skill_not_found"),
    ),
    mountCall(deps, "removeSkill", async ({ owner, params }) => {
      const removed = await skills.remove(owner, params.name);
      if (removed === "removed") return answer(undefined);
      return problem(removed === "not_installed" ? "skill_not_installed" : "skill_not_found");
    }),
    mountCall(deps, "stageSkills", stage),
    mountCall(deps, "installSkills", install),
    mountCall(deps, "discardSkills", async ({ params }) => {
      await installer.discard(params.id);
      return answer(undefined);
    }),
    mountCall(deps, "listSessionSkills", showSession),
    mountCall(deps, "trustSkill", trust),
  ];
}

/** What an upload is until it is installed. */
const waiting = { source: "home", state: "undecided", shadowedBy: null } as const;

function viewSkill(skill: ListedSkill) {
  const { name, description, source, root, path, state, shadowedBy, hash, body } = skill;
  return {
    name,
    description,
    source,
    path: source === "workspace" ? path : join(root, path),
    state,
    shadowedBy,
    hash,
    text: body,
    allowedTools: skill.allowedTools,
    files: skill.files.map(({ path: file, size, executable }) => ({
      path: file,
      size,
      executable,
    })),
    warnings: [...skill.warnings],
  };
}
