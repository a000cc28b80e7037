import type { AgentRequest, Log, Tool } from "@holdfast/engine";
import { ids, newEvent, type SessionId } from "@holdfast/protocol";
import type { Mcp } from "./mcp.ts";
import type { SignInNotices } from "./sign-in/notices.ts";

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
  mcp: Pick<Mcp, "tools" | "signInOf">,
  log: Pick<Log, "commit">,
  signIns?: SignInNotices,
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

  /** A call that its server refused for want of a sign-in says so to the people of the conversation. */
  function withNotice(name: string, tool: Tool): Tool {
    return {
      ...tool,
      async run(call, context) {
        const result = await tool.run(call, context);
        if (result.outcome === "failed" && mcp.signInOf(name) === "needed")
          await signIns?.tell(call, name);
        return result;
      },
    };
  }

  return async (request) => {
    const { tools: offered, hash, missing } = await mcp.tools();
    await announceMissing(
      request,
      missing.flatMap(({ name, signIn }) => (signIn === "needed" ? [] : name)),
    );
    for (const { name, signIn } of missing)
      if (signIn === "needed") await signIns?.tell(request, name);
    const tools = [...offered].map(
      ([toolName, tool]) => [toolName, withNotice(serverOf(toolName), tool)] as const,
    );
    const merged = new Map(tools.length === 0 ? own : [...own, ...tools, ...own]);
    return { tools: merged, signature: hash === "" ? "" : `mcp=${hash}` };
  };
}

/** No server's name has an underscore. */
function serverOf(toolName: string): string {
  return toolName.split("__", 1)[0] ?? toolName;
}
