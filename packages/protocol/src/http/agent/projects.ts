import { z } from "zod";

import { personaId } from "../../events/session.ts";
import { defineRoute } from "../define.ts";
import { revisionTag } from "../fields.ts";
import { idempotencyHeader } from "../sessions.ts";
import { instant } from "../views.ts";
import { earlierTexts } from "./instructions.ts";

export const maxProjectCharacters = 5_000;

/** What sessions of one undertaking share. A session names its project; see `project` of a session. */
export const projectView = z.looseObject({
  id: z.string(),
  name: z.string(),
  /** Its instructions, which its sessions start with; may be empty. */
  text: z.string(),
  /** What sessions that begin in it have, if nobody chooses otherwise. */
  workspace: z.string().nullable(),
  persona: z.string().nullable(),
  model: z.string().nullable(),
  changedAt: instant,
  /** Counts its changes. A change names the one that it was made from. */
  version: z.int().positive(),
  versions: earlierTexts,
});
export type ProjectView = z.infer<typeof projectView>;

const text = z.string().max(maxProjectCharacters);
const workspace = z.string().min(1).max(1_000);
const model = z.string().min(1).max(200);
const params = z.strictObject({ id: z.string().min(1).max(60) });
const oneProject = z.looseObject({ project: projectView });

export const projectRoutes = {
  listProjects: defineRoute({
    method: "GET",
    path: "/api/projects",
    summary: "Your projects by name, with the earlier texts of their instructions",
    access: "principal",
    answer: {
      media: "json",
      status: 200,
      schema: z.looseObject({ projects: z.array(projectView) }),
    },
    problems: [],
    repeat: "safe",
  }),
  addProject: defineRoute({
    method: "POST",
    path: "/api/projects",
    summary: "Add a project; sessions that already name it belong to it",
    access: "principal",
    headers: idempotencyHeader,
    body: z.strictObject({
      name: z
        .string()
        .max(120)
        .refine((name) => name.trim() !== "", "expected a name"),
      text: text.optional(),
      workspace: workspace.nullable().optional(),
      persona: personaId.nullable().optional(),
      model: model.nullable().optional(),
    }),
    example: { name: "Tides", text: "All times are UTC." },
    answer: { media: "json", status: 201, schema: oneProject },
    problems: [
      "project_name_taken",
      "too_many_projects",
      "persona_not_found",
      "model_unknown",
      "model_unusable",
    ],
    repeat: "key",
  }),
  changeProject: defineRoute({
    method: "PATCH",
    path: "/api/projects/:id",
    summary:
      "Change a project. Its sessions get changed instructions with their next answer; everything else applies to new ones",
    access: "principal",
    params,
    headers: z.object({ "if-match": revisionTag }),
    body: z.strictObject({
      text: text.optional(),
      workspace: workspace.nullable().optional(),
      persona: personaId.nullable().optional(),
      model: model.nullable().optional(),
    }),
    example: { text: "All times are local." },
    answer: { media: "json", status: 200, schema: oneProject },
    problems: [
      "project_not_found",
      "project_changed",
      "persona_not_found",
      "model_unknown",
      "model_unusable",
    ],
    repeat: "safe",
  }),
  removeProject: defineRoute({
    method: "DELETE",
    path: "/api/projects/:id",
    summary: "Delete a project with its instructions. Its sessions stay, and still name it",
    access: "principal",
    params,
    headers: z.object({ "if-match": revisionTag.optional() }),
    answer: { media: "none", status: 204 },
    problems: ["project_not_found", "project_changed"],
    repeat: "safe",
  }),
} as const;
