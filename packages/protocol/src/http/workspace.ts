import { z } from "zod";

import { defineRoute } from "./define.ts";
import { idempotencyHeader, sessionParams } from "./sessions.ts";
import { instant } from "./views.ts";

export const workspaceView = z.looseObject({
  folder: z.string(),
  /** The workspace's instruction file for agents; `null` if there is none. */
  instructions: z.looseObject({ file: z.string(), text: z.string(), hash: z.string() }).nullable(),
  /** For exactly this text. Only trusted text becomes part of a session's frame. */
  trust: z.enum(["trusted", "refused", "undecided"]),
});
export type WorkspaceView = z.infer<typeof workspaceView>;

/** A folder that the owner has allowed sessions to work in. */
export const allowedFolder = z.looseObject({
  id: z.string(),
  path: z.string(),
  allowedAt: instant,
});
export type AllowedFolder = z.infer<typeof allowedFolder>;

/** `allowed`: a session may name it. `askable`: it may once the owner says yes. `refused`: it never may. */
const folderState = z.looseObject({
  path: z.string(),
  state: z.enum(["allowed", "askable", "refused"]),
  reason: z.string().optional(),
});

const folderPath = z
  .string()
  .max(4096)
  .regex(/^\/[^\0]*$/, "expected an absolute path");

/** One name in a folder of a workspace. A link is listed as such; opening it stays inside the workspace. */
export const workspaceEntry = z.looseObject({
  name: z.string(),
  kind: z.enum(["file", "folder", "link", "other"]),
  /** In bytes; only of a file. */
  size: z.int().optional(),
  changedAt: instant.optional(),
});
export type WorkspaceEntry = z.infer<typeof workspaceEntry>;

const filePath = z.string().max(4096);

const common = { access: "principal", params: sessionParams } as const;

export const workspaceRoutes = {
  readWorkspace: defineRoute({
    ...common,
    method: "GET",
    path: "/api/sessions/:id/workspace",
    summary: "What the session's workspace says to agents, and whether that is trusted",
    answer: { media: "json", status: 200, schema: workspaceView },
    problems: ["session_not_found"],
    repeat: "safe",
  }),
  trustWorkspace: defineRoute({
    ...common,
    method: "POST",
    path: "/api/sessions/:id/workspace/trust",
    summary: "Trust or refuse what the workspace says to agents, in the words that were read",
    body: z.strictObject({
      hash: z.string().regex(/^[0-9a-f]{64}$/, "expected the hash of the text"),
      decision: z.enum(["trusted", "refused"]),
    }),
    example: { hash: "0".repeat(64), decision: "refused" },
    answer: { media: "json", status: 200, schema: workspaceView },
    problems: ["session_not_found", "instructions_changed"],
    headers: idempotencyHeader,
    repeat: "key",
  }),
  takeOverWorkspace: defineRoute({
    ...common,
    method: "POST",
    path: "/api/sessions/:id/workspace/take-over",
    summary: "Give up the files of a host that is gone, and continue here with an empty folder",
    body: z.strictObject({}),
    example: {},
    answer: { media: "json", status: 200, schema: workspaceView },
    problems: ["session_not_found", "workspace_not_lost", "file_refused", "workspace_elsewhere"],
    headers: idempotencyHeader,
    repeat: "key",
  }),
  listFolders: defineRoute({
    method: "GET",
    path: "/api/folders",
    summary:
      "Where sessions may work: the operator's roots, and the folders that the owner allowed",
    access: "principal",
    answer: {
      media: "json",
      status: 200,
      schema: z.looseObject({ roots: z.array(z.string()), folders: z.array(allowedFolder) }),
    },
    problems: [],
    repeat: "safe",
  }),
  checkFolder: defineRoute({
    method: "GET",
    path: "/api/folders/check",
    summary: "Whether sessions may work in a folder, or may once the owner says yes",
    access: "principal",
    query: z.strictObject({ path: folderPath }),
    answer: { media: "json", status: 200, schema: folderState },
    problems: [],
    repeat: "safe",
  }),
  allowFolder: defineRoute({
    method: "PUT",
    path: "/api/folders",
    summary: "Allow sessions to work in a folder of this machine; only the token itself can",
    access: "principal",
    body: z.strictObject({ path: folderPath }),
    example: { path: "/projects/tides" },
    answer: { media: "json", status: 200, schema: z.looseObject({ folder: allowedFolder }) },
    problems: ["folder_refused"],
    repeat: "safe",
  }),
  forgetFolder: defineRoute({
    method: "DELETE",
    path: "/api/folders/:id",
    summary: "No longer allow a folder; sessions that name it then work in their own",
    access: "principal",
    params: z.strictObject({ id: z.string().regex(/^[0-9a-f]{16}$/, "expected a folder's id") }),
    answer: { media: "none", status: 204 },
    problems: ["folder_not_found"],
    repeat: "safe",
  }),
  listFiles: defineRoute({
    ...common,
    method: "GET",
    path: "/api/sessions/:id/files",
    summary: "The names in a folder of the session's workspace",
    query: z.strictObject({ path: filePath.optional() }),
    answer: {
      media: "json",
      status: 200,
      schema: z.looseObject({
        /** The workspace, as the host names it. */
        root: z.string(),
        /** From the workspace, without links; empty for the workspace itself. */
        path: z.string(),
        entries: z.array(workspaceEntry),
        /** Names beyond the most that are listed. */
        more: z.int(),
      }),
    },
    problems: ["session_not_found", "file_not_found", "file_refused"],
    repeat: "safe",
  }),
  readFile: defineRoute({
    ...common,
    method: "GET",
    path: "/api/sessions/:id/file",
    summary: "A file of the session's workspace, to download or as a preview that runs nothing",
    query: z.strictObject({
      path: filePath.min(1),
      /** `text`: the beginning, as plain text. `view`: a picture, a PDF or a page to look at. By default a download. */
      as: z.enum(["download", "text", "view"]).optional(),
      /** The link key of a sign-in, for images and downloads. */
      key: z.string().max(512).optional(),
    }),
    linked: true,
    answer: { media: "bytes", status: 200 },
    problems: ["session_not_found", "file_not_found", "file_refused", "file_too_large"],
    repeat: "safe",
  }),
  writeFile: defineRoute({
    ...common,
    method: "PUT",
    path: "/api/sessions/:id/file",
    summary: "Put a file into the session's workspace",
    query: z.strictObject({
      path: filePath.min(1),
      /** `replace`: also where a file of this name is there already. */
      existing: z.enum(["keep", "replace"]).optional(),
    }),
    body: "bytes",
    largestBody: 25 * 1024 * 1024,
    answer: {
      media: "json",
      status: 200,
      schema: z.looseObject({ path: z.string(), size: z.int() }),
    },
    problems: ["session_not_found", "file_not_found", "file_refused", "file_exists"],
    // A repeat finds its own bytes.
    repeat: "safe",
  }),
} as const;
