import { z } from "zod";

import { profileName, rightsProfile, rightsSubject } from "../rights/rights.ts";
import { defineRoute } from "./define.ts";

/** A profile as a page shows it. */
export const profileView = z.looseObject({
  ...rightsProfile.shape,
  /** It always exists and cannot be changed. */
  builtIn: z.boolean(),
});
export type ProfileView = z.infer<typeof profileView>;

const assignment = z.looseObject({ subject: rightsSubject, profile: profileName });
const rightsView = z.looseObject({
  profiles: z.array(profileView),
  /** Who was given a profile; everybody else has the default of their kind. */
  assignments: z.array(assignment),
});
const params = z.strictObject({ name: profileName });
const { name: _, ...profileFields } = rightsProfile.shape;

export const rightsRoutes = {
  readRights: defineRoute({
    method: "GET",
    path: "/api/rights",
    summary: "The rights profiles, and who has which",
    access: "principal",
    answer: { media: "json", status: 200, schema: rightsView },
    problems: [],
    repeat: "safe",
  }),
  putRightsProfile: defineRoute({
    method: "PUT",
    path: "/api/rights/profiles/:name",
    summary: "Create or change a rights profile; it applies to messages that arrive from now on",
    access: "principal",
    params,
    body: z.strictObject(profileFields),
    example: { tools: ["read_file", "wiki__*"], sessions: "own", memory: "none", approvals: false },
    answer: { media: "json", status: 200, schema: z.looseObject({ profile: profileView }) },
    problems: ["rights_built_in", "too_many_rights"],
    repeat: "safe",
  }),
  removeRightsProfile: defineRoute({
    method: "DELETE",
    path: "/api/rights/profiles/:name",
    summary: "Remove a rights profile that is not assigned",
    access: "principal",
    params,
    answer: { media: "none", status: 204 },
    problems: ["rights_not_found", "rights_built_in", "rights_in_use"],
    repeat: "safe",
  }),
  assignRights: defineRoute({
    method: "PUT",
    path: "/api/rights/assignments",
    summary:
      "Assign a profile to a lane, a webhook, a schedule or all of one kind, or go back to the default",
    access: "principal",
    body: z.strictObject({
      subject: rightsSubject,
      /** `null`: the default of its kind. */
      profile: profileName.nullable(),
    }),
    example: { subject: "webhook:ci", profile: "owner" },
    answer: { media: "json", status: 200, schema: rightsView },
    problems: ["rights_not_found", "too_many_rights"],
    repeat: "safe",
  }),
} as const;
