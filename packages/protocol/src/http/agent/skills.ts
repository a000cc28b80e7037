import { z } from "zod";

import { blobId } from "../../ids.ts";
import { defineRoute } from "../define.ts";
import { idempotencyHeader, sessionParams } from "../sessions.ts";

const skillName = z
  .string()
  .regex(/^[a-z0-9-]{1,64}$/u, "expected lower-case letters, digits and hyphens");

const skillHash = z.string().regex(/^[0-9a-f]{64}$/u, "expected the hash of the skill");

export const skillView = z.looseObject({
  name: z.string(),
  description: z.string(),
  /** `home`: installed on this host. `agents`: in `~/.agents/skills`. `workspace`: in a session's workspace. */
  source: z.enum(["home", "agents", "workspace"]),
  /** Its folder; of a workspace's skill from the workspace. */
  path: z.string(),
  /** `undecided` and `refused`: a workspace's skill that the model does not get. */
  state: z.enum(["on", "off", "undecided", "refused"]),
  /** The folder of another skill with this name, which counts in its place. */
  shadowedBy: z.string().nullable(),
  /** Of the names and contents of all its files. */
  hash: z.string(),
  /** The instructions. */
  text: z.string(),
  /** The tools that it asks to be allowed. They are shown, and allow nothing. */
  allowedTools: z.string().nullable(),
  files: z.array(
    z.looseObject({ path: z.string(), size: z.int().nonnegative(), executable: z.boolean() }),
  ),
  warnings: z.array(z.string()),
});
export type SkillView = z.infer<typeof skillView>;

/** What looks like a skill and cannot be used, with the reason. */
export const skippedSkill = z.looseObject({ path: z.string(), reason: z.string() });
export type SkippedSkillView = z.infer<typeof skippedSkill>;

const installParams = z.strictObject({
  id: z.string().regex(/^[0-9a-f]{16}$/u, "expected the id of an upload"),
});

/** What an upload would change about the installed skill of its name. */
const replacedSkill = z.looseObject({
  hash: z.string(),
  changes: z.array(
    z.looseObject({
      path: z.string(),
      kind: z.enum(["added", "removed", "changed"]),
      /** For texts, cut if it is long. */
      diff: z.string().optional(),
    }),
  ),
});
export const stagedSkill = skillView.extend({ replaces: replacedSkill.optional() });
export type StagedSkillView = z.infer<typeof stagedSkill>;

const skillList = z.looseObject({ skills: z.array(skillView), skipped: z.array(skippedSkill) });
const listAnswer = { media: "json", status: 200, schema: skillList } as const;

const sessionSkills = z.looseObject({
  /** What `/name` activates in this session, and what its model can activate. */
  available: z.array(z.looseObject({ name: z.string(), description: z.string() })),
  /** What the workspace has, whether or not it is trusted. */
  workspace: skillList,
});
export type SessionSkillsView = z.infer<typeof sessionSkills>;

const sessionAnswer = { media: "json", status: 200, schema: sessionSkills } as const;

export const skillRoutes = {
  listSkills: defineRoute({
    method: "GET",
    path: "/api/skills",
    summary:
      "The skills of the person who runs the host, with those that are off or cannot be used",
    access: "principal",
    answer: listAnswer,
    problems: [],
    repeat: "safe",
  }),
  switchSkill: defineRoute({
    method: "PUT",
    path: "/api/skills/:name/state",
    summary: "Switch a skill on or off; sessions notice with their next run",
    access: "principal",
    params: z.strictObject({ name: skillName }),
    body: z.strictObject({ state: z.enum(["on", "off"]) }),
    example: { state: "off" },
    answer: listAnswer,
    problems: ["skill_not_found"],
    repeat: "safe",
  }),
  removeSkill: defineRoute({
    method: "DELETE",
    path: "/api/skills/:name",
    summary: "Delete an installed skill with its files",
    access: "principal",
    params: z.strictObject({ name: skillName }),
    answer: { media: "none", status: 204 },
    problems: ["skill_not_found", "skill_not_installed"],
    repeat: "safe",
  }),
  stageSkills: defineRoute({
    method: "POST",
    path: "/api/skills/installs",
    summary:
      "Put skills from an archive, a folder on the host or a git repository into a quarantine and show their contents; nothing uses them yet",
    access: "principal",
    body: z
      .strictObject({
        blobId: blobId.optional(),
        /** An absolute path on the host. */
        folder: z.string().min(1).max(4_096).optional(),
        /** The https address of a git repository. */
        address: z.string().min(1).max(2_000).optional(),
      })
      .refine(
        (body) => Object.values(body).filter((value) => value !== undefined).length === 1,
        "expected one of blobId, folder and address",
      ),
    example: { blobId: `blob_${"0".repeat(64)}` },
    answer: {
      media: "json",
      status: 200,
      schema: skillList.extend({ id: z.string(), skills: z.array(stagedSkill) }),
    },
    problems: ["forbidden", "blob_not_found", "skill_archive_unusable"],
    headers: idempotencyHeader,
    repeat: "key",
  }),
  installSkills: defineRoute({
    method: "POST",
    path: "/api/skills/installs/:id",
    summary: "Install skills from the quarantine, with exactly the content that was shown",
    access: "principal",
    params: installParams,
    body: z.strictObject({
      skills: z
        .array(
          z.strictObject({
            path: z.string().max(4_096),
            hash: skillHash,
            /** The hash of the installed skill that it replaces. */
            replaces: skillHash.optional(),
          }),
        )
        .min(1)
        .max(200),
    }),
    example: { skills: [{ path: "deploy", hash: "0".repeat(64) }] },
    answer: listAnswer,
    problems: ["skill_not_found", "skill_changed", "skill_exists"],
    headers: idempotencyHeader,
    repeat: "key",
  }),
  discardSkills: defineRoute({
    method: "DELETE",
    path: "/api/skills/installs/:id",
    summary: "Delete from the quarantine what is not to be installed",
    access: "principal",
    params: installParams,
    answer: { media: "none", status: 204 },
    problems: [],
    repeat: "safe",
  }),
  listSessionSkills: defineRoute({
    method: "GET",
    path: "/api/sessions/:id/skills",
    summary: "The skills of a session, and those of its workspace that wait for a decision",
    access: "principal",
    params: sessionParams,
    answer: sessionAnswer,
    problems: ["session_not_found"],
    repeat: "safe",
  }),
  trustSkill: defineRoute({
    method: "POST",
    path: "/api/sessions/:id/skills/trust",
    summary: "Trust or refuse a skill of the workspace, with exactly the content that was read",
    access: "principal",
    params: sessionParams,
    body: z.strictObject({
      path: z.string().min(1).max(4_096),
      hash: skillHash,
      decision: z.enum(["trusted", "refused"]),
    }),
    example: { path: ".agents/skills/deploy", hash: "0".repeat(64), decision: "refused" },
    answer: sessionAnswer,
    problems: ["session_not_found", "skill_not_found", "skill_changed"],
    headers: idempotencyHeader,
    repeat: "key",
  }),
} as const;
