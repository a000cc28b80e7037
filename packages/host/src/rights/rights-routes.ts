import { builtInProfiles, type OwnerId, type RightsProfile } from "@holdfast/protocol";

import type { ApiDeps } from "../server/api/deps.ts";
import { answer, type Call, mountCall, problem, problemFrom } from "../server/api/endpoint.ts";
import type { Route } from "../server/http/routing.ts";
import { openRightsStore } from "./rights-store.ts";

/** Who may cause what. */
export function rightsRoutes(deps: ApiDeps): Route[] {
  const rights = openRightsStore(deps.log.store.register);

  async function viewRights(owner: OwnerId) {
    const profiles = await rights.profiles(owner);
    const assignments = await rights.assignments(owner);
    return {
      profiles: profiles.map(viewProfile),
      assignments: assignments.map(({ subject, profile }) => ({ subject, profile })),
    };
  }

  async function put({ owner, params, body }: Call<"putRightsProfile">) {
    const profile: RightsProfile = { name: params.name, ...body };
    const kept = await rights.put(owner, profile);
    if (kept === "kept") return answer({ profile: viewProfile(profile) });
    return typeof kept === "string" ? problem(problemOf[kept]) : problemFrom(kept);
  }

  async function remove({ owner, params }: Call<"removeRightsProfile">) {
    const removed = await rights.remove(owner, params.name);
    if (removed === "removed") return answer(undefined);
    return typeof removed === "string" ? problem(problemOf[removed]) : problemFrom(removed);
  }

  async function assign({ owner, body }: Call<"assignRights">) {
    const kept = await rights.assign(owner, body.subject, body.profile);
    if (kept === "kept") return answer(await viewRights(owner));
    return typeof kept === "string" ? problem(problemOf[kept]) : problemFrom(kept);
  }

  return [
    mountCall(deps, "readRights", async ({ owner }) => answer(await viewRights(owner))),
    mountCall(deps, "putRightsProfile", put),
    mountCall(deps, "removeRightsProfile", remove),
    mountCall(deps, "assignRights", assign),
  ];
}

const problemOf = {
  built_in: "rights_built_in",
  too_many: "too_many_rights",
  not_found: "rights_not_found",
  in_use: "rights_in_use",
} as const;

function viewProfile(profile: RightsProfile) {
  return { ...profile, builtIn: Object.hasOwn(builtInProfiles, profile.name) };
}
