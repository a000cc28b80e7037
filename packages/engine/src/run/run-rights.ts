import {
  intersectRights,
  isUnlimited,
  type LaneKey,
  laneKey,
  mayUseTool,
  noRights,
  type OwnerId,
  ownerRights,
  rights as rightsSchema,
  type Rights,
  type SessionId,
  type StoredEvent,
} from "@holdfast/protocol";
import type { ContextEntries } from "../context/session-context.ts";
import type { InputRow } from "../ports/rows.ts";
import type { Tool } from "../ports/tool.ts";

/** Where a message came from, and what its sender gave it at most. */
export interface RightsQuestion {
  readonly owner: OwnerId;
  readonly session: SessionId;
  readonly lane: LaneKey | null;
  readonly clientId: string | null;
  readonly given: Rights | null;
}

/** What a message may cause. By default everything that its sender did not take away. */
export type RightsOf = (question: RightsQuestion) => Promise<Rights>;

export interface RightsDeps {
  readonly rightsOf?: RightsOf | undefined;
}

interface SessionRef {
  readonly owner: OwnerId;
  readonly session: SessionId;
}

const asGiven: RightsOf = async ({ given }) => given ?? ownerRights;

export function rightsOfInput(
  { rightsOf = asGiven }: RightsDeps,
  { owner, session }: SessionRef,
  { lane, clientId, content }: Pick<InputRow, "lane" | "clientId" | "content">,
): Promise<Rights> {
  return rightsOf({ owner, session, lane, clientId, given: content?.rights ?? null });
}

/** The newest message of a context says what its run may do. Compaction never covers it. */
function newestMessage({
  head,
  tail,
}: Pick<ContextEntries, "head" | "tail">): StoredEvent | undefined {
  const isMessage = ({ type }: StoredEvent) => type === "message.user";
  return tail.findLast(isMessage) ?? head.findLast(isMessage);
}

/**
 * What the run may do now. A run that continues another has no message of its own, and so the rights of the one it
 * continues.
 */
export function rightsOfRun(
  deps: RightsDeps,
  run: SessionRef,
  context: Pick<ContextEntries, "head" | "tail">,
): Promise<Rights> {
  return rightsOfMessage(deps, run, newestMessage(context));
}

/** The same for each round of a run: it is looked up again only when a message has come. */
export function createRunRights(
  deps: RightsDeps,
  run: SessionRef,
): (context: Pick<ContextEntries, "head" | "tail">) => Promise<Rights> {
  let known: { readonly message: StoredEvent | undefined; readonly rights: Rights } | null = null;
  return async (context) => {
    const message = newestMessage(context);
    if (known === null || known.message !== message)
      known = { message, rights: await rightsOfMessage(deps, run, message) };
    return known.rights;
  };
}

async function rightsOfMessage(
  { rightsOf = asGiven }: RightsDeps,
  { owner, session }: SessionRef,
  message: StoredEvent | undefined,
): Promise<Rights> {
  const { lane, clientId, rights: recorded } = message?.data ?? {};
  // Unreadable rights allow nothing.
  if (recorded !== undefined) return rightsSchema.safeParse(recorded).data ?? noRights;
  return rightsOf({
    owner,
    session,
    lane: laneKey.safeParse(lane).data ?? null,
    clientId: typeof clientId === "string" ? clientId : null,
    given: null,
  });
}

/** As a message records them; nothing where nothing is limited. */
export function recordedRights(rights: Rights): { readonly rights?: Rights } {
  return isUnlimited(rights) ? {} : { rights };
}

/** A message from another place narrows what the run may do, and never widens it. */
export function narrowRights(current: Rights, added: Rights): Rights {
  return isUnlimited(added) ? current : intersectRights(current, added);
}

export function permittedTools(
  tools: ReadonlyMap<string, Tool>,
  rights: Rights,
): ReadonlyMap<string, Tool> {
  if (rights.tools.includes("*")) return tools;
  return new Map([...tools].filter(([name]) => mayUseTool(rights, name)));
}
