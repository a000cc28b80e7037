import { z } from "zod";

import { blobId } from "../ids.ts";
import { json, jsonObject } from "../parts.ts";
import { defineRoute } from "./define.ts";
import { limitText, pageCursor, seqText } from "./fields.ts";
import { sessionParams } from "./sessions.ts";
import { blobView, searchHit } from "./views.ts";

const cursorMap = z.string().max(20_000);

export const streamRoutes = {
  followSession: defineRoute({
    method: "GET",
    path: "/api/sessions/:id/events",
    summary: "Follow a session's events after a number",
    access: "principal",
    params: sessionParams,
    query: z.strictObject({ after: seqText.optional() }),
    /** Sent by a browser that reconnects by itself; it overrides `after`. */
    headers: z.object({ "last-event-id": seqText.optional() }),
    answer: { media: "events", status: 200 },
    problems: ["session_not_found"],
    repeat: "safe",
  }),
  watchSessions: defineRoute({
    method: "GET",
    path: "/api/events",
    summary:
      "One stream for a tab: events of the sessions that it watches, and hints about the list",
    access: "principal",
    /** `ses_a:12,ses_b:0`, as `encodeCursors` writes it. */
    query: z.strictObject({ watch: cursorMap.optional() }),
    headers: z.object({ "last-event-id": cursorMap.optional() }),
    answer: { media: "events", status: 200 },
    problems: ["session_not_found"],
    repeat: "safe",
  }),
} as const;

export const systemRoutes = {
  putBlob: defineRoute({
    method: "POST",
    path: "/api/blobs",
    summary: "Keep bytes by their content",
    access: "principal",
    /** With their own media type and no wrapper. */
    body: "bytes",
    largestBody: 25 * 1024 * 1024,
    answer: { media: "json", status: 201, schema: blobView },
    problems: [],
    // The same bytes are the same blob.
    repeat: "safe",
  }),
  getBlob: defineRoute({
    method: "GET",
    path: "/api/blobs/:id",
    summary: "The bytes of a blob",
    access: "principal",
    params: z.strictObject({ id: blobId }),
    /** The link key of a sign-in, for images and downloads. */
    query: z.strictObject({
      key: z.string().max(512).optional(),
      /** To look at in a frame of the page, which is how browsers show a PDF. */
      as: z.literal("view").optional(),
    }),
    linked: true,
    answer: { media: "bytes", status: 200 },
    problems: ["blob_not_found", "blob_unreadable"],
    repeat: "safe",
  }),
  search: defineRoute({
    method: "GET",
    path: "/api/search",
    summary: "Find words in every session",
    access: "principal",
    query: z.strictObject({
      q: z.string().min(1).max(200),
      limit: limitText.optional(),
      cursor: pageCursor.optional(),
    }),
    answer: {
      media: "json",
      status: 200,
      schema: z.looseObject({ hits: z.array(searchHit), nextCursor: z.string().nullable() }),
    },
    problems: [],
    repeat: "safe",
  }),
  health: defineRoute({
    method: "GET",
    path: "/health",
    summary: "Whether the host serves",
    access: "open",
    answer: {
      media: "json",
      status: 200,
      schema: z.looseObject({
        status: z.string(),
        version: z.string(),
        store: z
          .looseObject({
            /** Sessions that have lost confirmed events in the last days, and when the last loss was noticed. */
            lost: z.looseObject({ sessions: z.int(), at: z.int() }).optional(),
          })
          .optional(),
      }),
    },
    problems: [],
    repeat: "safe",
  }),
  metrics: defineRoute({
    method: "GET",
    path: "/metrics",
    summary: "Counters and gauges in the Prometheus text format",
    access: "principal",
    answer: { media: "text", status: 200 },
    problems: [],
    repeat: "safe",
  }),
  apiDocs: defineRoute({
    method: "GET",
    path: "/api/docs",
    summary: "This contract as a page",
    access: "principal",
    answer: { media: "text", status: 200 },
    problems: [],
    repeat: "safe",
  }),
  openapi: defineRoute({
    method: "GET",
    path: "/api/openapi.json",
    summary: "This contract as an OpenAPI document",
    access: "principal",
    answer: { media: "json", status: 200, schema: jsonObject },
    problems: [],
    repeat: "safe",
  }),
} as const;

/** The settings that can be changed while the host runs. Names may be added, never renamed. */
export const pageSettingNames = [
  "model",
  "smallModel",
  "modelFallback",
  "modelEffort",
  "sessionMode",
  "timeZone",
  "toolPolicy",
  "toolRules",
  "disabledTools",
  "sandbox",
  "searchProvider",
  "searxngUrl",
  "webhookCommands",
  "spendPerRun",
  "spendPerDay",
  "spendPerSession",
] as const;
export type PageSettingName = (typeof pageSettingNames)[number];
const settingName = z.enum(pageSettingNames);

export const settingView = z.looseObject({
  name: settingName,
  about: z.string(),
  /** Completes the sentence "it must be …". */
  allowed: z.string(),
  /** What applies; `null` if nothing is set. */
  value: json,
  /** `page`: it was set by `putSetting`. Flag, environment and file win over that. */
  source: z.looseObject({
    from: z.enum(["default", "page", "flag", "environment", "file"]),
    name: z.string().optional(),
    path: z.string().optional(),
  }),
  /** When a change takes effect. */
  effect: z.enum(["now", "restart"]),
  /** The value after the next start, if it is another one. */
  afterRestart: json.optional(),
});
export type SettingView = z.infer<typeof settingView>;

const toolView = z.looseObject({
  name: z.string(),
  description: z.string(),
  enabled: z.boolean(),
});
export type ToolView = z.infer<typeof toolView>;

const withSetting = z.looseObject({ setting: settingView });
const params = z.strictObject({ name: settingName });

export const settingRoutes = {
  listSettings: defineRoute({
    method: "GET",
    path: "/api/settings",
    summary: "The settings that can be changed here, where each came from, and the tools",
    access: "principal",
    answer: {
      media: "json",
      status: 200,
      schema: z.looseObject({ settings: z.array(settingView), tools: z.array(toolView) }),
    },
    problems: [],
    repeat: "safe",
  }),
  putSetting: defineRoute({
    method: "PUT",
    path: "/api/settings/:name",
    summary: "Change a setting, unless a flag, the environment or the file sets it",
    access: "principal",
    params,
    body: z.strictObject({ value: json }),
    example: { value: "rehearsal" },
    answer: { media: "json", status: 200, schema: withSetting },
    problems: ["setting_configured", "model_unknown", "model_unusable"],
    repeat: "safe",
  }),
  deleteSetting: defineRoute({
    method: "DELETE",
    path: "/api/settings/:name",
    summary: "Return a setting to its default",
    access: "principal",
    params,
    answer: { media: "json", status: 200, schema: withSetting },
    problems: ["setting_configured"],
    repeat: "safe",
  }),
} as const;
