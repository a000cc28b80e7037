import type { OwnerId, SessionId } from "@holdfast/protocol";
import type { ApiDeps } from "../../server/api/deps.ts";
import { answer, type Call, mountCall, problem } from "../../server/api/endpoint.ts";
import type { Route } from "../../server/http/routing.ts";
import { openSessionLimits } from "./session-limits.ts";

const dayMs = 24 * 60 * 60_000;

export function spendingRoutes(deps: ApiDeps): Route[] {
  const { log, pageSettings, spendLimits } = deps;
  const { store } = log;
  const sessionLimits = openSessionLimits(store.register);

  async function viewSession(owner: OwnerId, session: SessionId) {
    const { limitMicros, spentMicros, isOwn } = await spendLimits.ofSession(owner, session);
    return { scope: "session" as const, limitMicros, spentMicros, own: isOwn };
  }

  async function readSpending({ owner, query: { sessionId } }: Call<"readSpending">) {
    await pageSettings.refresh();
    const { spendPerRun, spendPerDay, spendPerSession } = pageSettings.config;
    if (sessionId !== undefined && (await store.reads.session(owner, sessionId)) === null)
      return problem("session_not_found");
    const since = (await store.now()) - dayMs;
    const [day, session] = await Promise.all([
      store.reads.usage(owner, { since }),
      sessionId === undefined
        ? {
            scope: "session" as const,
            limitMicros: inMicros(spendPerSession.value),
            spentMicros: null,
          }
        : viewSession(owner, sessionId),
    ]);
    return answer({
      limits: [
        { scope: "run" as const, limitMicros: inMicros(spendPerRun.value), spentMicros: null },
        session,
        {
          scope: "day" as const,
          limitMicros: inMicros(spendPerDay.value),
          spentMicros: day.costMicros,
        },
      ],
    });
  }

  async function putLimit({ owner, params: { id }, body }: Call<"putSessionSpendLimit">) {
    if ((await store.reads.session(owner, id)) === null) return problem("session_not_found");
    await sessionLimits.set(owner, id, body.limitMicros);
    return answer({ limit: await viewSession(owner, id) });
  }

  return [
    mountCall(deps, "readSpending", readSpending),
    mountCall(deps, "putSessionSpendLimit", putLimit),
  ];
}

function inMicros(dollars: number | undefined): number | null {
  return dollars === undefined ? null : Math.round(dollars * 1_000_000);
}
