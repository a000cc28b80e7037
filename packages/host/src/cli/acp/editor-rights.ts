import { type Client, problemError } from "@holdfast/client";
import {
  builtInProfiles,
  isWiderMode,
  type LaneKey,
  laneKey,
  makeProblem,
  modeOf,
  type ProfileView,
  type SessionId,
  type SessionView,
} from "@holdfast/protocol";
import { acpStrings } from "../strings/acp.ts";
import { requestErrorFrom } from "./errors.ts";

/** What an editor may see and answer. The host itself decides what its messages may cause. */
export interface EditorRights {
  readonly lane: LaneKey;
  /** Marks the sessions that this editor has made. */
  readonly tag: string;
  readonly sessions: "own" | "all";
  readonly approvals: boolean;
  /** It connects with an API key, whose sessions are its own. */
  readonly isKey: boolean;
  mayReach(session: Pick<SessionView, "tags">): boolean;
}

const maxNameLength = 40;

/** A name that can be part of a lane, from what an editor calls itself. */
export function editorName(name: string | undefined): string {
  const plain = (name ?? "").toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
  return plain.slice(0, maxNameLength).replaceAll(/^-+|-+$/g, "") || "editor";
}

/**
 * The profile of the editor's lane, else that of all editors, else the owner's. Whoever connects with an API key reaches
 * the sessions of that key alone, and the host checks the rest.
 */
export async function readEditorRights(client: Client, name: string): Promise<EditorRights> {
  const lane = laneKey.parse(`acp:${name}`);
  const assigned = await profileOf(client, lane);
  const isKey = assigned === "key";
  const profile = isKey ? builtInProfiles.owner : (assigned ?? builtInProfiles.owner);
  const tag = `acp:${name}`;
  const sessions = profile.sessions === "all" ? "all" : "own";
  return {
    lane,
    tag,
    sessions,
    approvals: profile.approvals,
    isKey,
    mayReach: ({ tags }) => sessions === "all" || tags.includes(tag),
  };
}

/** `undefined`: nothing was assigned. A missing profile allows nothing. */
async function profileOf(
  client: Client,
  lane: LaneKey,
): Promise<Pick<ProfileView, "sessions" | "approvals"> | "key" | undefined> {
  const read = await client.readRights();
  if (!read.ok && read.error.code === "forbidden") return "key";
  if (!read.ok) throw requestErrorFrom(read.error);
  const { profiles, assignments } = read.value;
  const assigned = [`lane:${lane}`, "editors"].flatMap(
    (who) => assignments.find(({ subject }) => subject === who)?.profile ?? [],
  );
  const [name] = assigned;
  if (name === undefined) return undefined;
  return profiles.find((profile) => profile.name === name) ?? { sessions: "own", approvals: false };
}

/**
 * The API as this editor may use it, although the bridge has the owner's token: who answers no approvals does not widen
 * a session's mode, neither by an option nor by a command.
 */
export function withinRights(client: Client, { approvals }: EditorRights): Client {
  if (approvals) return client;
  return {
    ...client,
    async changeSession(request) {
      const { params, body: { mode } = {} } = request;
      if (mode === undefined) return client.changeSession(request);
      const read = await client.readSession({ params, query: { limit: 1 } });
      if (!read.ok) return read;
      const current = modeOf(read.value.session);
      if (!isWiderMode(mode, current)) return client.changeSession(request);
      const detail = acpStrings.narrowMode(current);
      return { ok: false, error: problemError(makeProblem("forbidden", { detail })) };
    },
  };
}

/** For commands that show other sessions. */
export function reachFilter(
  client: Client,
  rights: EditorRights,
): { mayReach?: (session: SessionId) => Promise<boolean> } {
  if (rights.sessions === "all") return {};
  return {
    async mayReach(id) {
      const read = await client.readSession({ params: { id }, query: { limit: 1 } });
      return read.ok && rights.mayReach(read.value.session);
    },
  };
}
