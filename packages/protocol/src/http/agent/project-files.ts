import { z } from "zod";

import { blobId } from "../../ids.ts";
import { defineRoute } from "../define.ts";
import { instant } from "../views.ts";

export const maxProjectFiles = 20;
export const maxProjectFileBytes = 10 * 1024 * 1024;
/** What sessions are given of all files of a project together. */
export const maxProjectFileCharacters = 40_000;

/** A text or a PDF, whose text the sessions of the project start with. Its bytes are the blob's. */
export const projectFileView = z.looseObject({
  id: z.string(),
  name: z.string(),
  blobId,
  mediaType: z.string(),
  size: z.int().nonnegative(),
  addedAt: instant,
});
export type ProjectFileView = z.infer<typeof projectFileView>;

const params = z.strictObject({ id: z.string().min(1).max(60) });

export const projectFileRoutes = {
  listProjectFiles: defineRoute({
    method: "GET",
    path: "/api/projects/:id/files",
    summary: "The files of a project by name",
    access: "principal",
    params,
    answer: {
      media: "json",
      status: 200,
      schema: z.looseObject({ files: z.array(projectFileView) }),
    },
    problems: ["project_not_found"],
    repeat: "safe",
  }),
  addProjectFile: defineRoute({
    method: "POST",
    path: "/api/projects/:id/files",
    summary:
      "Give a project a text or a PDF that was uploaded as a blob. Its sessions get the text with their next answer",
    access: "principal",
    params,
    body: z.strictObject({
      name: z
        .string()
        .max(255)
        .refine((name) => name.trim() !== "", "expected a name"),
      blobId,
      /** Replaces a file of the same name, which is an error otherwise. */
      replace: z.boolean().optional(),
    }),
    example: { name: "tides.md", blobId: `blob_${"0".repeat(64)}` },
    answer: { media: "json", status: 201, schema: z.looseObject({ file: projectFileView }) },
    problems: [
      "project_not_found",
      "blob_not_found",
      "project_file_exists",
      "project_file_too_large",
      "project_file_not_text",
      "too_many_project_files",
    ],
    // The same name and bytes are the same file.
    repeat: "safe",
  }),
  removeProjectFile: defineRoute({
    method: "DELETE",
    path: "/api/projects/:id/files/:file",
    summary: "Delete a file of a project. Its sessions lose it with their next answer",
    access: "principal",
    params: z.strictObject({ ...params.shape, file: z.string().min(1).max(60) }),
    answer: { media: "none", status: 204 },
    problems: ["project_not_found", "project_file_not_found"],
    repeat: "safe",
  }),
} as const;
