import type { SpendLimitView } from "@holdfast/protocol";
import { type CommandAnswer, type CommandContext, refusalFrom, refuseCommand } from "./command.ts";

const scopes = { run: "spendPerRun", session: "spendPerSession", day: "spendPerDay" } as const;
type Scope = keyof typeof scopes;

/** Shows the limits; `session 5`, `day 20` and `run none` change one. A session's limit is its own. */
export async function readOrSetLimit(
  context: CommandContext,
  argument: string,
): Promise<CommandAnswer> {
  const { mayReach, memory = "write" } = context;
  if (mayReach !== undefined || memory !== "write")
    return refuseCommand("forbidden", "This chat may not read or change spending limits.");
  if (argument === "") return listLimits(context, null);
  const [, scope, amount = ""] =
    /^(?<scope>run|session|day)\s+\$?(?<amount>none|\d{1,6}(?:\.\d{1,6})?)$/iu.exec(argument) ?? [];
  if (scope === undefined)
    return refuseCommand(
      "limit_invalid",
      "Name a limit and an amount in dollars: /limit session 5, /limit day 20, /limit run 0.50, or none.",
    );
  const name = toScope(scope);
  const dollars = amount.toLowerCase() === "none" ? null : Number(amount);
  const failure = await setLimit(context, name, dollars);
  return failure ?? listLimits(context, name);
}

function toScope(text: string): Scope {
  const scope = text.toLowerCase();
  return scope === "run" || scope === "day" ? scope : "session";
}

async function setLimit(
  { client, sessionId }: CommandContext,
  scope: Scope,
  dollars: number | null,
): Promise<CommandAnswer | null> {
  if (scope === "session" && sessionId !== null) {
    const limitMicros = dollars === null ? null : Math.round(dollars * 1_000_000);
    const set = await client.putSessionSpendLimit({
      params: { id: sessionId },
      body: { limitMicros },
    });
    return set.ok ? null : refusalFrom(set.error);
  }
  const params = { name: scopes[scope] };
  const changed =
    dollars === null
      ? await client.deleteSetting({ params })
      : await client.putSetting({ params, body: { value: String(dollars) } });
  return changed.ok ? null : refusalFrom(changed.error);
}

async function listLimits(
  { client, sessionId }: CommandContext,
  changed: SpendLimitView["scope"] | null,
): Promise<CommandAnswer> {
  const read = await client.readSpending({ query: sessionId === null ? {} : { sessionId } });
  if (!read.ok) return refusalFrom(read.error);
  return { kind: "limits", limits: read.value.limits, changed };
}
