import { z } from "zod";
import { accessProblems } from "./util/access-problems.ts";
import { gatewayProblems } from "./util/gateway-problems.ts";
import { importProblems } from "./util/import-problems.ts";
import { mcpProblems } from "./util/mcp-problems.ts";
import { memoryProblems } from "./util/memory-problems.ts";

/** Problems of rights profiles, and of facts that wait for a person's yes. */
const rightsProblems = {
  rights_not_found: {
    status: 404,
    title: "There is no rights profile with this name.",
    next: "Read the rights again, or create the profile first.",
  },
  rights_built_in: {
    status: 409,
    title: "This rights profile is built in and cannot be changed.",
    next: "Create one under another name and assign that.",
  },
  rights_in_use: {
    status: 409,
    title: "This rights profile is still assigned.",
    next: "Assign another one first; the list of rights shows who has it.",
  },
  too_many_rights: {
    status: 409,
    title: "There are too many rights profiles or assignments.",
    next: "Remove one that is no longer needed.",
  },
  ...memoryProblems,
} as const;

/** The media type of every error response. */
export const problemMediaType = "application/problem+json";

interface ProblemKind {
  readonly status: number;
  readonly title: string;
  /** What the reader can do about it. */
  readonly next: string;
}

const retryLater = "Wait a moment and send the same request again.";
const rereadSession = "Look at the conversation as it is now before you try again.";
const nothingChanged = "The conversation and its files are as they were.";

/** The stable codes. A code may be added, never renamed, and never get another meaning. */
export const problemKinds = {
  invalid_request: {
    status: 400,
    title: "The request is not valid.",
    next: "Correct the fields listed in `errors`.",
  },
  malformed_json: {
    status: 400,
    title: "The body is not valid JSON.",
    next: "Send a JSON document in UTF-8.",
  },
  model_unknown: {
    status: 400,
    title: "There is no such model.",
    next: "Choose one from the list of models.",
  },
  model_unusable: {
    status: 409,
    title: "This model is not set up yet.",
    next: "Set its provider's key or address in the settings or in the environment.",
  },
  mode_too_wide: {
    status: 403,
    title: "The session cannot be switched to this mode from here.",
    next: "Switch it where approvals are answered, such as the page. A child's mode is at most its parent's.",
  },
  unauthorized: {
    status: 401,
    title: "You are not signed in.",
    next: "Sign in, or send a bearer token.",
  },
  forbidden: {
    status: 403,
    title: "This is not allowed.",
    next: "Use an account, host name or origin that is allowed.",
  },
  not_found: {
    status: 404,
    title: "There is nothing at this address.",
    next: "Check the address.",
  },
  session_not_found: {
    status: 404,
    title: "There is no such session.",
    next: "Choose one from the list.",
  },
  run_not_found: { status: 404, title: "There is no such run.", next: rereadSession },
  message_not_found: {
    status: 404,
    title: "No such message is waiting in the inbox.",
    next: rereadSession,
  },
  entry_not_found: {
    status: 404,
    title: "This entry is not in the conversation as it is shown now.",
    next: rereadSession,
  },
  epoch_not_found: { status: 404, title: "There is no such epoch.", next: rereadSession },
  approval_not_found: {
    status: 404,
    title: "There is no such approval.",
    next: "Read the open approvals again.",
  },
  grant_not_found: {
    status: 404,
    title: "There is no such permission for a session.",
    next: "Read the permissions again.",
  },
  rule_not_found: {
    status: 404,
    title: "There is no such rule.",
    next: "Read the rules again.",
  },
  ...gatewayProblems,
  ...rightsProblems,
  blob_unreadable: {
    status: 502,
    title: "The bytes of this blob are lost or damaged where they are kept.",
    next: "Ask the operator to run holdfast fsck, and to restore the object from the bucket's backup.",
  },
  blob_not_found: { status: 404, title: "There is no such blob.", next: "Upload it again." },
  ...accessProblems,
  mcp_server_not_found: {
    status: 404,
    title: "There is no such MCP server.",
    next: "Choose one from the list of servers.",
  },
  ...mcpProblems,
  request_timeout: {
    status: 408,
    title: "The request took too long to arrive.",
    next: retryLater,
  },
  method_not_allowed: {
    status: 405,
    title: "This address does not support that method.",
    next: "Use a method listed in `Allow`.",
  },
  revision_conflict: {
    status: 412,
    title: "The session's settings were changed in the meantime.",
    next: "Read the session, and send the change with its current revision.",
  },
  head_moved: {
    status: 409,
    title: "The conversation has continued in the meantime.",
    next: rereadSession,
  },
  instructions_changed: {
    status: 409,
    title: "The instructions in this folder were changed in the meantime.",
    next: "Read them again, and decide on what they say now.",
  },
  run_live: {
    status: 409,
    title: "A run is in progress.",
    next: "Wait for it, cancel it, or send `interrupt: true`.",
  },
  run_ended: {
    status: 409,
    title: "The run has already ended.",
    next: "Check its state; resume it, or send a message.",
  },
  history_live: {
    status: 409,
    title: "The conversation is being changed right now.",
    next: retryLater,
  },
  cancel_pending: {
    status: 409,
    title: "The run is being cancelled.",
    next: retryLater,
  },
  compaction_live: {
    status: 409,
    title: "The session is being compacted.",
    next: "Wait until it has finished.",
  },
  idempotency_conflict: {
    status: 409,
    title: "This key was used for another request.",
    next: "Use a new key for new content.",
  },
  input_claimed: {
    status: 409,
    title: "This message has already started.",
    next: "Cancel its run, or undo it afterwards.",
  },
  files_unavailable: {
    status: 409,
    title: "The earlier content of these files is not saved here.",
    next: "Undo on the machine that the turn ran on, in the same folder, or undo the conversation alone.",
  },
  nothing_to_undo: { status: 409, title: "There is nothing to undo.", next: nothingChanged },
  nothing_to_gain: {
    status: 409,
    title: "A summary would free less than a fifth of the context.",
    next: "Continue the conversation, or begin a new session.",
  },
  nothing_to_redo: { status: 409, title: "There is nothing to redo.", next: nothingChanged },
  approval_answered: {
    status: 409,
    title: "This approval was already answered, or has expired.",
    next: "Read the open approvals again.",
  },
  session_exists: {
    status: 409,
    title: "There is already a session with this id.",
    next: "Choose another id, or use that session.",
  },
  session_not_trashed: {
    status: 409,
    title: "The session is not in the trash.",
    next: rereadSession,
  },
  version_conflict: {
    status: 409,
    title: "The conversation was changed in the meantime.",
    next: rereadSession,
  },
  covers_cut: {
    status: 409,
    title: "The messages to summarise were removed in the meantime.",
    next: rereadSession,
  },
  epoch_moved: {
    status: 409,
    title: "The session was compacted in the meantime.",
    next: rereadSession,
  },
  session_trashed: {
    status: 409,
    title: "The session is in the trash.",
    next: "Restore it first.",
  },
  ...importProblems,
  export_unsupported: {
    status: 409,
    title: "This host has no key for signing an audit export.",
    next: "Run holdfast doctor on the host; it says what is wrong with its key.",
  },
  backup_unsupported: {
    status: 409,
    title: "This host does not back up its database.",
    next: "Use the database's own tools, such as pg_dump, or holdfast export --all, which writes everything to one file.",
  },
  backup_failed: {
    status: 409,
    title: "The backup could not be made or checked.",
    next: "Fix what `detail` names, for example by freeing disk space, and try again.",
  },
  payload_too_large: {
    status: 413,
    title: "The request is too large.",
    next: "Send less, or upload it as a blob.",
  },
  unsupported_media_type: {
    status: 415,
    title: "This media type is not accepted here.",
    next: "Send the media type that the API describes.",
  },
  too_many_requests: { status: 429, title: "Too many requests.", next: retryLater },
  internal: {
    status: 500,
    title: "Something went wrong here.",
    next: "Try again. If it happens again, look for the `instance` in the host's log.",
  },
  store_unavailable: { status: 503, title: "The store cannot be reached.", next: retryLater },
  store_unwritable: {
    status: 503,
    title: "The store does not accept writes. It can still be read.",
    next: "See /health for the reason. Nothing was written; the host continues by itself once the disk accepts writes again.",
  },
  store_busy: { status: 503, title: "The store was locked for too long.", next: retryLater },
  store_unknown: {
    status: 503,
    title: "It is not known whether this was written.",
    next: "Send the same request again with the same key: it is done only once.",
  },
  shutting_down: { status: 503, title: "The host is stopping.", next: retryLater },
  store_full: { status: 507, title: "The store is full.", next: "Free space on the host's disk." },
} as const satisfies Record<string, ProblemKind>;

export type ProblemCode = keyof typeof problemKinds;

/** Loose, with an open code: a newer host may return a problem that this version does not know. */
export const problem = z.looseObject({
  type: z.string(),
  title: z.string(),
  status: z.int().min(400).max(599),
  code: z.string(),
  detail: z.string().optional(),
  next: z.string().optional(),
  /** Identifies this one occurrence, also in the host's log. */
  instance: z.string().optional(),
  /** In seconds. */
  retryAfter: z.number().optional(),
  errors: z.array(z.looseObject({ path: z.string(), message: z.string() })).optional(),
});
export type Problem = z.infer<typeof problem>;

export interface ProblemDetails {
  readonly detail?: string;
  readonly instance?: string;
  /** In seconds; also in the header of that name. */
  readonly retryAfter?: number;
  readonly errors?: { path: string; message: string }[];
}

export function makeProblem(
  code: ProblemCode,
  details: ProblemDetails = {},
): Problem & { code: ProblemCode } {
  return { type: "about:blank", ...problemKinds[code], code, ...details };
}

/** What is wrong with a refused request's fields, without repeating the values. */
export function fieldErrors(error: z.core.$ZodError): { path: string; message: string }[] {
  return error.issues.map((issue) => ({ path: issue.path.join("."), message: issue.message }));
}

export function isProblemCode(code: string): code is ProblemCode {
  return Object.hasOwn(problemKinds, code);
}
