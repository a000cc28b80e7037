import type { RightsOf, Store } from "@holdfast/engine";
import {
  intersectRights,
  isUnlimited,
  type LaneKey,
  noRights,
  type OwnerId,
  ownerRights,
  type Rights,
  rightsOf as rightsOfProfile,
  type RightsSubject,
  rightsSubject,
} from "@holdfast/protocol";
import { type ApiKeys, isKeyOwner, openApiKeys } from "../server/auth/api-keys.ts";
import { owner as operator } from "../server/auth/authenticator.ts";
import { openRightsStore, type RightsStore } from "./rights-store.ts";

/** Who has which rights: resolves places to profiles. */
export interface RightsResolver {
  /** What a message may cause: what its sender gave it, its lane and its schedule all have to allow it. */
  readonly ofMessage: RightsOf;
  /** What a lane may do by itself, such as answering approvals. */
  ofLane(owner: OwnerId, lane: LaneKey | null): Promise<Rights>;
  /** What whoever has this profile may do; nothing if it is missing. */
  ofProfile(owner: OwnerId, name: string): Promise<Rights>;
}

export function openRightsResolver(register: Store["register"]): RightsResolver {
  return createRightsResolver(
    openRightsStore(register),
    openApiKeys({ register, owner: operator }),
  );
}

function createRightsResolver(
  store: Pick<RightsStore, "assigned" | "profile">,
  keys: Pick<ApiKeys, "profileOf">,
): RightsResolver {
  async function ofProfile(owner: OwnerId, name: string): Promise<Rights> {
    const profile = await store.profile(owner, name);
    return profile === null ? noRights : rightsOfProfile(profile);
  }

  /** The first subject that has a profile decides. */
  async function ofSubjects(owner: OwnerId, subjects: readonly RightsSubject[], fallback: string) {
    for (const subject of subjects) {
      const name = await store.assigned(owner, subject);
      if (name !== null) return ofProfile(owner, name);
    }
    return ofProfile(owner, fallback);
  }

  /** An API key names one of the operator's profiles, which holds in every lane of its sessions. */
  async function ofKey(owner: OwnerId): Promise<Rights> {
    const profile = await keys.profileOf(owner);
    return profile === null ? noRights : ofProfile(operator, profile);
  }

  async function ofLane(owner: OwnerId, lane: LaneKey | null): Promise<Rights> {
    const { subjects, fallback } = subjectsOfLane(lane);
    const byLane = await ofSubjects(owner, subjects, fallback);
    return isKeyOwner(owner) ? commonRights([byLane, await ofKey(owner)]) : byLane;
  }

  return {
    ofLane,
    ofProfile,
    async ofMessage({ owner, lane, clientId, given }) {
      const all = [await ofLane(owner, lane)];
      const schedule = /^schedule:(sch_[a-z0-9]+)/.exec(clientId ?? "")?.[1];
      if (schedule !== undefined)
        all.push(
          await ofSubjects(owner, subjectsFrom(`schedule:${schedule}`, "schedules"), "owner"),
        );
      if (given !== null) all.push(given);
      return commonRights(all);
    },
  };
}

/** What all of them allow. */
export function commonRights(all: readonly Rights[]): Rights {
  const limited = all.filter((rights) => !isUnlimited(rights));
  return (
    limited.reduce<Rights | null>(
      (sum, each) => (sum === null ? each : intersectRights(sum, each)),
      null,
    ) ?? ownerRights
  );
}

function subjectsOfLane(lane: LaneKey | null): {
  readonly subjects: readonly RightsSubject[];
  readonly fallback: string;
} {
  if (lane === null) return { subjects: [], fallback: "owner" };
  const own = `lane:${lane}`;
  const [platform, second = ""] = lane.split(":");
  switch (platform) {
    case "webhook":
      return { subjects: subjectsFrom(own, `webhook:${second}`, "webhooks"), fallback: "webhook" };
    case "delegate":
      // What its parent may is given with the task.
      return { subjects: subjectsFrom("children"), fallback: "owner" };
    case "acp":
      return { subjects: subjectsFrom(own, "editors"), fallback: "owner" };
    case "web":
    case "cli":
    case "ai":
    case "mcp":
    case "process":
    case "session":
      return { subjects: subjectsFrom(own), fallback: "owner" };
    default:
      return groupLane.test(lane)
        ? { subjects: subjectsFrom(own, "groups"), fallback: "group" }
        : { subjects: subjectsFrom(own), fallback: "owner" };
  }
}

/** A chat of several people: `platform:bot:chat:thread`, where the chat begins with g. */
const groupLane = /^[a-z][a-z0-9]*:[^:]+:g[^:]+:[^:]+$/;

/** A lane whose key is too long to be named has the rights of its kind. */
function subjectsFrom(...names: readonly string[]): readonly RightsSubject[] {
  return names.flatMap((name) => rightsSubject.safeParse(name).data ?? []);
}
