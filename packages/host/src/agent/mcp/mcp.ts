import type { AgentRequest, Log, Tool } from "@holdfast/engine";
import { ids, newEvent, type SessionId } from "@holdfast/protocol";

import type { Mcp } from "./index.ts";

export interface AgentTools {
  readonly tools: ReadonlyMap<string, Tool>;
  /** Names those that may change while the host runs; empty where none can. */
  readonly signature: string;
}

const maxAnnounced = 1_000;

/**
 * An agent's tools: the host's own, and behind them what the MCP servers offer at this moment. P9: another offer is another
 * signature, so that a session's next turn begins a new frame, which says so.
 */
export function withServerTools(
  own: ReadonlyMap<string, Tool>,
  mcp: Pick<Mcp, "tools">,
  log: Pick<Log, "commit">,
): (request: AgentRequest) => Promise<AgentTools> {
  const told = new Map<SessionId, string>();

  /** Once for each session, and again when others are missing: whoever waits for a tool learns why it is not there. */
  async function tellMissing({ owner, session }: AgentRequest, names: readonly string[]) {
    const words = names.join(", ");
    if (names.length === 0 || told.get(session) === words) return;
    told.set(session, words);
    const [oldest] = told.keys();
    if (told.size > maxAnnounced && oldest !== undefined) told.delete(oldest);
    // Nothing of what a server has said: this is told to the model as the host's own word.
    const text = `The tools of these MCP servers are missing, since they are not connected: ${words}. They are tried again by themselves.`;
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
    await tellMissing(
      request,
      missing.map(({ name }) => name),
    );
    const merged = new Map(tools.size === 0 ? own : [...own, ...tools, ...own]);
    return { tools: merged, signature: hash === "" ? "" : `mcp=${hash}` };
  };
}
