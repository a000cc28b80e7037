import { z } from "zod";

import { personaId } from "../../events/session.ts";
import { defineRoute } from "../define.ts";
import { revisionTag } from "../fields.ts";
import { idempotencyHeader } from "../sessions.ts";
import { instant } from "../views.ts";
import { earlierTexts } from "./instructions.ts";

/** The persona that always exists. Its text is also in `persona.md` of the home. */
export const builtInPersona = "default";
export const maxPersonaCharacters = 7_000;

/** Who the agent is: the beginning of a session's system prompt. */
export const personaView = z.looseObject({
  id: z.string(),
  name: z.string(),
  text: z.string(),
  /** What sessions that begin with it use, if nobody chooses another one; `null`: the host's default. */
  model: z.string().nullable(),
  /** Whether sessions that chose none have it. */
  isDefault: z.boolean(),
  /** `persona.md` is too long to edit here: it is used as it is. */
  isFileOnly: z.boolean(),
  /** `null` if nobody has changed it. */
  changedAt: instant.nullable(),
  /** Counts its changes. A change names the one that it was made from. */
  version: z.int().nonnegative(),
  versions: earlierTexts,
});
export type PersonaView = z.infer<typeof personaView>;

const name = z
  .string()
  .max(60)
  .refine((text) => text.trim() !== "", "expected a name");
const text = z.string().min(1).max(maxPersonaCharacters);
const model = z.string().min(1).max(200);
const params = z.strictObject({ id: personaId });
const onePersona = z.looseObject({ persona: personaView });
const allPersonas = {
  media: "json",
  status: 200,
  schema: z.looseObject({ personas: z.array(personaView) }),
} as const;

export const personaRoutes = {
  listPersonas: defineRoute({
    method: "GET",
    path: "/api/personas",
    summary: "The personas that sessions can have, with their earlier texts",
    access: "principal",
    answer: allPersonas,
    problems: [],
    repeat: "safe",
  }),
  addPersona: defineRoute({
    method: "POST",
    path: "/api/personas",
    summary: "Add a persona",
    access: "principal",
    headers: idempotencyHeader,
    body: z.strictObject({ name, text, model: model.optional() }),
    example: { name: "Editor", text: "You are a strict editor." },
    answer: { media: "json", status: 201, schema: onePersona },
    problems: ["persona_name_taken", "too_many_personas", "model_unknown", "model_unusable"],
    repeat: "key",
  }),
  changePersona: defineRoute({
    method: "PATCH",
    path: "/api/personas/:id",
    summary: "Change a persona; sessions that have it get the new text with their next answer",
    access: "principal",
    params,
    headers: z.object({ "if-match": revisionTag }),
    body: z.strictObject({
      name: name.optional(),
      text: text.optional(),
      model: model.nullable().optional(),
    }),
    example: { text: "You are a kind editor." },
    answer: { media: "json", status: 200, schema: onePersona },
    problems: [
      "persona_not_found",
      "persona_changed",
      "persona_name_taken",
      "persona_in_file",
      "model_unknown",
      "model_unusable",
    ],
    repeat: "safe",
  }),
  removePersona: defineRoute({
    method: "DELETE",
    path: "/api/personas/:id",
    summary: "Delete a persona with its earlier texts; sessions that have it get the default one",
    access: "principal",
    params,
    headers: z.object({ "if-match": revisionTag.optional() }),
    answer: { media: "none", status: 204 },
    problems: ["persona_not_found", "persona_changed", "persona_built_in"],
    repeat: "safe",
  }),
  setDefaultPersona: defineRoute({
    method: "PUT",
    path: "/api/default-persona",
    summary: "Choose the persona of sessions that have chosen none",
    access: "principal",
    body: z.strictObject({ id: personaId }),
    example: { id: builtInPersona },
    answer: allPersonas,
    problems: ["persona_not_found"],
    repeat: "safe",
  }),
} as const;
