import type { AgentRequest, Log, Tool } from "@holdfast/engine";
import { ids, newEvent, type SessionId } from "@holdfast/protocol";
import type { Mcp } from "./mcp.ts";

export interface AgentTools {
  readonly tools: ReadonlyMap<string, Tool>;
  /** Identifies the tools that may change while the host runs; empty if none can. */
  readonly signature: string;
}

const maxAnnounced = 1_000;

/**
 * An agent's tools: the host's own, then the current ones of MCP servers. P9: a changed offer changes the signature, so
 * the session's next turn starts a new frame, which records it.
 */
export function withServerTools(
  own: ReadonlyMap<string, Tool>,
  mcp: Pick<Mcp, "tools">,
  log: Pick<Log, "commit">,
): (request: AgentRequest) => Promise<AgentTools> {
  const announced = new Map<SessionId, string>();

  /** Once per session, and again when the missing servers change, so that people learn why a tool is unavailable. */
  async function announceMissing({ owner, session }: AgentRequest, names: readonly string[]) {
    const nameList = names.join(", ");
    if (names.length === 0 || announced.get(session) === nameList) return;
    announced.set(session, nameList);
    const [oldest] = announced.keys();
    if (announced.size > maxAnnounced && oldest !== undefined) announced.delete(oldest);
    // Contains nothing a server said: the model takes this as the host's own statement.
    const text = `The tools of these MCP servers are missing, since they are not connected: ${nameList}. They are tried again by themselves.`;
    const noticeId = ids.make("notice");
    const notice = newEvent(ids.make("event"), "notice.added", {
      noticeId,
      kind: "mcp_missing",
      text,
    });
    await log.commit({ owner, session, events: [notice], touch: "quiet" });
  }

  return async (request) => {
    const { tools, hash, missing } = await mcp.tools();
    await announceMissing(
      request,
      missing.map(({ name }) => name),
    );
    const merged = new Map(tools.size === 0 ? own : [...own, ...tools, ...own]);
    return { tools: merged, signature: hash === "" ? "" : `mcp=${hash}` };
  };
}
